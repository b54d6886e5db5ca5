// Answers as tables.
#include <gtest/gtest.h>

#include "api/csv.hpp"
#include "support/harness.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

struct Line {
    std::string name;
    Micro amount;
    wire::Nullable<std::string> note;
    std::vector<std::string> links;
};
BOOST_DESCRIBE_STRUCT(Line, (), (name, amount, note, links))
struct Lines {
    std::vector<Line> rows;
    std::optional<std::string> next_cursor;
};
BOOST_DESCRIBE_STRUCT(Lines, (), (rows, next_cursor))

std::string csv_of(const Lines& lines) {
    return api::to_csv(wire::type_of<Lines>(), "rows", wire::encode(lines)).text;
}

TEST(Csv, ATableWithoutRowsHasItsHead) { EXPECT_EQ(csv_of({}), "name,amount,note,links\r\n"); }

TEST(Csv, CellsAreQuotedWhereTheyMustBe) {
    EXPECT_EQ(csv_of({{{"a, b", Micro{5}, std::string("say \"so\""), {}}}, {}}),
              "name,amount,note,links\r\n\"a, b\",5,\"say \"\"so\"\"\",\r\n");
    EXPECT_EQ(csv_of({{{"two\nlines", Micro{}, std::nullopt, {"x", "y"}}}, {}}),
              "name,amount,note,links\r\n\"two\nlines\",0,,x y\r\n");
}

TEST(Csv, NoCellIsAFormula) {
    for (const std::string text : {"=1+1", "+cmd", "@sum", "-2|x"})
        EXPECT_NE(csv_of({{{text, Micro{}, std::nullopt, {}}}, {}}).find("\r\n'" + text),
                  std::string::npos)
            << text;
    EXPECT_NE(csv_of({{{"-25", Micro{}, std::nullopt, {}}}, {}}).find("\r\n-25,"),
              std::string::npos);
}

TEST(Csv, TheCursorStandsBesideTheRows) {
    const Lines lines{{}, "next"};
    EXPECT_EQ(api::to_csv(wire::type_of<Lines>(), "rows", wire::encode(lines)).next_cursor, "next");
    EXPECT_FALSE(api::to_csv(wire::type_of<Lines>(), "rows", wire::encode(Lines{})).next_cursor);
}

TEST(Csv, IsGivenToWhomeverWantsItMost) {
    const auto wanted = [](const std::string& accept) {
        return api::wants_csv(make_request({.headers = {{"Accept", accept}}}));
    };
    EXPECT_TRUE(wanted("text/csv"));
    EXPECT_TRUE(wanted("TEXT/CSV; header=present"));
    EXPECT_TRUE(wanted("application/json;q=0.5, text/csv"));
    EXPECT_TRUE(wanted("text/csv, application/json"));
    EXPECT_FALSE(wanted("text/csv;q=0.5, application/json"));
    EXPECT_FALSE(wanted("text/csv;q=0"));
    EXPECT_FALSE(wanted("text/csv;q=0.000"));
    EXPECT_FALSE(wanted("text/csvish"));
    EXPECT_FALSE(wanted("*/*"));
    EXPECT_FALSE(wanted(""));
    EXPECT_FALSE(api::wants_csv(make_request({})));
}

}  // namespace
}  // namespace berth::test
