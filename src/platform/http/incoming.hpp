// A request whose body is being read. Only the files of Connection include it.
#pragma once

#include <cstdint>

#include "http/connection.hpp"

namespace berth::http {

struct Connection::Incoming {
    Request request;
    std::uint64_t bytes_left;  // of a body with a length
    bool chunked;
    ChunkDecoder decoder;
    std::uint64_t bytes_max;
    bool expects_continue = false;
    bool goes_first = false;
    std::uint64_t sunk = 0;         // bytes that a sink took
    std::uint64_t paced_bytes = 0;  // that came since its pace was last looked at
};

}  // namespace berth::http
