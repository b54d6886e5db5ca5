// What people type, and what they are shown.
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/show.hpp"

namespace berth::test {
namespace {

using namespace cli;

TEST(Values, MoneyIsReadToTheMicro) {
    EXPECT_EQ(parse_money("0.45"), 450'000);
    EXPECT_EQ(parse_money("2"), 2'000'000);
    EXPECT_EQ(parse_money("0.000001"), 1);
    EXPECT_EQ(parse_money("9223372036854.775807"), 9'223'372'036'854'775'807);
    for (const char* bad : {"", ".5", "1.", "1.0000001", "-1", "1e3", "01", "1,5", " 1",
                            "9223372036854.775808", "99999999999999"})
        EXPECT_EQ(parse_money(bad), std::nullopt) << bad;
}

TEST(Values, MoneyIsShownWithFourDecimalsOrSix) {
    EXPECT_EQ(money_text("450000"), "0.4500");
    EXPECT_EQ(money_text("123456"), "0.123456");
    EXPECT_EQ(money_text("-1500000"), "-1.5000");
    EXPECT_EQ(money_text("0"), "0.0000");
    EXPECT_EQ(money_text("nonsense"), "nonsense");
}

TEST(Values, DurationsAndSizesHaveUnits) {
    EXPECT_EQ(parse_seconds("90"), 90);
    EXPECT_EQ(parse_seconds("10m"), 600);
    EXPECT_EQ(parse_seconds("2h"), 7200);
    EXPECT_EQ(parse_seconds("7d"), 604'800);
    EXPECT_EQ(parse_bytes("24GiB"), 25'769'803'776);
    for (const char* bad :
         {"", "h", "1x", "-1h", "1.5h", "99999999999999999999", "9223372036854775807d"})
        EXPECT_EQ(parse_seconds(bad), std::nullopt) << bad;
    EXPECT_EQ(duration_text(90), "90s");
    EXPECT_EQ(duration_text(3600), "1h");
    EXPECT_EQ(duration_text(3661), "1h01m");
    EXPECT_EQ(duration_text(150), "2m30s");
    EXPECT_EQ(duration_text(90'000), "25h");
    EXPECT_EQ(gib_text("25757220864"), "24.0 GiB");
}

TEST(Values, MomentsAreAbsoluteOrRelative) {
    const Time now{1'800'000'000'000'000};
    EXPECT_EQ(parse_moment("now", now), now);
    EXPECT_EQ(parse_moment("+2h", now), now + std::chrono::hours(2));
    EXPECT_EQ(parse_moment("2027-01-15T08:00:00Z", now), now);
    EXPECT_EQ(parse_moment("tomorrow", now), std::nullopt);
}

TEST(Tables, AlignMoneyAndSayWhatIsNotThere) {
    const Reading answer(
        R"({"items":[{"id":"a","rate_micro_per_hour":"450000","vram_bytes":"25757220864",)"
        R"("on":true},{"id":"b","rate_micro_per_hour":"12123456","asset":"USDT",)"
        R"("vram_bytes":null,"on":false}],"next_cursor":null})");
    EXPECT_EQ(to_table(answer, "ID=id PRICE=rate_micro_per_hour VRAM=vram_bytes ON=on", {}),
              "ID             PRICE   VRAM  ON\n"
              "a    0.450000 USDC/h  24 GB  yes\n"
              "b   12.123456 USDT/h      -  no\n");
    EXPECT_EQ(to_ids(answer, "ID=id PRICE=rate_micro_per_hour"), "a\nb\n");
}

// A model's answers are its host's words, member names and all.
TEST(Tables, PassNothingOnThatSteersATerminal) {
    const cli::Reading answer(
        R"({"items":[{"\u001b[2Jid":"\u001b]0;x\u0007","x_micro":"\u001b[1A",)"
        R"("x_bytes":"\u001b[1A","vram_bytes":"\u001b[1A","x":"\u009b2J"}]})");
    for (const char* const columns : {"", "A=x_micro B=x_bytes C=vram_bytes D=x"}) {
        const std::string table = to_table(answer, columns, {});
        for (const char* const steering : {"\033", "\007", "\xc2\x9b"})
            EXPECT_EQ(table.find(steering), std::string::npos) << table;
    }
}

TEST(Tables, HaveColoursOnlyWhenAsked) {
    const Reading answer(R"({"items":[{"state":"RUNNING"}]})");
    EXPECT_EQ(to_table(answer, "STATE=state", {}), "STATE\nRUNNING\n");
    EXPECT_EQ(to_table(answer, "STATE=state", {true}),
              "\033[1mSTATE\033[0m\n\033[32mRUNNING\033[0m\n");
}

TEST(Tables, FitANarrowTerminal) {
    const Reading answer(R"({"items":[{"id":"a","rate_micro_per_hour":"450000",)"
                         R"("help":"Größe of a thing","x":"y"}]})");
    bool is_cut = false;
    const auto table = [&](std::size_t width) {
        is_cut = false;
        return to_table(answer, "ID=id PRICE=rate_micro_per_hour HELP=help X=x",
                        {.width = width, .is_cut = &is_cut});
    };
    EXPECT_EQ(table(0), table(40));
    EXPECT_FALSE(is_cut);
    EXPECT_EQ(table(29), "ID          PRICE  HELP\na   0.4500 USDC/h  Größe of …\n");
    EXPECT_TRUE(is_cut);
    EXPECT_EQ(table(20), "ID          PRICE\na   0.4500 USDC/h\n");
    EXPECT_EQ(table(5), table(20)) << "the price stays";
}

TEST(Tables, DropWhatMattersLeastAndNeverThePrice) {
    const Reading answer(
        R"({"items":[{"offer_id":"01a1e1e9-e1e3-7a3d-821b-bca12a73ae35","model":"RTX 3090",)"
        R"("gpu_count":1,"vram_bytes":"24000000000","rate_micro_per_hour":"180000",)"
        R"("class":"interruptible","level":"auto_verified"},)"
        R"({"offer_id":"01a1e1e9-e1ae-7374-91dd-599f882f23cd","model":"A100 SXM 80GB",)"
        R"("gpu_count":8,"vram_bytes":"85899345920","rate_micro_per_hour":"1250000",)"
        R"("class":"dedicated","level":"auto_verified"}]})");
    const auto table = [&](std::size_t width) {
        return to_table(answer,
                        "OFFER=offer_id GPU=model N=gpu_count VRAM=vram_bytes CLASS=class "
                        "LEVEL=level PRICE=rate_micro_per_hour",
                        {.width = width});
    };
    EXPECT_EQ(table(60),
              "OFFER         GPU            N   VRAM          PRICE\n"
              "01a1e1e9-e1e  RTX 3090       1  24 GB  0.1800 USDC/h\n"
              "01a1e1e9-e1a  A100 SXM 80GB  8  80 GB  1.2500 USDC/h\n");
    EXPECT_EQ(table(40),
              "OFFER         GPU                  PRICE\n"
              "01a1e1e9-e1e  RTX 3090     0.1800 USDC/h\n"
              "01a1e1e9-e1a  A100 SXM 8…  1.2500 USDC/h\n");
}

TEST(Tables, HaveSomeColumnsOnlyWhereThereIsSomethingInThem) {
    EXPECT_EQ(to_table(Reading(R"({"items":[{"id":"a"}]})"), "ID=id ?FITS=fit.fits", {}),
              "ID\na\n");
    EXPECT_EQ(to_table(Reading(R"({"items":[{"id":"a","fit":{"fits":true}},{"id":"b"}]})"),
                       "ID=id ?FITS=fit.fits", {}),
              "ID  FITS\na   yes\nb   -\n");
}

TEST(Tables, ShowAListInsideAnAnswerByItsColumns) {
    EXPECT_EQ(
        to_table(Reading(R"({"matching":0,"nearest":[{"filter":"model","offer":{"offer_id":"x",)"
                         R"("rate_micro_per_hour":"5"}}]})"),
                 "OFFER=offer.offer_id PRICE=offer.rate_micro_per_hour MISSES=filter",
                 {.inner = "nearest"}),
        "matching  0\n"
        "nearest   OFFER            PRICE  MISSES\n"
        "          x      0.000005 USDC/h  --model\n");
}

TEST(Values, CardsHaveTheMemoryThatTheyAreSoldWith) {
    EXPECT_EQ(card_text("25757220864"), "24 GB") << "24564 MiB";
    EXPECT_EQ(card_text("24000000000"), "24 GB");
    EXPECT_EQ(card_text("85520809984"), "80 GB") << "81559 MiB";
    EXPECT_EQ(card_text("48305799168"), "48 GB") << "46068 MiB";
    EXPECT_EQ(card_text("150754820096"), "141 GB");
    EXPECT_EQ(card_text("7000000000"), "6.5 GiB") << "no such card is sold";
}

TEST(Tables, SayTokensASecond) {
    EXPECT_EQ(to_table(Reading(R"({"tokens_per_s":25661})"), "", {}), "tokens/s  25661\n");
}

TEST(Tables, ShowOneThingByItsMembers) {
    const Reading answer(
        R"({"job_id":"x","at":"2026-11-16T00:01:02.5Z","fee_bps":1000,"a":{"b_ms":"1500"},)"
        R"("l":["one","two"],"none":null,"charge_micro":"17","line_mbps":2331.6119988})");
    EXPECT_EQ(to_table(answer, "", {}),
              "job_id       x\n"
              "at           2026-11-16 00:01:02\n"
              "fee_percent  10.00 %\n"
              "a.b          1.500 s\n"
              "l            one\n"
              "             two\n"
              "none         -\n"
              "charge       0.000017 USDC\n"
              "line_mbps    2331.61\n");
}

TEST(Tables, SayWhatWasNotBilledForWantOfAGate) {
    EXPECT_EQ(to_table(Reading(R"({"uncarried_ms":"240000"})"), "", {}),
              "uncarried  4m (not billed: the gate did not carry it)\n");
    EXPECT_EQ(to_table(Reading(R"({"uncarried_ms":"0"})"), "", {}), "uncarried  0.000 s\n");
}

TEST(Tables, ShowListsInsideAThingAsTables) {
    const Reading answer(R"({"id":"x","entries":[{"kind":"fee","amount_micro":"5","ref":null},)"
                         R"({"kind":"charge","amount_micro":"1500000","ref":null,"note":"late"}],)"
                         R"("days":[{"day":"Mon","earned_micro":"0","count":0},)"
                         R"({"day":"Tue","earned_micro":"7","count":1}],)"
                         R"("idle":[{"day":"Mon","earned_micro":"0","count":0}],"empty":[]})");
    EXPECT_EQ(to_table(answer, "", {}),
              "id       x\n"
              "entries  KIND           AMOUNT  NOTE\n"
              "         fee     0.000005 USDC  -\n"
              "         charge  1.500000 USDC  late\n"
              "days     DAY         EARNED  COUNT\n"
              "         Tue  0.000007 USDC  1\n"
              "idle     -\n"
              "empty    -\n");
}

TEST(Tables, ShowTheRowsOfAReport) {
    const Reading answer(R"({"by":"day","rows":[{"period":"2026-01-31","fees_micro":"-5"}]})");
    EXPECT_EQ(to_table(answer, "PERIOD=period", {.rows = "rows"}), "PERIOD\n2026-01-31\n");
}

TEST(Tables, LetNothingSteerTheTerminal) {
    EXPECT_EQ(printable("a\033[2Jb\xc2\x9b"
                        "c\xff\x7f"),
              "a?[2Jb?c??");
    EXPECT_EQ(printable("grüße\n"), "grüße\n");
    const Reading answer(R"({"items":[{"label":"a\u001b[31mb\nc"}]})");
    EXPECT_EQ(to_table(answer, "LABEL=label", {}), "LABEL\na?[31mb c\n");
}

std::string refusal(const Words& words) {
    try {
        parse_command_line(words);
        return "";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit, Exit::usage);
        return failure.message;
    }
}

TEST(CommandLines, SuggestWhatWasMeant) {
    EXPECT_EQ(refusal({"offer", "list"}),
              "there is no command 'offer list'; did you mean 'berth offers list'?");
    EXPECT_EQ(refusal({"rentals", "crate"}),
              "there is no command 'rentals crate'; did you mean 'berth rentals create'?");
    EXPECT_EQ(refusal({"rental", "list", "--state", "RUNNING", "--limit", "5"}),
              "there is no command 'rental list'; did you mean 'berth rentals list'?");
    EXPECT_EQ(refusal({"rentals", "sho", "01a1e1e9-e1e3"}),
              "there is no command 'rentals sho'; did you mean 'berth rentals show'?");
    EXPECT_EQ(refusal({"balance", "--aset", "USDC"}),
              "berth balance has no flag --aset; did you mean --asset?");
    EXPECT_NE(refusal({"completely-else"}).find("see berth --help"), std::string::npos);
    EXPECT_NE(refusal({"templates"}).find("needs one of: list, show"), std::string::npos);
}

TEST(CommandLines, SayWhatIsMissingOrTooMuch) {
    EXPECT_EQ(refusal({"templates", "show"}), "berth templates show needs ID");
    EXPECT_EQ(refusal({"tickets", "create", "--category", "other"}),
              "berth tickets create needs --text TEXT");
    EXPECT_EQ(refusal({"balance", "x"}), "'x' is one word too many; see berth balance --help");
    EXPECT_EQ(refusal({"balance", "--asset"}), "--asset needs a value");
    EXPECT_EQ(refusal({"balance", "--asset", "USDC", "--asset=USDT"}), "--asset is there twice");
}

TEST(CommandLines, TakeWhatOtherProgramsUnderstand) {
    EXPECT_EQ(parse_command_line({"--version"}).command->words, "version");
    EXPECT_EQ(parse_command_line({"help"}).command, nullptr);
    EXPECT_TRUE(parse_command_line({"help"}).arguments.is_on("help"));
    EXPECT_EQ(parse_command_line({"help", "rentals", "wait"}).command->words, "rentals wait");
    EXPECT_TRUE(overview("rentals").starts_with("usage: berth rentals VERB"));
    EXPECT_EQ(overview("rentals").find("offers"), std::string::npos);
}

TEST(CommandLines, HaveOneVocabulary) {
    const std::string id = "01a1e1e9-e1e3-7a3d-821b-bca12a73ae35";
    for (const Words& words :
         {Words{"quotes", "create", "--offer", id, "--template", id, "--duration", "1h"},
          Words{"quotes", "create", "--offer-id", id, "--template-id", id, "--duration-limit",
                "1h"}}) {
        Words whole = words;
        whole.insert(whole.end(), {"--budget", "1"});
        const auto line = parse_command_line(whole);
        EXPECT_EQ(line.arguments.get("offer"), id);
        EXPECT_EQ(line.arguments.get("template"), id);
        EXPECT_EQ(line.arguments.get("duration"), "1h");
    }
    const auto memory = parse_command_line({"offers", "list", "--min-vram", "24GB"});
    for (const Flag& flag : memory.flags)
        if (flag.name == "min-vram") {
            EXPECT_EQ(json_of(flag, "24GB", Time{}), "24");
        }
    EXPECT_EQ(parse_gib("24"), 24);
    EXPECT_EQ(parse_gib("80GiB"), 80);
    EXPECT_EQ(parse_gib("24MB"), std::nullopt);
    EXPECT_TRUE(parse_command_line({"rentals", "logs", "-f"}).arguments.is_on("follow"));
}

TEST(Completions, OfferTheIdsOfTheRightList) {
    const auto any = [](const Command& list, std::string_view begin) {
        return std::vector<std::string>{std::string(begin) + " of " + std::string(list.words)};
    };
    EXPECT_EQ(completions({"rentals", "show", "01"}, any), "01 of rentals list\n");
    EXPECT_EQ(completions({"offers", "edit", "01"}, any), "01 of machines list\n");
    EXPECT_EQ(completions({"rentals", "create", "--offer", "01"}, any), "01 of offers list\n");
    EXPECT_EQ(completions({"quotes", "create", "--template", "qw"}, any), "qw of templates list\n");
    EXPECT_EQ(completions({"admin", "machines", "act", "01"}, any), "01 of admin machines list\n");
    EXPECT_EQ(completions({"admin", "refunds", "create", "--job-id", "01"}, any),
              "01 of admin rentals list\n");
    EXPECT_EQ(completions({"admin", "entries", "list", "--account-id", "01"}, any), "")
        << "there is no such command";
    EXPECT_EQ(completions({"admin", "claims", "list", "--account", "01"}, any),
              "01 of admin users list\n");
    EXPECT_EQ(completions({"admin", "allow-list", "add", "--wallet", "01"}, any), "")
        << "an address is no id";
    EXPECT_EQ(completions({"sessions", "end", "01"}, any), "01 of sessions list\n");
    EXPECT_EQ(completions({"rentals", "show", "01", "02"}, any), "") << "one is enough";
}

TEST(Completions, KnowFlagsTheirValuesAndWhatComesBehindThem) {
    EXPECT_EQ(completions({"rentals", "s"}), "show\nssh\nstop\n");
    EXPECT_EQ(completions({"--profile", "host", "rentals", "s"}), "show\nssh\nstop\n");
    EXPECT_EQ(completions({"--output", ""}), "csv\nids\njson\ntable\n");
    EXPECT_EQ(completions({"rentals", "list", "--output", "j"}), "json\n");
    EXPECT_EQ(completions({"rentals", "create", "--bud"}), "--budget\n");
    EXPECT_EQ(completions({"rentals", "create", "--offer", "x", "--bud"}), "--budget\n");
    EXPECT_EQ(completions({"rentals", "create", "--asset", ""}), "USDC\nUSDT\n");
    EXPECT_EQ(completions({"rentals", "create", "--ssh-key", ""}), "") << "the shell knows files";
    EXPECT_EQ(completions({"completion", ""}), "bash\nfish\nzsh\n");
    EXPECT_EQ(completions({"--prof"}), "--profile\n");
}

TEST(CommandLines, TakeCommonFlagsAnywhere) {
    const auto line = parse_command_line({"--profile", "work", "rentals", "-o", "json", "list"});
    EXPECT_EQ(line.command->words, "rentals list");
    EXPECT_EQ(line.arguments.get("profile"), "work");
    EXPECT_EQ(line.arguments.get("output"), "json");
    const auto chat = parse_command_line({"rentals", "chat", "--", "--no flag"});
    EXPECT_EQ(chat.arguments.operands, (std::vector<std::string>{"--no flag"}));
}

}  // namespace
}  // namespace berth::test
