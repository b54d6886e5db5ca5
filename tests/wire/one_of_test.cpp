// One of several structs: which one is meant, and what is said when none is.
#include "wire/complaint.hpp"
#include "wire/sample.hpp"

namespace berth {
namespace {

using namespace wire;
using sample::ByCode;
using sample::ByLink;
using sample::Command;
using sample::Proof;
using sample::ResetMfa;
using sample::SetRole;

TEST(WireOneOf, ALiteralChoosesWhereverItStands) {
    const auto set =
        decode<Command>(R"({"role":"default","reason":"on leave","action":"set_role"})");
    EXPECT_EQ(std::get<SetRole>(set.value).role, sample::Category::default_);
    const auto reset = decode<Command>(R"({"action":"reset_mfa","reason":"lost phone"})");
    EXPECT_EQ(std::get<ResetMfa>(reset.value).reason.value, "lost phone");
}

TEST(WireOneOf, FaultsOfTheChosenVariantNameTheMember) {
    EXPECT_EQ(complaint<Command>(R"({"action":"set_role","reason":"no"})"),
              "body.reason: must have 5 to 2000 characters; body.role: is required");
    EXPECT_EQ(
        complaint<Command>(R"({"action":"reset_mfa","reason":"lost phone","role":"default"})"),
        "body.role: is not a member of this request");
    EXPECT_EQ(
        complaint<Command>(R"({"action":"reset_mfa","action":"set_role","reason":"lost phone"})"),
        "body.action: is given twice");
}

TEST(WireOneOf, AnUnknownOrMissingLiteralIsNamed) {
    const std::string rule = "body.action: must be one of set_role, reset_mfa";
    for (const char* json :
         {R"({"action":"edit_balance"})", R"({"action":1})", R"({"action":null})",
          R"({"action":["set_role"]})", R"({"action":"SET_ROLE"})"})
        EXPECT_EQ(complaint<Command>(json), rule) << json;
    EXPECT_EQ(complaint<Command>(R"({"reason":"lost phone"})"), "body.action: is required");
    for (const char* json : {"null", "[]", "1", R"("set_role")"})
        EXPECT_EQ(complaint<Command>(json), "body: must be an object") << json;
}

TEST(WireOneOf, WhatIsThereChoosesWithoutALiteral) {
    EXPECT_EQ(std::get<ByLink>(decode<Proof>(R"({"token":"t"})").value).token.value, "t");
    EXPECT_EQ(
        std::get<ByCode>(decode<Proof>(R"({"code":"123456","email":"a@b"})").value).code.value,
        "123456");
}

TEST(WireOneOf, WhatIsMissingOrTooMuchIsSaid) {
    EXPECT_EQ(complaint<Proof>(R"({"email":"a@b"})"), "body.code: is required");
    EXPECT_EQ(complaint<Proof>(R"({"remember":true})"),
              "body.email: is required; body.code: is required");
    EXPECT_EQ(complaint<Proof>(R"({"token":"t","x":1})"),
              "body.x: is not a member of this request");
    EXPECT_EQ(complaint<Proof>(R"({"token":"","token":"t"})"),
              "body.token: must have 1 to 100 characters; body.token: is given twice");
    const std::string either = "body: must have email and code, or token";
    for (const char* json : {"{}", R"({"x":1})", R"({"email":"a@b","token":"t"})",
                             R"({"email":"a@b","code":"123456","token":"t"})"})
        EXPECT_EQ(complaint<Proof>(json), either) << json;
}

TEST(WireOneOf, IsWrittenAsTheVariantItHolds) {
    EXPECT_EQ(encode(Proof{ByLink{{"t"}}}), R"({"token":"t"})");
    EXPECT_EQ(encode(Command{ResetMfa{{}, {"lost phone"}}}),
              R"({"action":"reset_mfa","reason":"lost phone"})");
}

TEST(WireRendered, IsSentAsItIsAndReadAsWhatItStandsFor) {
    using Items = std::vector<Rendered<sample::Inner>>;
    const Rendered<sample::Inner> one{{std::make_shared<const std::string>(R"({"name":"a"})")}};
    EXPECT_EQ(encode(Items{one, one}), R"([{"name":"a"},{"name":"a"}])");
    EXPECT_EQ(*decode<Items>(R"([{ "name" : "b" }])").at(0).json, R"({"name":"b"})");
    EXPECT_EQ(complaint<Items>(R"([{"name":""},{"nam":"a"}])"),
              "body[0].name: must have 1 to 100 characters; "
              "body[1].nam: is not a member of this request; body[1].name: is required");
}

}  // namespace
}  // namespace berth
