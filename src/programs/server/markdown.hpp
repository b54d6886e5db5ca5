// Pages written in Markdown as HTML, as far as docs/ makes use of it: headings, paragraphs, lists,
// tables, code, links and emphasis. What is written for people who read the source stays out:
// comments, and pictures, which the server does not have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::server {

// A link to another page, `renting.md#stop`, leads to where that page is served.
std::string markdown_to_html(std::string_view markdown);

// What stands below a heading, as it is written, until the next one.
struct MarkdownSection {
    std::string heading;
    std::string anchor;
    std::string text;
};
std::vector<MarkdownSection> markdown_sections(std::string_view markdown);

}  // namespace berth::server
