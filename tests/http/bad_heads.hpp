// Request heads and chunked bodies that must be refused: each could be read in two ways, or breaks
// the grammar where some readers look away.
#pragma once

#include <string>
#include <vector>

#include "http/parse.hpp"

namespace berth::http {

inline std::string with_fields(const std::string& fields) {
    return "POST /a HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

inline std::vector<std::string> bad_heads() {
    return {
        with_fields("Transfer-Encoding: xchunked\r\n"),
        with_fields("Transfer-Encoding: identity\r\nContent-Length: 3\r\n"),
        with_fields("Transfer-Encoding: identity\r\n"),
        with_fields("Transfer-Encoding: chunked, gzip\r\n"),
        with_fields("Transfer-Encoding: gzip, chunked\r\n"),
        with_fields("Transfer-Encoding: chunked, chunked\r\n"),
        with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        with_fields("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        with_fields("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        with_fields("Transfer-Encoding: \"chunked\"\r\n"),
        with_fields("Transfer-Encoding:\r\n"),
        with_fields("Transfer-Encoding: \x0b"
                    "chunked\r\n"),
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        with_fields("Content-Length: 3\r\nContent-Length: 3\r\n"),
        with_fields("Content-Length: 3\r\ncontent-length: 4\r\n"),
        with_fields("Content-Length: 3, 3\r\n"),
        with_fields("Content-Length: 3,4\r\n"),
        with_fields("Content-Length: +3\r\n"),
        with_fields("Content-Length: -3\r\n"),
        with_fields("Content-Length: 0x3\r\n"),
        with_fields("Content-Length: 3 3\r\n"),
        with_fields("Content-Length:\r\n"),
        with_fields("Content-Length: 99999999999999999999\r\n"),
        with_fields("Host: a\r\n"),
        with_fields("host: b\r\n"),
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
        with_fields("Connection: close keep-alive\r\n"),
        with_fields("Connection: close;x\r\n"),
        with_fields("A: b\r\n c\r\n"),
        with_fields("A: b\r\n\tc\r\n"),
        " A: b\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        with_fields("Content-Length : 3\r\n"),
        with_fields("A\t: b\r\n"),
        with_fields(": b\r\n"),
        with_fields("A b: c\r\n"),
        with_fields("A(b): c\r\n"),
        with_fields("A\x80: c\r\n"),
        with_fields("no colon\r\n"),
        with_fields(std::string("A: b\0c\r\n", 8)),
        with_fields("A: b\x01"
                    "c\r\n"),
        with_fields("A: b\x7f\r\n"),
        with_fields("A: b\rc\r\n"),
        with_fields("A: b\r\r\n"),
        with_fields("A: b\n"),
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
        std::string(method_bytes_max + 1, 'G') + " / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET / HTTP/0.9\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1x\r\nHost: a\r\n\r\n",
        "GET / HTTP/01.1\r\nHost: a\r\n\r\n",
        "GET /\r\nHost: a\r\n\r\n",
        "GET\r\nHost: a\r\n\r\n",
    };
}

inline std::vector<std::string> bad_chunked_bodies() {
    return {
        "\r\n",
        "x\r\n",
        " 3\r\nabc\r\n",
        "3 \r\nabc\r\n",
        "0x3\r\nabc\r\n",
        "+3\r\nabc\r\n",
        "-1\r\n",
        "3\nabc\r\n",
        "3\r\nabcd\r\n",
        "3\r\nabc\n0\r\n\r\n",
        "3\r\nabc0\r\n\r\n",
        "0000000000000003\r\n",
        "3;a\x01\r\nabc\r\n",
        "3;" + std::string(chunk_line_bytes_max, 'e') + "\r\nabc\r\n",
        "0\r\nbad trailer\r\n\r\n",
        "0\r\n folded: x\r\n\r\n",
        "0\r\nA: b\n\r\n",
        "0\r\nA: " + std::string(20'000, 'x') + "\r\n\r\n",
        "0\r\nA: " + std::string(9'000, 'x') + "\r\nB: " + std::string(9'000, 'x') + "\r\n\r\n",
    };
}

}  // namespace berth::http
