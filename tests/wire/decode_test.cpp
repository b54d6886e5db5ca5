// The shape of a body: members, their places in messages, and JSON that is none.
#include <fmt/format.h>

#include "wire/complaint.hpp"
#include "wire/document.hpp"
#include "wire/sample.hpp"

namespace berth {
namespace {

using sample::Everything;
using sample::Inner;

struct Agent {
    wire::Text<1, 100> name;
    std::optional<wire::Text<1, 64>> model;
};
BOOST_DESCRIBE_STRUCT(Agent, (), (name, model))

struct Order {
    Micro amount_micro;
    Agent agent;
    std::vector<Agent> items;
    std::optional<std::string> note;
    wire::Nullable<std::string> label;
};
BOOST_DESCRIBE_STRUCT(Order, (), (amount_micro, agent, items, note, label))

TEST(WireDecode, ReadsMembersInAnyOrder) {
    const auto order = wire::decode<Order>(
        R"({"label":null,"items":[{"name":"b","model":"m"}],"agent":{"name":"a"},)"
        R"("amount_micro":"7"})");
    EXPECT_EQ(order.amount_micro, Micro{7});
    EXPECT_EQ(order.agent.name.value, "a");
    ASSERT_EQ(order.items.size(), 1U);
    EXPECT_EQ(order.items[0].model->value, "m");
    EXPECT_FALSE(order.note.has_value());
    EXPECT_FALSE(order.label.value.has_value());
}

TEST(WireDecode, ReportsEveryErrorAtOnceWithItsPlace) {
    EXPECT_EQ(complaint<Order>(
                  R"({"amount_micro":5,"agent":{"name":""},"note":null,"extra":1,)"
                  R"("items":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d","x":1},[]],)"
                  R"("amount_micro":"5"})"),
              "body.amount_micro: must be a base-10 integer string; "
              "body.agent.name: must have 1 to 100 characters; "
              "body.note: must not be null; leave it out instead; "
              "body.extra: is not a member of this request; "
              "body.items[3].x: is not a member of this request; "
              "body.items[4]: must be an object; "
              "body.amount_micro: is given twice; "
              "body.label: is required");
}

TEST(WireDecode, TellsOptionalNullFromAbsentWhereBothAreAllowed) {
    Everything value = wire::decode<Everything>(sample::example_text(wire::type_of<Everything>()));
    EXPECT_TRUE(value.choice && value.choice->value);
    value.choice = wire::Nullable<sample::Category>{};
    EXPECT_TRUE(wire::decode<Everything>(wire::encode(value)).choice.has_value());
    value.choice.reset();
    EXPECT_FALSE(wire::decode<Everything>(wire::encode(value)).choice.has_value());
}

TEST(WireDecode, NamesTheRootItIsGiven) {
    EXPECT_THROW(
        {
            try {
                wire::decode<Agent>("{}", "response");
            } catch (const Problem& problem) {
                EXPECT_EQ(problem.message, "response.name: is required");
                throw;
            }
        },
        Problem);
}

TEST(WireDecode, BoundsTheNumberOfErrorsItReports) {
    std::string body = "{";
    for (int i = 0; i < 1000; ++i) body += fmt::format("\"m{}\":1,", i);
    body += "\"name\":\"x\"}";
    const std::string message = complaint<Agent>(body);
    EXPECT_NE(message.find("body.m19: is not a member"), std::string::npos);
    EXPECT_EQ(message.find("body.m20:"), std::string::npos);
    EXPECT_TRUE(message.ends_with("; and 980 more")) << message;
}

TEST(WireDecode, StopsAtTheFirstItemsThatAreAllWrong) {
    std::string body = "[";
    for (int i = 0; i < 300'000; ++i) body += "{},";
    body += "{}]";
    const std::string message = complaint<std::vector<Everything>>(body);
    EXPECT_EQ(message.find("body[1]"), std::string::npos);
    EXPECT_NE(message.find("body[0].flag: is required"), std::string::npos);
    EXPECT_LT(message.size(), 2'000U);
}

TEST(WireDecode, NeverRepeatsValuesAndMakesNamesSafe) {
    EXPECT_EQ(complaint<Agent>(R"({"name":"x","ark_0123456789abcdef":1})"),
              "body.ark_…: is not a member of this request");
    EXPECT_EQ(complaint<Agent>(R"({"name":"x","a\n\u001b[31m\u00e9":1})"),
              "body.…: is not a member of this request");
    EXPECT_EQ(complaint<Agent>(R"({"name":"x",")" + std::string(1000, 'k') + R"(":1})"),
              "body.…: is not a member of this request");
    const std::string secret = "topsecret";
    for (const std::string body : {R"({"name":{"topsecret":1}})", R"({"name":["topsecret"]})"})
        EXPECT_EQ(complaint<Agent>(body).find(secret), std::string::npos);
    EXPECT_EQ(complaint<wire::SixDigits>("\"topsecret\"").find(secret), std::string::npos);
    EXPECT_EQ(complaint<Agent>(R"({"name":"topsecret)").find(secret), std::string::npos);
}

TEST(WireDecode, RefusesWhatIsNotAnObject) {
    for (const std::string body : {"[]", "null", "1", "\"x\"", "true"})
        EXPECT_EQ(complaint<Agent>(body), "body: must be an object");
}

TEST(WireDocument, RefusesMalformedJsonWithTheByte) {
    const std::vector<std::pair<std::string, std::string>> bad{{R"({"name":"x"} x)", "13"},
                                                               {R"({"name":"x"}{})", "12"},
                                                               {R"({"name" "x"})", "8"},
                                                               {R"({"name":"x",})", "12"},
                                                               {R"({name:"x"})", "1"},
                                                               {R"({'name':"x"})", "1"},
                                                               {R"({"name":tru})", "8"},
                                                               {R"({"name":01})", "9"},
                                                               {R"({"name":1.})", "10"},
                                                               {R"({"name":.5})", "8"},
                                                               {R"({"name":+1})", "8"},
                                                               {R"({"name":NaN})", "8"},
                                                               {R"({"name":"\x"})", "10"},
                                                               {R"([1,,2])", "3"},
                                                               {R"([1 2])", "3"},
                                                               {"/* */{}", "0"},
                                                               {"{\"name\":\"a\tb\"}", "10"}};
    for (const auto& [body, byte] : bad) {
        const std::string message = complaint<Agent>(body);
        EXPECT_EQ(message.rfind("body: is not valid JSON: ", 0), 0U) << body << " gave " << message;
        EXPECT_TRUE(message.ends_with("(at byte " + byte + ")")) << body << " gave " << message;
        EXPECT_EQ(message.find(';'), std::string::npos) << message;
    }
    EXPECT_EQ(complaint<Agent>(""), "body: must be JSON, and is empty");
    EXPECT_NE(complaint<Agent>("  "), "");
    EXPECT_NE(complaint<Agent>("\xEF\xBB\xBF{\"name\":\"x\"}"), "") << "a byte order mark";
}

TEST(WireDocument, RefusesEveryTruncationOfAValidBody) {
    const std::string body = sample::example_text(wire::type_of<Everything>());
    ASSERT_EQ(complaint<Everything>(body), "");
    for (std::size_t length = 0; length < body.size(); ++length)
        EXPECT_NE(complaint<Everything>(std::string_view(body).substr(0, length)), "") << length;
}

TEST(WireDocument, RefusesTextThatIsNotUtf8) {
    const std::vector<std::string> bad{"\xff",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\x80",
                                       "\xe0\x80\x80",
                                       "\xed\xa0\x80",
                                       "\xf0\x80\x80\x80",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xe2\x82",
                                       "\xc3",
                                       "a\xf0\x9f\x98"};
    for (const std::string& text : bad) {
        EXPECT_NE(complaint<std::string>('"' + text + '"'), "");
        EXPECT_NE(complaint<wire::Json>("{\"" + text + "\":1}"), "");
    }
}

TEST(WireDocument, RefusesLoneSurrogatesAndNul) {
    for (const std::string text : {R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")", R"("\ud8")",
                                   R"("\ud800\ud800")", R"("\uD83Dx")"})
        EXPECT_NE(complaint<std::string>(text), "") << text;
    EXPECT_EQ(complaint<std::string>(R"("a\u0000b")"),
              "body: is not valid JSON: a string holds a NUL character (at byte 9)");
    EXPECT_NE(complaint<wire::Json>(R"({"\u0000":1})"), "");
    EXPECT_NE(complaint<std::string>(std::string("\"\0\"", 3)), "");
    EXPECT_NE(complaint<std::string>(std::string("\"\"\0", 3)), "");
}

TEST(WireDocument, BoundsTheLevelsOfWhatIsKeptWithinOthers) {
    const auto nested = [](int levels) {
        std::string text = "1";
        for (int i = 0; i < levels; ++i)
            text = (i % 2 == 0 ? R"({"b":0,"a":)" : R"({"a":0,"c":)") + text + "}";
        return text;
    };
    EXPECT_EQ(complaint<wire::ShallowObject<4>>(nested(4)), "");
    EXPECT_EQ(complaint<wire::ShallowObject<4>>(nested(5)),
              "body: must not be nested deeper than 4 levels");
    EXPECT_EQ(complaint<wire::ShallowObject<4>>(R"({"a":[[[1],[2]],[[3]]],"b":{"c":{}}})"), "");
    EXPECT_EQ(complaint<wire::ShallowObject<4>>(R"({"a":[[[[]]]]})"),
              "body: must not be nested deeper than 4 levels");
    EXPECT_EQ(complaint<wire::ShallowObject<4>>("[]"), "body: must be an object");
}

TEST(WireDocument, BoundsTheDepth) {
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '[') + std::string(levels, ']');
    };
    EXPECT_EQ(complaint<wire::Json>(nested(wire::Document::depth_levels_max)), "");
    const std::string wrong = "body: is nested deeper than 32 levels";
    EXPECT_EQ(complaint<wire::Json>(nested(wire::Document::depth_levels_max + 1)), wrong);
    EXPECT_EQ(complaint<wire::Json>(nested(1'000'000)), wrong);
    EXPECT_EQ(complaint<wire::Json>(std::string(1'000'000, '[')), wrong);
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    EXPECT_EQ(complaint<wire::Json>(objects), wrong);
}

TEST(WireDocument, ReadsLargeBodiesAndRefusesHugeOnes) {
    std::string items = "[";
    for (int i = 0; i < 200'000; ++i) items += "\"7\",";
    items += "\"7\"]";
    EXPECT_EQ(wire::decode<std::vector<Micro>>(items).size(), 200'001U);
    EXPECT_EQ(complaint<wire::Json>(std::string(wire::Document::text_bytes_max + 1, ' ')),
              "body: is larger than 67108864 bytes");
}

TEST(WireDocument, KeepsLongStringsWithEscapesWhole) {
    std::string text;
    std::string json = "\"";
    for (int i = 0; i < 20'000; ++i) {
        text += "plain\n\"é€😀";
        json += R"(plain\n\"\u00e9\u20ac\ud83d\ude00)";
    }
    EXPECT_EQ(wire::decode<std::string>(json + '"'), text);
}

TEST(WireDocument, FindsDuplicatesHoweverTheyAreSpelledAndHoweverMany) {
    std::string body = "{";
    for (int i = 0; i < 50'000; ++i) body += fmt::format("\"k{}\":{},", i, i);
    EXPECT_EQ(complaint<wire::Object>(body + R"("last":1})"), "");
    EXPECT_EQ(complaint<wire::Object>(body + R"("\u006b7":1})"), "body: has the member k7 twice");
}

}  // namespace
}  // namespace berth
