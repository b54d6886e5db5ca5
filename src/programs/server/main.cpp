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
#include "server/gate_commands.hpp"
#include "server/ledger_check.hpp"
#include "server/restored.hpp"
#include "server/secret_commands.hpp"
#include "server/treasury_commands.hpp"

namespace {

constexpr const char* record_about =
    "an answer of GET /api/v1/proof-of-liabilities, kept in a file: how much was done since";

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

// The commands of berthd. Each leaves what it does in `chosen_`, so that nothing is done before the
// whole line was read.
class CommandLine {
public:
    CommandLine() {
        program_.require_subcommand(1);
        program_.set_version_flag("--version", berth::name_and_version("berthd"));
        program_.footer(footer());
        sources_.environment = [](const char* name) -> const char* { return std::getenv(name); };
        add_service_commands();
        add_check_commands();
        program_.add_subcommand("openapi", "print the specification")->callback([this] {
            chosen_ = print_openapi;
        });
        CLI::App* events = program_.add_subcommand("events", "what the service tells of");
        events->require_subcommand(1);
        events->add_subcommand("docs", "print the page docs/events.md")->callback([this] {
            chosen_ = print_events_page;
        });
        program_.add_subcommand("agent-messages", "print the page docs/agent-messages.md")
            ->callback([this] { chosen_ = print_agent_messages; });
        add_verify_commands();
        add_settings_commands();
        add_chain_commands();
        add_backup_commands();
        add_admin_commands();
        add_gates_commands();
        add_secrets_commands();
        add_treasury_commands();
    }
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    int run(int count, char** arguments) {
        try {
            program_.parse(count, arguments);
        } catch (const CLI::Success& asked) {
            return program_.exit(asked);
        } catch (const CLI::ParseError& error) {
            throw BadSettings(error.what());
        }
        return chosen_();
    }

private:
    using Command = std::function<int(const settings::Given&)>;

    // Gives a command the settings, and what it does with them. The callback of a command runs
    // after that of its own subcommand, which goes before.
    CLI::App* let(CLI::App* command, Command run) {
        add_settings(*command, sources_);
        command->callback([this, command, run = std::move(run)] {
            if (!command->get_subcommands().empty()) return;
            chosen_ = [this, run] { return run(load_settings(sources_)); };
        });
        return command;
    }
    // One without arguments of its own.
    CLI::App* add(CLI::App& parent, const char* name, const char* help, Command run) {
        return let(parent.add_subcommand(name, help), std::move(run));
    }
    // One that only holds others.
    CLI::App& add_group(const char* name, const char* help) {
        CLI::App* group = program_.add_subcommand(name, help);
        group->require_subcommand(1);
        return *group;
    }

    void add_service_commands() {
        add(program_, "serve",
            "answer requests, and do background work unless --worker-threads is 0", serve);
        add(program_, "worker", "do background work alone", run_worker);
        add(program_, "migrate", "bring the database schema up to date", migrate);
    }

    void add_check_commands() {
        CLI::App* check =
            add(program_, "check", "tell whether secrets and database are usable and current",
                check_setup);
        CLI::App* ledger = check->add_subcommand(
            "ledger", "prove that the ledger is right, and print its trial balance");
        ledger->add_option(
            "--verified", ledger_check_.verified_file,
            "a file that remembers what was verified; the next run goes on from there");
        ledger->add_flag("--chain", ledger_check_.chain,
                         "also hold the treasury's balance on chain against the books");
        ledger->add_flag("--count", ledger_check_.count,
                         "with --verified: also count and add up what was verified before");
        ledger->add_flag("--full", ledger_check_.full, "from the beginning, whatever was verified");
        ledger->add_option("--check-threads", ledger_check_.threads, "on PostgreSQL [4]")
            ->check(CLI::Range(1, 64));
        let(ledger, [this](const settings::Given& s) { return check_ledger(s, ledger_check_); });
        CLI::App* audit =
            check->add_subcommand("audit", "prove that the audit record was not altered");
        audit->add_option("--verified", audit_file_,
                          "a file that remembers the head; the next run goes on from there, and "
                          "finds what was cut off");
        let(audit, [this](const settings::Given& s) { return check_audit(s, audit_file_); });
    }

    void add_verify_commands() {
        CLI::App& verify = add_group("verify", "check a proof without asking anybody");
        CLI::App* owed =
            verify.add_subcommand("liabilities",
                                  "an answer of GET /api/v1/billing/proof, its /absence, or "
                                  "/api/v1/proof-of-liabilities/records, kept in a file");
        owed->add_option("FILE", file_, "the answer as it came")->required();
        owed->callback([this] { chosen_ = [this] { return verify_liabilities(file_); }; });
        CLI::App* paid = verify.add_subcommand(
            "receipt",
            "an answer of GET /api/v1/billing/receipts/{job}?signed=true, kept in a file");
        paid->add_option("FILE", file_, "the answer as it came")->required();
        paid->add_option("--keys", keys_file_, "/.well-known/berth-keys.json, kept in a file");
        paid->callback([this] { chosen_ = [this] { return verify_receipt(file_, keys_file_); }; });
    }

    void add_settings_commands() {
        CLI::App* show =
            program_.add_subcommand("settings", "print every setting, its value and its source");
        show->add_flag("--json", json_, "as rows for programs");
        let(show, [this](const settings::Given& s) { return print_settings(s, json_); });
        show->add_subcommand("docs", "print the page docs/settings.md")->callback([this] {
            chosen_ = print_settings_page;
        });
        CLI::App* set = show->add_subcommand("set", "change a setting while the service runs");
        CLI::App* unset = show->add_subcommand("unset", "back to what the server was started with");
        for (CLI::App* change : {set, unset}) {
            change->add_option("KEY", key_, "such as money.platform_fee_bps")->required();
            if (change == set) change->add_option("VALUE", value_)->required();
            change->add_option("--reason", why_, "why; it is kept in the audit record")->required();
        }
        let(set, [this](const settings::Given& s) {
            return run_on_this_machine(s, {std::string(set_setting_word), key_, value_, why_});
        });
        let(unset, [this](const settings::Given& s) {
            return run_on_this_machine(s, {std::string(reset_setting_word), key_, why_});
        });
    }

    void add_chain_commands() {
        CLI::App& chain = add_group("chain", "when books and chain have come apart");
        CLI::App* reconcile = chain.add_subcommand(
            "reconcile", "account for what the treasury sent and the books do not know");
        reconcile->add_flag("--apply", reconcile_.apply, "change the books; else only tell");
        reconcile->add_option("--from-block", reconcile_.from_block, "where to begin to look");
        reconcile->add_option("--foreign-why", reconcile_.foreign_why,
                              "why the treasury sent what is no transfer of the books");
        CLI::Option* adopt = reconcile->add_option(
            "--adopt", reconcile_.adopt, "nonce of a payment that becomes an account's withdrawal");
        CLI::Option* whose =
            reconcile->add_option("--account", reconcile_.account, "whose it was")->needs(adopt);
        CLI::Option* why =
            reconcile->add_option("--why", reconcile_.why, "how that is known")->needs(adopt);
        adopt->needs(whose)->needs(why);
        reconcile->add_option("--of", reconcile_.of, "the treasury that paid it")->needs(adopt);
        reconcile->add_option("--evidence", reconcile_.evidence, "a word on it; may be repeated")
            ->needs(adopt);
        reconcile->add_option("--also", reconcile_.also,
                              "a treasury that the books may not know; may be repeated");
        let(reconcile, [this](const settings::Given& s) { return reconcile_chain(s, reconcile_); });
        CLI::App* retire = chain.add_subcommand(
            "retire", "take no payment of an earlier treasury for ours any more");
        retire->add_option("--address", retire_.treasury, "of the treasury")->required();
        retire->add_option("--why", retire_.why, "for whoever asks")->required();
        retire->add_flag("--apply", retire_.apply, "change the books; else only tell");
        retire->add_option("--from-block", retire_.from_block, "where to begin to look");
        retire->add_option("--foreign-why", retire_.foreign_why,
                           "why it paid what is no transfer of the books");
        retire->add_flag("--while-moving", retire_.while_moving,
                         "also while something of it is not final: whoever stole its key goes on");
        let(retire, [this](const settings::Given& s) { return retire_treasury(s, retire_); });
        CLI::App* resolve = chain.add_subcommand(
            "resolve", "end a transfer whose nonce was used up by another transaction");
        resolve->add_option("--transfer", resolve_.transfer, "its id")->required();
        resolve->add_option("--why", resolve_.why, "what happened")->required();
        resolve->add_flag("--apply", resolve_.apply, "change the books; else only tell");
        let(resolve, [this](const settings::Given& s) { return resolve_transfer(s, resolve_); });
        CLI::App* hold = chain.add_subcommand("hold", "sign nothing until the next reconciliation");
        hold->add_option("--why", why_, "for whoever asks")->required();
        let(hold, [this](const settings::Given& s) { return hold_settlement(s, why_); });
    }

    void add_backup_commands() {
        CLI::App* backup = program_.add_subcommand(
            "backup", "copy a SQLite database, also beside a running server");
        backup->add_option("file", file_, "the copy; must not exist")->required();
        let(backup, [this](const settings::Given& s) { return back_up(s, file_); });
        CLI::App* restoring = program_.add_subcommand("restore", "put such a copy in place");
        restoring->add_option("file", restore_.file, "the copy")->required();
        restoring->add_flag("--replace", restore_.replace,
                            "even if there is a database; it is kept");
        restoring->add_option("--log", restore_.log_file,
                              "the server's log: what it tells was done since");
        restoring->add_option("--record", restore_.record_file, record_about);
        let(restoring, [this](const settings::Given& s) { return restore(s, restore_); });
        CLI::App* restored = program_.add_subcommand(
            "restored", "say that the database is one from before, put back by other means");
        restored->add_option("--why", restored_.why, "for whoever asks")->required();
        restored->add_option("--log", restored_.log_file,
                             "the server's log: what it tells was done since");
        restored->add_option("--record", restored_.record_file, record_about);
        let(restored, [this](const settings::Given& s) { return note_restored(s, restored_); });
    }

    void add_admin_commands() {
        CLI::App& admin = add_group("admin", "administrators, on the server's own machine");
        CLI::App* create = admin.add_subcommand("create", "make an account an admin");
        create->add_option("--email", email_, "address of the account")->required();
        let(create, [this](const settings::Given& s) {
            return run_on_this_machine(s, {std::string(make_admin_word), email_});
        });
        CLI::App* eyes = admin.add_subcommand("four-eyes", "when a second admin is asked");
        eyes->require_subcommand(1);
        CLI::App* off = eyes->add_subcommand(
            "off", "let one admin act alone again, before 72 hours are over; all are told");
        off->add_option("--reason", why_, "for the audit record and the mail")->required();
        let(off, [this](const settings::Given& s) { return turn_four_eyes_off(s, why_); });
    }

    void add_gates_commands() {
        CLI::App& gates = add_group("gates", "by which hosts without an open port are reached");
        CLI::App* one = gates.add_subcommand("add", "make a gate known, or say anew what it is");
        one->add_option("--id", gate_.id, "as `berth-gate init` made it; left out: a new one");
        one->add_option("--host", gate_.host, "its public name or address")->required();
        one->add_option("--dial-host", gate_.dial_host,
                        "the address at which the server reaches it [that of --host]");
        one->add_option("--link-port", gate_.link_port, "where it takes links, by TLS")->required();
        one->add_option("--call-port", gate_.call_port, "where it takes plain calls")->required();
        one->add_option("--ports", gate_.ports, "of its doors [20000-32767]");
        one->add_option("--continent", gate_.continent, "AF, AN, AS, EU, NA, OC or SA");
        one->add_option("--public-key", gate_.public_key, "by which its reports are checked")
            ->required();
        one->add_option("--tls-key-sha256", gate_.tls_key_sha256, "of the key that agents pin")
            ->required();
        let_gate(one, "add");
        add(gates, "list", "print all gates and what they do", list_gates);
        CLI::App* drain = gates.add_subcommand("drain", "give it no new doors");
        drain->add_option("ID", gate_.id, "of the gate")->required();
        let_gate(drain, "drain");
        CLI::App* gone = gates.add_subcommand("remove", "take its word no more");
        gone->add_option("ID", gate_.id, "of the gate")->required();
        gone->add_flag("--force", gate_.force, "also while doors are open, which then move");
        let_gate(gone, "remove");
    }
    void let_gate(CLI::App* command, const char* verb) {
        let(command, [this, verb](const settings::Given& s) {
            gate_.verb = verb;
            return order_gate(s, gate_);
        });
    }

    void add_secrets_commands() {
        CLI::App& secrets = add_group("secrets", "the keys in the folder of --secrets");
        CLI::App* rotate = secrets.add_subcommand(
            "rotate", "take the next step of exchanging seal.key and cursor.key");
        rotate->add_flag("--alone", alone_, "there is one server: the first two steps in one");
        let(rotate, [this](const settings::Given& s) { return rotate_secrets(s, alone_); });
    }

    void add_treasury_commands() {
        CLI::App& treasury =
            add_group("treasury", "the operator's own money, on the server's own machine");
        add(treasury, "suspense", "list transfers that nobody has claimed", list_suspense);
        add_payment(treasury, "gas", "book what the treasury paid for gas");
        add_payment(treasury, "fee-take-out", "book fee income that was taken out");
        add_payment(treasury, "to-cold", "book what was moved to cold storage");
        add_deposit(treasury, "top-up", "say that a transfer in suspense is the operator's own");
        add_deposit(treasury, "from-cold",
                    "say that a transfer in suspense came from cold storage");
        CLI::App* back =
            add_deposit(treasury, "return", "send a transfer in suspense back to its sender");
        back->add_option("--address", order_.address,
                         "where it goes instead of to its sender; needs --evidence");
        back->add_option("--payment", order_.payment,
                         "pay nothing, and book that this transfer, HASH or HASH:ORDINAL, paid it");
        add_deposit(treasury, "cancel-return", "call off a return that is not signed yet");
        add_deposit(treasury, "match", "credit a transfer in suspense to an account")
            ->add_option("--account", order_.account, "id of the account")
            ->required();
    }
    CLI::App* add_payment(CLI::App& treasury, const char* verb, const char* help) {
        CLI::App* command = treasury.add_subcommand(verb, help);
        command
            ->add_option("--payment", order_.payment,
                         "HASH or HASH:ORDINAL of the transfer that left the treasury")
            ->required();
        return let_order(command, verb);
    }
    CLI::App* add_deposit(CLI::App& treasury, const char* verb, const char* help) {
        CLI::App* command = treasury.add_subcommand(verb, help);
        command
            ->add_option("--deposit", order_.deposit, "HASH:ORDINAL of the transfer that came in")
            ->required();
        return let_order(command, verb);
    }
    CLI::App* let_order(CLI::App* command, const char* verb) {
        command->add_option("--reason", order_.reason, "5 to 2000 characters")->required();
        command->add_option("--evidence", order_.evidence,
                            "what shows that it is right; may be repeated");
        return let(command, [this, verb](const settings::Given& s) {
            order_.verb = verb;
            return order_treasury(s, order_);
        });
    }

    CLI::App program_{"The Berth server.", "berthd"};
    settings::Sources sources_;
    std::function<int()> chosen_;
    // What the arguments say; only one command is chosen, so commands share them.
    LedgerCheck ledger_check_;
    ReconcileOptions reconcile_;
    RetireOptions retire_;
    ResolveOptions resolve_;
    TreasuryOrder order_;
    GateOrder gate_;
    std::string file_;
    std::string keys_file_;
    std::string audit_file_;
    std::string key_, value_;  // of a setting
    std::string why_;
    std::string email_;
    bool json_ = false;
    bool alone_ = false;
    RestoreOptions restore_;
    RestoredOptions restored_;
};

}  // namespace

int main(int count, char** arguments) {
    // Only a server answers it; any other command that holds the database must not die of it.
    std::signal(SIGUSR1, SIG_IGN);
    try {
        return CommandLine().run(count, arguments);
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
