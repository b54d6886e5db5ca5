// berthd: the server and the worker. Flags, BERTH_* variables and the file of --config are the
// three faces of the registry of settings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "server/commands.hpp"
#include "server/ledger_check.hpp"

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

void add_settings(CLI::App& command, settings::Sources& sources) {
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

int run(int count, char** arguments) {
    CLI::App program("The Berth server.", "berthd");
    program.require_subcommand(1);
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
    ledger->add_flag("--full", ledger_check.full, "from the beginning, whatever was verified");
    ledger->add_option("--check-threads", ledger_check.threads, "on PostgreSQL [4]")
        ->check(CLI::Range(1, 64));
    add_settings(*ledger, sources);
    ledger->callback([&] {
        chosen = [&] { return check_ledger(load_settings(sources), ledger_check); };
    });
    add_to(*check, "audit", "prove that the audit record was not altered", check_audit);
    program.add_subcommand("openapi", "print the specification")->callback([&chosen] {
        chosen = print_openapi;
    });

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
