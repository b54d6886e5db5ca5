// Commands about the program itself, and what all commands have in common.
#include <fmt/format.h>
#include <stdlib.h>

#include "base/json_text.hpp"
#include "base/version.hpp"
#include "cli/credentials.hpp"
#include "cli/describe.hpp"
#include "cli/ids.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

constexpr auto all_flags = std::to_array<OwnFlag>({
    {"output", "table|json|ids|csv", "table on a terminal, else json; csv of reports", ""},
    {"profile", "NAME", "which server and key; also BERTH_PROFILE", "default"},
    {"server", "URL", "https, or http for this machine; also BERTH_SERVER", ""},
    {"idempotency-key", "UUID", "of a change: repeating it with this key does it once"},
    {"explain", "", "print method, path and body, and send nothing"},
    {"curl", "", "print the same as a command of curl, and send nothing"},
    {"all", "", "of a list: every page"},
    {"from", "FILE", "the body, as JSON, in the place of its flags; - is standard input"},
    {"proof-file", "FILE", "the code of a fresh proof, where one is wanted; asked for otherwise"},
    {"yes", "", "do not ask"},
    {"help", "", "this"},
});

constexpr auto profile_flags = std::to_array<OwnFlag>({
    {"api-key-file", "FILE", "a key that was made for the server; - is standard input"},
    {"wallet", "FILE", "an encrypted V3 keystore"},
});

constexpr auto demo_flags = std::to_array<OwnFlag>({
    {"clock", "", "let an hour pass while the rental runs"},
});

constexpr auto faucet_flags = std::to_array<OwnFlag>({
    {"amount", "AMOUNT", "how much", "100"},
});

constexpr Command local_table[] = {
    {.words = "api",
     .help = "Any request: `berth api GET /api/v1/status`.",
     .run = call_api,
     .operands = "METHOD PATH"},
    {.words = "status",
     .method = "GET",
     .path = "/api/v1/status",
     .help = "How the service is.",
     .access = Access::anyone,
     .run = show_status},
    {.words = "health",
     .method = "GET",
     .path = "/healthz",
     .help = "Whether the server is alive.",
     .access = Access::anyone},
    {.words = "ready",
     .method = "GET",
     .path = "/readyz",
     .help = "Whether the server takes requests.",
     .access = Access::anyone},
    {.words = "spec",
     .method = "GET",
     .path = "/openapi.json",
     .help = "Every route of the server.",
     .access = Access::anyone},
    {.words = "doctor",
     .help = "What is wrong here, and how to mend it.",
     .run = check_everything,
     .uses = "GET /readyz, GET /api/v1/auth/session"},
    {.words = "profiles list", .help = "The profiles on this machine.", .run = list_profiles},
    {.words = "profiles add",
     .help = "A profile for --server, perhaps with a key.",
     .run = add_profile,
     .flags = profile_flags,
     .operands = "NAME"},
    {.words = "profiles use",
     .help = "What later commands use.",
     .run = choose_profile,
     .operands = "NAME"},
    {.words = "profiles remove",
     .help = "Forgets a profile with its key.",
     .run = remove_profile,
     .operands = "NAME"},
    {.words = "demo",
     .help = "A whole rental on the marketplace that ./run started.",
     .run = run_demo,
     .flags = demo_flags,
     .uses = "GET /api/v1/offers, GET /api/v1/templates, POST /api/v1/quotes, POST /api/v1/jobs, "
             "GET /api/v1/jobs/{id}, GET /api/v1/jobs/{id}/openai/v1/models, "
             "POST /api/v1/jobs/{id}/openai/v1/chat/completions, POST /api/v1/jobs/{id}/stop, "
             "GET /api/v1/billing/receipts/{job}, GET /api/v1/hosts/earnings, "
             "POST /api/v1/hosts/payouts, GET /api/v1/hosts/payouts"},
    {.words = "faucet",
     .help = "Play money for the profile's account, on the marketplace that ./run started.",
     .run = open_faucet,
     .flags = faucet_flags,
     .uses = "GET /api/v1/auth/session, GET /api/v1/billing"},
    {.words = "completion",
     .help = "A script for the shell: eval \"$(berth completion bash)\".",
     .run = print_completion,
     .operands = "bash|zsh|fish"},
    {.words = "complete",
     .help = "What may follow these words; the scripts ask it.",
     .run = complete_words,
     .operands = "[WORD…]"},
    {.words = "version", .help = "The version of this program.", .run = print_version},
};

constexpr std::string_view bash_script =
    "_berth() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(berth complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
    "}\n"
    "complete -o default -F _berth berth\n";
constexpr std::string_view zsh_script =
    "#compdef berth\n"
    "_berth() {\n"
    "    local -a found\n"
    "    found=(${(f)\"$(berth complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "    if (( $#found )); then compadd -- $found; else _files; fi\n"
    "}\n"
    "if [[ $funcstack[1] == _berth ]]; then _berth; else compdef _berth berth; fi\n";
constexpr std::string_view fish_script =
    "function __berth_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l found (berth complete -- $words[2..-1] 2>/dev/null)\n"
    "    if test -n \"$found\"\n"
    "        printf '%s\\n' $found\n"
    "    else\n"
    "        __fish_complete_path (commandline -ct)\n"
    "    end\n"
    "end\n"
    "complete -c berth -f -a '(__berth_complete)'\n";

void print_copy(Context& context, const std::string& copy) {
    if (!copy.empty()) context.print_own(fmt::format("{{\"copy\":{}}}", json_quoted(copy)), "");
}

// A key that was made for a server is one word: not the file of something else.
std::optional<std::string> key_of_file(Context& context) {
    const auto file = context.arguments().find("api-key-file");
    if (!file) return std::nullopt;
    std::string key = read_secret(*file, "--api-key-file");
    if (!can_be_token(key))
        throw Failure(Exit::usage, "--api-key-file: holds no API key, and nothing was saved");
    return key;
}

// Whether a key or a wallet of the profile would not be in it any more.
bool would_lose(const Profile& before, const Profile& after) {
    const bool loses_key = has_key(before) && (before.api_key != after.api_key ||
                                               before.key_elsewhere != after.key_elsewhere);
    return loses_key || (before.wallet && before.wallet != after.wallet);
}

// The profile that the operand names.
Profiles named(Context& context) { return Profiles(context.arguments().operands[0]); }

}  // namespace

std::span<const Command> local_commands() { return local_table; }
std::span<const OwnFlag> common_flags() { return all_flags; }

std::vector<const Command*> all_commands() {
    std::vector<const Command*> all;
    for (const auto& part : {market_commands(), host_commands(), money_commands(),
                             account_commands(), admin_commands(), local_commands()})
        for (const Command& command : part) all.push_back(&command);
    return all;
}

int print_version(Context& context) {
    context.print_own(fmt::format("{{\"version\":\"{}\"}}", project_version),
                      name_and_version("berth") + "\n");
    return 0;
}

int print_everything(Context& context) {
    context.console().write(everything_as_json() + "\n");
    context.console().flush();
    return 0;
}

int print_completion(Context& context) {
    const std::string& shell = context.arguments().operands[0];
    if (shell != "bash" && shell != "zsh" && shell != "fish")
        throw Failure(Exit::usage, "berth completion knows bash, zsh and fish");
    context.console().write(shell == "bash"  ? bash_script
                            : shell == "zsh" ? zsh_script
                                             : fish_script);
    context.console().flush();
    return 0;
}

// Of the words that are completed, those that say whom to ask hold here, too.
int complete_words(Context& context) {
    const auto& words = context.arguments().operands;
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
        if (words[i] == "--profile") ::setenv("BERTH_PROFILE", words[i + 1].c_str(), 1);
        if (words[i] == "--server") ::setenv("BERTH_SERVER", words[i + 1].c_str(), 1);
    }
    context.console().write(completions(words, [&](const Command& list, std::string_view begin) {
        return ids_on_offer(context, list, begin);
    }));
    context.console().flush();
    return 0;
}

int list_profiles(Context& context) {
    std::string json;
    std::string text;
    for (const std::string& name : context.profiles().list()) {
        const auto profile = Profiles(name).load();
        if (!profile) continue;
        const bool is_chosen = name == context.profiles().name();
        json += fmt::format("{}{{\"name\":{},\"server\":{},\"chosen\":{},\"has_key\":{}}}",
                            json.empty() ? "" : ",", json_quoted(name),
                            json_quoted(profile->server), is_chosen, profile->api_key.has_value());
        text += fmt::format("{} {:<16}  {}{}{}\n", is_chosen ? "*" : " ", name, profile->server,
                            profile->account ? "  " + printable(*profile->account) : "",
                            profile->api_key ? "" : "  (no key)");
    }
    if (text.empty()) context.console().say("there are none: berth login");
    context.print_own("{\"items\":[" + json + "]}", text);
    return 0;
}

int add_profile(Context& context) {
    if (context.rehearse_all()) return 0;
    const Profiles profiles = named(context);
    if (!context.arguments().has("server"))
        throw Failure(Exit::usage, "berth profiles add needs --server URL");
    const Profile before = profiles.load().value_or(Profile{});
    Profile profile = before;
    const std::string server = parse_origin(context.arguments().get("server"));
    const auto key = key_of_file(context);
    if (profile.server != server || (key && has_key(profile) && profile.api_key != key))
        profile = Profile{};
    profile.server = server;
    if (key) profile.api_key = key;
    if (const auto file = context.arguments().find("wallet")) profile.wallet = *file;
    std::string copy;
    if (would_lose(before, profile)) {
        agree_to_drop(context, profiles, "replace it?", "choose another NAME");
        copy = copy_credentials(context, profiles);
        profiles.forget_session();
    }
    profiles.save(profile);
    context.console().say("saved " + profiles.file());
    print_copy(context, copy);
    return 0;
}

int choose_profile(Context& context) {
    if (context.rehearse_all()) return 0;
    const Profiles profiles = named(context);
    if (!profiles.load())
        throw Failure(Exit::not_found, "there is no such profile; see berth profiles list");
    profiles.choose();
    return 0;
}

int remove_profile(Context& context) {
    if (context.rehearse_all()) return 0;
    const Profiles profiles = named(context);
    if (!profiles.exists())
        throw Failure(Exit::not_found, "there is no such profile; see berth profiles list");
    const Profile profile = profiles.load().value_or(Profile{});
    std::string copy;
    // A key that the desktop does not give out for a copy stays with the desktop.
    const bool is_locked = profile.key_elsewhere && !profile.api_key;
    if (has_key(profile) || profile.wallet) {
        agree_to_drop(context, profiles, "remove it?", "the profile stays");
        if (!is_locked) copy = copy_credentials(context, profiles);
    }
    profiles.remove(is_locked ? Profiles::Secret::leave : Profiles::Secret::clear);
    print_copy(context, copy);
    return 0;
}

}  // namespace berth::cli
