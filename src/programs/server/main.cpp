// berthd: the server and the worker. Flags, BERTH_* variables and the file of --config are the
// three faces of the registry of settings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/version.hpp"
#include "server/chain_commands.hpp"
#include "server/commands.hpp"
#include "server/ledger_check.hpp"
#include "server/secret_commands.hpp"
#include "server/treasury_commands.hpp"

namespace {

using namespace berth::server;
namespace settings = berth::settings;

constexpr int exit_failed = 1;
constexpr int exit_bad_settings = 2;

std::string footer() {
    std::string text = "Each setting is also a variable and a key of the --config file (TOML):\n";
    for (const settings::Entry& entry : registry().entries())
        text += fmt::format("  --{:<28}{:<36}{}\n", entry.flag, entry.variable, entry.file_key);
    return text;
}

void add_every_setting(CLI::App& command, settings::Sources& sources) {
    command.add_option("--config", sources.config_file, "a TOML file of settings");
    for (const settings::Entry& entry : registry().entries()) {
        const settings::Field& field = registry().initial(entry);
        std::string help(field.about().help);
        if (!field.text().empty()) help += " [" + field.text() + "]";
        const auto keep = [&sources, flag = entry.flag](const std::string& value) {
            sources.flags[flag] = value;
        };
        if (field.is_flag())
            command.add_flag_function(
                "--" + entry.flag, [keep](std::int64_t on) { keep(on > 0 ? "true" : "false"); },
                help);
        else
            command.add_option_function<std::string>("--" + entry.flag, keep, help);
    }
}

// When the command is the one that was given: an option is held against all that are there, and
// some thirty commands take every setting.
void add_settings(CLI::App& command, settings::Sources& sources) {
    command.preparse_callback(
        [&command, &sources](std::size_t) { add_every_setting(command, sources); });
}

// `berthd chain …`, `berthd backup` and `berthd restore`.
class ChainCommands {
public:
    ChainCommands(CLI::App& program, settings::Sources& sources, std::function<int()>& chosen)
        : sources_(sources), chosen_(chosen) {
        CLI::App* chain = program.add_subcommand("chain", "when books and chain have come apart");
        chain->require_subcommand(1);
        CLI::App* reconcile = chain->add_subcommand(
            "reconcile", "account for what the treasury sent and the books do not know");
        reconcile->add_flag("--apply", reconcile_.apply, "change the books; else only tell");
        reconcile->add_option("--from-block", reconcile_.from_block, "where to begin to look");
        reconcile->add_option("--foreign-why", reconcile_.foreign_why,
                              "why the treasury sent what is no transfer of the books");
        add(reconcile, [this](const settings::Given& s) { return reconcile_chain(s, reconcile_); });
        CLI::App* resolve = chain->add_subcommand(
            "resolve", "end a transfer whose nonce was used up by another transaction");
        resolve->add_option("--transfer", resolve_.transfer, "its id")->required();
        resolve->add_option("--why", resolve_.why, "what happened")->required();
        resolve->add_flag("--apply", resolve_.apply, "change the books; else only tell");
        add(resolve, [this](const settings::Given& s) { return resolve_transfer(s, resolve_); });
        CLI::App* hold =
            chain->add_subcommand("hold", "sign nothing until the next reconciliation");
        hold->add_option("--why", why_, "for whoever asks")->required();
        add(hold, [this](const settings::Given& s) { return hold_settlement(s, why_); });

        CLI::App* backup = program.add_subcommand(
            "backup", "copy a SQLite database, also beside a running server");
        backup->add_option("file", file_, "the copy; must not exist")->required();
        add(backup, [this](const settings::Given& s) { return back_up(s, file_); });
        CLI::App* restoring = program.add_subcommand("restore", "put such a copy in place");
        restoring->add_option("file", file_, "the copy")->required();
        restoring->add_flag("--replace", replace_, "even if there is a database; it is kept");
        add(restoring, [this](const settings::Given& s) { return restore(s, file_, replace_); });
    }

private:
    void add(CLI::App* command, std::function<int(const settings::Given&)> run) {
        add_settings(*command, sources_);
        command->callback(
            [this, run] { chosen_ = [this, run] { return run(load_settings(sources_)); }; });
    }

    settings::Sources& sources_;
    std::function<int()>& chosen_;
    ReconcileOptions reconcile_;
    ResolveOptions resolve_;
    std::string why_;
    std::string file_;
    bool replace_ = false;
};

int run(int count, char** arguments) {
    CLI::App program("The Berth server.", "berthd");
    program.require_subcommand(1);
    program.set_version_flag("--version", berth::name_and_version("berthd"));
    program.footer(footer());
    settings::Sources sources;
    sources.environment = [](const char* name) -> const char* { return std::getenv(name); };
    std::function<int()> chosen;

    const auto add_to = [&](CLI::App& parent, const char* name, const char* help,
                            int (*command)(const settings::Given&)) {
        CLI::App* sub = parent.add_subcommand(name, help);
        add_settings(*sub, sources);
        // The callback of a command runs after that of its own subcommand, which goes before.
        sub->callback([&chosen, &sources, sub, command] {
            if (!sub->get_subcommands().empty()) return;
            chosen = [&sources, command] { return command(load_settings(sources)); };
        });
        return sub;
    };
    const auto add = [&](const char* name, const char* help,
                         int (*command)(const settings::Given&)) {
        return add_to(program, name, help, command);
    };
    add("serve", "answer requests, and do background work unless --worker-threads is 0", serve);
    add("worker", "do background work alone", run_worker);
    add("migrate", "bring the database schema up to date", migrate);
    CLI::App* check =
        add("check", "tell whether secrets and database are usable and current", check_setup);
    LedgerCheck ledger_check;
    CLI::App* ledger = check->add_subcommand(
        "ledger", "prove that the ledger is right, and print its trial balance");
    ledger->add_option("--verified", ledger_check.verified_file,
                       "a file that remembers what was verified; the next run goes on from there");
    ledger->add_flag("--chain", ledger_check.chain,
                     "also hold the treasury's balance on chain against the books");
    ledger->add_flag("--count", ledger_check.count,
                     "with --verified: also count and add up what was verified before");
    ledger->add_flag("--full", ledger_check.full, "from the beginning, whatever was verified");
    ledger->add_option("--check-threads", ledger_check.threads, "on PostgreSQL [4]")
        ->check(CLI::Range(1, 64));
    add_settings(*ledger, sources);
    ledger->callback(
        [&] { chosen = [&] { return check_ledger(load_settings(sources), ledger_check); }; });
    add_to(*check, "audit", "prove that the audit record was not altered", check_audit);
    program.add_subcommand("openapi", "print the specification")->callback([&chosen] {
        chosen = print_openapi;
    });

    std::string proof;
    CLI::App* verify = program.add_subcommand("verify", "check a proof without asking anybody");
    verify->require_subcommand(1);
    CLI::App* owed = verify->add_subcommand(
        "liabilities", "an answer of GET /api/v1/billing/proof, kept in a file");
    owed->add_option("FILE", proof, "the answer as it came")->required();
    owed->callback([&] { chosen = [&] { return verify_liabilities(proof); }; });
    std::string published;
    CLI::App* paid = verify->add_subcommand(
        "receipt", "an answer of GET /api/v1/billing/receipts/{job}?signed=true, kept in a file");
    paid->add_option("FILE", proof, "the answer as it came")->required();
    paid->add_option("--keys", published, "/.well-known/berth-keys.json, kept in a file");
    paid->callback([&] { chosen = [&] { return verify_receipt(proof, published); }; });

    bool json = false;
    CLI::App* show =
        program.add_subcommand("settings", "print every setting, its value and its source");
    show->add_flag("--json", json, "as rows for programs");
    add_settings(*show, sources);
    show->add_subcommand("docs", "print the page docs/settings.md")->callback([&chosen] {
        chosen = print_settings_page;
    });
    std::string key, value, reason;
    CLI::App* set = show->add_subcommand("set", "change a setting while the service runs");
    CLI::App* unset = show->add_subcommand("unset", "back to what the server was started with");
    for (CLI::App* change : {set, unset}) {
        change->add_option("KEY", key, "such as money.platform_fee_bps")->required();
        if (change == set) change->add_option("VALUE", value)->required();
        change->add_option("--reason", reason, "why; it is kept in the audit record")->required();
        add_settings(*change, sources);
    }
    set->callback([&] {
        chosen = [&] {
            return run_on_this_machine(load_settings(sources),
                                       {std::string(set_setting_word), key, value, reason});
        };
    });
    unset->callback([&] {
        chosen = [&] {
            return run_on_this_machine(load_settings(sources),
                                       {std::string(reset_setting_word), key, reason});
        };
    });
    show->callback([&] {
        if (show->get_subcommands().empty())
            chosen = [&] { return print_settings(load_settings(sources), json); };
    });

    const ChainCommands chain_commands(program, sources, chosen);
    std::string email;
    CLI::App* admin =
        program.add_subcommand("admin", "administrators, on the server's own machine");
    admin->require_subcommand(1);
    CLI::App* create = admin->add_subcommand("create", "make an account an admin");
    create->add_option("--email", email, "address of the account")->required();
    add_settings(*create, sources);
    create->callback([&] {
        chosen = [&] {
            return run_on_this_machine(load_settings(sources),
                                       {std::string(make_admin_word), email});
        };
    });

    bool alone = false;
    CLI::App* secrets = program.add_subcommand("secrets", "the keys in the folder of --secrets");
    secrets->require_subcommand(1);
    CLI::App* rotate = secrets->add_subcommand(
        "rotate", "take the next step of exchanging seal.key and cursor.key");
    rotate->add_flag("--alone", alone, "there is one server: the first two steps in one");
    add_settings(*rotate, sources);
    rotate->callback(
        [&] { chosen = [&] { return rotate_secrets(load_settings(sources), alone); }; });

    TreasuryOrder order;
    CLI::App* treasury =
        program.add_subcommand("treasury", "the operator's own money, on the server's own machine");
    treasury->require_subcommand(1);
    CLI::App* listed =
        treasury->add_subcommand("suspense", "list transfers that nobody has claimed");
    add_settings(*listed, sources);
    listed->callback([&] { chosen = [&] { return list_suspense(load_settings(sources)); }; });
    const auto add_order = [&](const char* verb, const char* help, bool of_deposit, bool pays) {
        CLI::App* sub = treasury->add_subcommand(verb, help);
        if (of_deposit)
            sub->add_option("--deposit", order.deposit, "HASH:ORDINAL of the transfer that came in")
                ->required();
        if (pays)
            sub->add_option("--payment", order.payment,
                            "HASH or HASH:ORDINAL of the transfer that left the treasury")
                ->required();
        sub->add_option("--reason", order.reason, "5 to 2000 characters")->required();
        sub->add_option("--evidence", order.evidence,
                        "what shows that it is right; may be repeated");
        add_settings(*sub, sources);
        sub->callback([&, verb] {
            order.verb = verb;
            chosen = [&] { return order_treasury(load_settings(sources), order); };
        });
        return sub;
    };
    add_order("gas", "book what the treasury paid for gas", false, true);
    add_order("fee-take-out", "book fee income that was taken out", false, true);
    add_order("to-cold", "book what was moved to cold storage", false, true);
    add_order("top-up", "say that a transfer in suspense is the operator's own", true, false);
    add_order("from-cold", "say that a transfer in suspense came from cold storage", true, false);
    CLI::App* back =
        add_order("return", "send a transfer in suspense back to its sender", true, false);
    back->add_option("--address", order.address,
                     "where it goes instead of to its sender; needs --evidence");
    back->add_option("--payment", order.payment,
                     "pay nothing, and book that this transfer, HASH or HASH:ORDINAL, paid it");
    add_order("cancel-return", "call off a return that is not signed yet", true, false);
    add_order("match", "credit a transfer in suspense to an account", true, false)
        ->add_option("--account", order.account, "id of the account")
        ->required();

    try {
        program.parse(count, arguments);
    } catch (const CLI::Success& asked) {
        return program.exit(asked);
    } catch (const CLI::ParseError& error) {
        throw BadSettings(error.what());
    }
    return chosen();
}

}  // namespace

int main(int count, char** arguments) {
    // Only a server answers it; any other command that holds the database must not die of it.
    std::signal(SIGUSR1, SIG_IGN);
    try {
        return run(count, arguments);
    } catch (const BadSettings& bad) {
        fmt::print(stderr, "berthd: {}\n", bad.what());
        return exit_bad_settings;
    } catch (const std::invalid_argument& bad) {
        fmt::print(stderr, "berthd: {}\n", bad.what());
        return exit_bad_settings;
    } catch (const std::exception& error) {
        fmt::print(stderr, "berthd: {}\n", error.what());
        return exit_failed;
    }
}
