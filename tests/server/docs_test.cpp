// The docs as a browser gets them: every page, in HTML that needs nothing from elsewhere, and a
// search.
#include <gtest/gtest.h>

#include "server/embedded.hpp"
#include "server/markdown.hpp"
#include "support/harness.hpp"

namespace berth::test {
namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

class DocsPages : public ::testing::Test {
protected:
    std::string page(const std::string& target) {
        const auto response = harness.ask({.target = target});
        EXPECT_EQ(response.status, 200) << target;
        return response.body;
    }

    Harness harness{Harness::Options{.real_accounts = true}};
};

TEST_F(DocsPages, TheIndexLeadsToEveryPageAndToTheApi) {
    const std::string index = page("/docs");
    for (const server::EmbeddedFile& file : server::docs_files()) {
        const std::string stem(file.name.substr(0, file.name.size() - 3));
        EXPECT_TRUE(stem == "README" || has(index, "href=\"/docs/" + stem + "\"")) << stem;
        const std::string shown = page("/docs/" + stem);
        EXPECT_TRUE(has(shown, "<h1 id=")) << stem;
        for (const char* foreign : {"<script", "src=", "<link", "@import", "```"})
            EXPECT_FALSE(has(shown, foreign)) << stem << " has " << foreign;
    }
    EXPECT_TRUE(has(index, "href=\"/docs/api\""));
    EXPECT_EQ(harness.ask({.target = "/docs/no-such-page"}).status, 404);
}

TEST_F(DocsPages, TheSearchFindsPagesAndRoutesAndShowsWhatItWasAskedAsText) {
    const std::string found = page("/docs?q=raise+BUDGET");
    EXPECT_TRUE(has(found, "href=\"/docs/api#raise_budget\""));
    EXPECT_TRUE(has(found, "href=\"/docs/renting#"));
    EXPECT_TRUE(has(page("/docs?q=BerthGasLow"), "href=\"/docs/incidents#berthgaslow\""));
    EXPECT_TRUE(has(page("/docs?q=nosuchwordanywhere"), "0 places"));
    const std::string hostile = page("/docs?q=%3Cscript%3E%22");
    EXPECT_FALSE(has(hostile, "<script"));
    EXPECT_TRUE(has(hostile, "&lt;script&gt;&quot;"));
}

TEST(Markdown, BecomesTheHtmlThatItsReadersExpect) {
    const std::string html = server::markdown_to_html(
        "# A *page* & more\n\nSee [stop](renting.md#7-stop), `docs/money.md` and "
        "[x](../README.md).\n\n"
        "<!-- not typed: why -->\n```bash\ncurl <x>\n```\n\n| a | `b|c` |\n| --- | --- |\n| **d** "
        "| e |\n\n"
        "- one\n  goes on\n- two\n\n1. first\n\n    indented\n");
    for (const char* part :
         {"<h1 id=\"a-page--more\">A <em>page</em> &amp; more</h1>",
          "<a href=\"/docs/renting#7-stop\">stop</a>",
          "<a href=\"/docs/money\"><code>docs/money.md</code></a>", " and x.",
          "<pre>curl &lt;x&gt;\n</pre>", "<th><code>b|c</code></th>",
          "<td><strong>d</strong></td><td>e</td>", "<li><p>one\ngoes on</p>\n</li>"})
        EXPECT_TRUE(has(html, part)) << part << " in\n" << html;
    EXPECT_FALSE(has(html, "not typed"));
}

}  // namespace
}  // namespace berth::test
