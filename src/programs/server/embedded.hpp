// Files that are a part of the program (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace berth::server {

struct EmbeddedFile {
    std::string_view name;  // within its folder
    std::string_view bytes;
};

std::span<const EmbeddedFile> console_files();  // of web/dist: "index.html", "assets/NAME"
std::span<const EmbeddedFile> docs_files();     // of docs: "renting.md"

}  // namespace berth::server
