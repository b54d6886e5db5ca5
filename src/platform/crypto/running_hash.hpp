// SHA-256 of bytes that come in pieces and are not kept.
#pragma once

#include <memory>
#include <string_view>

#include "base/bytes.hpp"

namespace berth::crypto {

class RunningSha256 {
public:
    RunningSha256();
    ~RunningSha256();
    RunningSha256(const RunningSha256&) = delete;
    RunningSha256& operator=(const RunningSha256&) = delete;

    void add(std::string_view piece);
    Bytes finish();  // of all that was added; it then begins anew

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace berth::crypto
