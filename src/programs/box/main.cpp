// berth-box: a whole marketplace on one machine, with play money. Starts a simulated berthd, fills
// it with a renter, a host and its simulated machines, and says what to type next.
#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

#include "base/program.hpp"
#include "base/version.hpp"
#include "box/admin.hpp"
#include "box/children.hpp"
#include "box/containers.hpp"
#include "box/market.hpp"
#include "cli/profile.hpp"
#include "db/db.hpp"
#include "db/file_lock.hpp"

namespace {

using namespace berth;
using namespace berth::box;
namespace fs = std::filesystem;

constexpr std::chrono::milliseconds moment{50};
constexpr std::chrono::seconds ready_max{60};
constexpr std::chrono::seconds end_max{45};
constexpr std::chrono::seconds predecessor_max{10};
constexpr std::int64_t first_balance_micro = 100'000'000;
constexpr int ports_each = 20;
constexpr int gate_ports = 20;  // for links, for calls, for metrics, the rest for doors

struct HostPlan {
    const char* model;
    std::int64_t rate_micro_per_hour;
    bool interruptible;
    bool behind_gate = false;  // as if it sat behind a router that lets nobody in
    bool in_containers = false;
};
constexpr HostPlan plans[] = {
    {"RTX 4090", 450'000, false},
    {"RTX 3090", 180'000, true},
    {"A100 SXM 80GB", 1'250'000, false},
    {"H100 SXM 80GB", 2'400'000, false, true},
};
// One more, where this machine can run containers: it is the one with a shell.
constexpr HostPlan shell_plan{"RTX 4080", 300'000, false, true, true};

// What makes a market of one person on one machine go quickly, unless the command line says
// otherwise.
struct UsualFlag {
    std::string_view name;
    std::string_view value = {};
};
constexpr UsualFlag usual_flags[] = {
    {"--allow-simulated"},
    {"--allow-process-runtime"},
    {"--allow-private-endpoints"},
    {"--allow-plain-engines"},
    {"--availability-classes-released"},
    {"--chain-poll-ms", "200"},
    {"--transfer-min-micro", "1"},
    {"--rate-enrolments-per-hour", "1000"},
    {"--rate-heartbeats-per-minute", "1000"},
    {"--rate-account-per-minute", "3000"},
    {"--rate-public-per-minute", "3000"},
    {"--funded-time-min-s", "0"},
    {"--starts-open-max", "0"},
    {"--unbilled-starts-per-hour", "0"},
    {"--payout-delay-hours", "0"},
    {"--retrieval-min-s", "900"},
    {"--four-eyes", "off"},
    {"--address-cooling-hours", "0"},
    {"--custom-images-enabled"},
};

// What own_flags() says, and may be said once.
bool is_the_boxes_own(std::string_view flag) {
    constexpr std::string_view own[] = {"--db", "--secrets", "--mail", "--simulated"};
    return std::ranges::find(own, flag) != std::end(own);
}

struct Options {
    std::string folder = "data/box";
    std::string listen = "127.0.0.1:8080";
    std::string bin;  // where the programs are
    std::size_t hosts = std::size(plans);
    int first_port = 0;  // of what hosts announce; 0: by the server's, so that two boxes get along
    int gate_port = 0;   // the first of the gate's, likewise
    int registry_port = 0;  // and that of images, before those of the host that pulls them
    Words server_flags;
};

class Box {
public:
    explicit Box(Options options)
        : options_(std::move(options)),
          folder_(fs::absolute(options_.folder).lexically_normal().string()),
          url_("http://" + options_.listen) {}

    int run() {
        ::umask(077);  // as the units of deploy/ have it
        fs::create_directories(folder_);
        fs::permissions(folder_, fs::perms::owner_all);
        ::setenv("BERTH_HOME", at("home").c_str(), 1);  // of the programs below, too
        try {
            stay_where_it_was();
            let_the_one_before_end();
            start_server();
            write_private(at("url"), url_);
            fill();
            tell();
            wait_for_trouble();
        } catch (const Interrupted&) {
            fmt::print("\nending\n");
            end_all();
            return 0;
        } catch (const std::exception& error) {
            fmt::print(stderr, "berth-box: {}\n", error.what());
        }
        end_all();
        return 1;
    }

private:
    // Runs a program to its end and returns its standard output; throws when it failed.
    static std::string run_to_end(Words words) {
        const ProgramEnd end = run_program({.arguments = std::move(words)});
        if (!end.ok()) throw std::runtime_error(end.output + end.errors);
        return end.output;
    }
    std::string program(const char* name) const { return options_.bin + "/" + name; }
    std::string at(const std::string& name) const { return folder_ + "/" + name; }
    Words own_flags() const {
        return {"--simulated",        "--db",        "sqlite:" + at("play.db"),
                "--secrets",          at("secrets"), "--mail",
                "file:" + at("mail"), "--listen",    options_.listen};
    }

    // Agents and profiles know the server by its address.
    void stay_where_it_was() {
        const std::string before = read_private(at("url"));
        if (!before.empty() && before != url_)
            throw std::runtime_error(
                fmt::format("the market in {} is at home on {}: start it there, or another "
                            "one with --data FOLDER",
                            options_.folder, before));
    }

    // The server of a box that was killed goes on for a moment, and has the files until it is gone.
    // Whoever keeps them longer is somebody else's: berthd says who.
    void let_the_one_before_end() const {
        const auto until = std::chrono::steady_clock::now() + predecessor_max;
        while (are_files_held() && std::chrono::steady_clock::now() < until) pause_for(moment);
    }
    bool are_files_held() const {
        try {
            for (const char* name : {"play.db", "simulated-chain.db"})
                const db::FileLock free(at(name));
            return false;
        } catch (const db::Held&) {
            return true;
        }
    }

    void start_server() {
        Words words{program("berthd"), "serve"};
        for (const std::string& flag : own_flags()) words.push_back(flag);
        for (const auto& [flag, value] : usual_flags) {
            if (is_given(flag)) continue;
            words.emplace_back(flag);
            if (!value.empty()) words.emplace_back(value);
        }
        words.insert(words.end(), options_.server_flags.begin(), options_.server_flags.end());
        children_.emplace_back("berthd", words, at("berthd.log"));
        await([&] { return is_ready(); }, "berthd is not ready");
    }

    // On our own command line, which wins.
    bool is_given(std::string_view flag) const {
        const auto names = [&](const std::string& word) {
            return word == flag || word.starts_with(fmt::format("{}=", flag));
        };
        return std::ranges::any_of(options_.server_flags, names);
    }

    bool is_ready() {
        if (!fs::exists(at("simulated-clock")) || !fs::exists(at("simulated.sock"))) return false;
        if (!market_)
            market_ = std::make_unique<Market>(
                Market::Parts{url_, folder_, [this] { look_after_children(); }});
        try {
            market_->send("GET", "/readyz", "", "");
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }

    void fill() {
        fmt::print("Filling the market: accounts, play money, {} simulated hosts …\n",
                   options_.hosts);
        hosts_.assign(std::begin(plans), std::begin(plans) + options_.hosts);
        const Person renter = market_->find_or_register("renter");
        const Person host = market_->find_or_register("host");
        if (!fs::exists(at("admin.authenticator"))) make_admin();
        keep_profile("host", host.api_key);
        if (!keep_profile("default", renter.api_key)) keep_profile("renter", renter.api_key);
        prepare_containers();
        if (needs_gate()) start_gate();
        for (std::size_t i = 0; i < hosts_.size(); ++i) start_host(host, i);
        market_->fund(renter, first_balance_micro);
        for (std::size_t i = 0; i < hosts_.size(); ++i) offer(host, i);
        await([&] { return market_->count_offers() >= count_available(host); },
              "the catalog does not show the offers");
    }

    // The host with a shell comes with all the others, or not at all.
    void prepare_containers() {
        if (options_.hosts < std::size(plans)) return;
        why_no_shell_ = why_no_containers(folder_);
        if (!why_no_shell_.empty()) return;
        shell_image_ = std::make_unique<ShellImage>(at("registry"), options_.registry_port);
        children_.emplace_back("the registry", shell_image_->registry(), at("registry.log"));
        await([&] { return listens(options_.registry_port); }, "the registry is not there");
        shell_image_->make();
        hosts_.push_back(shell_plan);
    }

    static bool listens(int port) {
        return run_program({.arguments = {"bash", "-c",
                                          fmt::format("exec 3<>/dev/tcp/127.0.0.1/{}", port)}})
            .ok();
    }

    // Once: what became of the offer since, rented or taken back, is not ours to undo.
    void offer(const Person& host, std::size_t i) {
        if (fs::exists(host_folder(i) + "/offered")) return;
        const std::string machine = machine_of(i);
        const auto is = [&](const char* state) {
            return market_->machine_state(host, machine) == state;
        };
        await([&] { return !is("UNQUALIFIED"); }, "the test of a machine has not passed");
        if (is("UNLISTED"))
            market_->publish(host, machine,
                             {hosts_[i].rate_micro_per_hour, hosts_[i].interruptible});
        if (hosts_[i].in_containers) market_->take_custom_images(host, machine);
        await([&] { return !is("UNLISTED"); }, "a machine is not for rent");
        write_private(host_folder(i) + "/offered", "");
    }

    std::size_t count_available(const Person& host) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < hosts_.size(); ++i)
            if (market_->machine_state(host, machine_of(i)) == "AVAILABLE") ++count;
        return count;
    }

    // The secret's file comes last: with it the admin is whole.
    void make_admin() {
        const std::string email =
            fmt::format("admin-{}@box.example", to_hex(SystemRandom().bytes(4)));
        Words words{program("berthd"), "admin", "create", "--email", email};
        for (const std::string& flag : own_flags()) words.push_back(flag);
        run_to_end(words);
        const std::string secret =
            Admin({url_, folder_, email, [this] { look_after_children(); }}).enroll();
        write_private(at("admin.email"), email);
        write_private(at("admin.authenticator"), secret);
    }

    // The command line keeps a server and a key by name. False where somebody else's key has the
    // name by now: it stays.
    bool keep_profile(const std::string& name, const std::string& key) {
        const cli::Profiles profiles(name);
        const auto before = profiles.load();
        if (before && before->api_key == key) return true;
        if (before && (before->api_key || before->key_elsewhere || before->account)) {
            fmt::print("The profile {} is an account of its own by now, and stays as it is.\n",
                       name);
            return false;
        }
        if (name == "renter") fmt::print("The renter of the box is `berth --profile renter`.\n");
        cli::Profile profile = before.value_or(cli::Profile{});
        profile.server = url_;
        profile.api_key = key;
        profiles.save(profile);
        return true;
    }

    bool needs_gate() const {
        return std::any_of(hosts_.begin(), hosts_.end(),
                           [](const HostPlan& plan) { return plan.behind_gate; });
    }

    // Made and added once, as an operator would: what the one prints is what the other is told.
    void start_gate() {
        const std::string folder = at("gate");
        const std::string added = at("gate.added");
        if (!fs::exists(added)) {
            fs::remove_all(folder);  // what was made and not added is nobody's
            const std::string said =
                run_to_end({program("berth-gate"), "init", "--dir", folder, "--host", "127.0.0.1",
                            "--link-port", std::to_string(options_.gate_port), "--call-port",
                            std::to_string(options_.gate_port + 1), "--ports",
                            fmt::format("{}-{}", options_.gate_port + 3,
                                        options_.gate_port + gate_ports - 1)});
            Words words = words_of_line(said, "berthd gates add ");
            words.front() = program("berthd");
            for (const std::string& flag : own_flags()) words.push_back(flag);
            run_to_end(words);
            write_private(added, "");
        }
        children_.emplace_back(
            "the gate",
            Words{program("berth-gate"), "run", "--dir", folder, "--server", url_, "--listen",
                  "127.0.0.1", "--metrics", fmt::format("127.0.0.1:{}", options_.gate_port + 2),
                  "--clock-file", at("simulated-clock")},
            at("gate.log"));
        await([&] { return market_->is_gate_live(); }, "the gate is not heard");
    }

    static Words words_of_line(const std::string& text, const std::string& begin) {
        const std::size_t at = text.find(begin);
        if (at == text.npos) throw std::runtime_error("berth-gate init: " + text);
        std::istringstream line(text.substr(at, text.find('\n', at) - at));
        return Words(std::istream_iterator<std::string>(line), {});
    }

    std::string host_folder(std::size_t i) const { return at(fmt::format("hosts/{}", i + 1)); }
    std::string machine_of(std::size_t i) const {
        return read_private(host_folder(i) + "/machine");
    }

    void start_host(const Person& host, std::size_t i) {
        const HostPlan& plan = hosts_[i];
        const std::string state = host_folder(i);
        fs::create_directories(state);
        fs::permissions(state, fs::perms::owner_all);
        if (machine_of(i).empty()) {
            write_private(
                state + "/token",
                market_->make_enrollment(host, plan.in_containers ? "container" : "inference"));
            write_private(state + "/machine",
                          word_behind(run_to_end(enrolling(plan, i)), "enrolled as machine "));
        }
        Words words{program("berth-agent"), "run",          "--state",
                    state + "/state",       "--clock-file", at("simulated-clock")};
        // Said here, too: the host of an older box came in without it.
        if (plan.behind_gate) words.insert(words.end(), {"--gate", "always"});
        children_.emplace_back(fmt::format("host {} ({})", i + 1, plan.model), words,
                               state + "/agent.log");
    }

    Words enrolling(const HostPlan& plan, std::size_t i) const {
        const std::string state = host_folder(i);
        const int port = plan.in_containers
                             ? options_.registry_port + 1
                             : options_.first_port + ports_each * static_cast<int>(i);
        Words words{program("berth-agent"),
                    "enroll",
                    "--state",
                    state + "/state",
                    "--server",
                    url_,
                    "--token-file",
                    state + "/token",
                    "--runtime",
                    plan.in_containers ? "podman" : "process",
                    "--simulate-gpu",
                    plan.model,
                    "--mode",
                    plan.interruptible ? "idle" : "dedicated",
                    "--ports",
                    fmt::format("{}-{}", port, port + ports_each - 2)};
        const Words way =
            plan.behind_gate ? Words{"--gate", "always"} : Words{"--public-host", "127.0.0.1"};
        words.insert(words.end(), way.begin(), way.end());
        if (plan.in_containers)
            words.insert(words.end(), {"--allow-registry", shell_image_->allowed_registry()});
        return words;
    }

    static std::string word_behind(const std::string& said, std::string_view words) {
        const std::size_t at = said.find(words);
        if (at == said.npos) throw std::runtime_error("berth-agent enroll: " + said);
        const std::size_t begin = at + words.size();
        return said.substr(begin, said.find_first_of(" \n", begin) - begin);
    }

    void tell() const {
        std::string shown = fs::relative(folder_).string();
        if (shown.starts_with("..")) shown = folder_;
        fmt::print(
            "Berth is ready at {}, with play money on a simulated chain.\n"
            "  docs    {}/docs\n"
            "  data    {}   (remove it to start anew)\n"
            "  log     {}/berthd.log, {}/hosts/*/agent.log\n"
            "  stop    Ctrl-C\n\n"
            "In another shell:\n\n"
            "  export BERTH_HOME={} PATH={}:$PATH\n"
            "  berth demo             # a whole rental in half a minute\n"
            "  berth offers list\n"
            "  berth rentals create --offer $(berth offers list --limit 1 --output ids) \\\n"
            "      --template llama-cpp-qwen2-5-7b-instruct-q4-k-m --budget 1 --yes\n"
            "  berth rentals wait && berth rentals chat \"hello\"\n"
            "  berth rentals stop && berth rentals wait --for closed && berth rentals receipt\n"
            "  berth --profile host machines list      # the same as their host\n"
            "  berth gates list                        # by which the H100 is reached\n"
            "  berth --profile admin admin users list  # the same as the operator\n\n"
            "The admin signs in again, when the session has ended, with a code from the newest "
            "file "
            "in\n{}/mail; this, and every change, also takes a code of the authenticator:\n\n"
            "  berth --profile admin login --admin --email {}\n"
            "  berth authenticator code --secret-file {}/admin.authenticator\n",
            url_, url_, shown, shown, shown, at("home"), options_.bin, shown,
            read_private(at("admin.email")), shown);
        tell_of_shell();
        std::fflush(stdout);
    }

    void tell_of_shell() const {
        if (!why_no_shell_.empty())
            fmt::print("\nNo host with a shell to rent (`berth rentals ssh`): {}.\n",
                       why_no_shell_);
        if (!shell_image_) return;
        fmt::print(
            "\nThe {} runs containers, behind the gate: a shell for your SSH key, in an image of "
            "busybox:\n\n"
            "  berth rentals create --offer {} \\\n      --image {} \\\n      --budget 1 --yes\n"
            "  berth rentals wait && berth rentals ssh\n",
            shell_plan.model, market_->offer_of(shell_plan.model), shell_image_->name());
    }

    void look_after_children() {
        pause_for(moment);
        for (Child& child : children_)
            if (child.is_over())
                throw std::runtime_error(fmt::format("{} ended with status {}; its last words:\n{}",
                                                     child.name(), child.status(),
                                                     last_lines(child.log())));
    }
    void wait_for_trouble() {
        for (;;) look_after_children();
    }
    template <class Predicate>
    void await(const Predicate& predicate, const char* otherwise) {
        const auto until = std::chrono::steady_clock::now() + ready_max;
        while (!predicate()) {
            if (std::chrono::steady_clock::now() > until)
                throw std::runtime_error(fmt::format("{} after {} seconds; see {}", otherwise,
                                                     ready_max.count(), at("berthd.log")));
            look_after_children();
        }
    }

    static std::string last_lines(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        constexpr std::size_t shown = 1500;
        return text.size() > shown ? text.substr(text.size() - shown) : text;
    }

    // Hosts first: their last heartbeat finds a server.
    void end_all() {
        const auto until = std::chrono::steady_clock::now() + end_max;
        while (!children_.empty()) {
            Child& last = children_.back();
            last.ask_to_end();
            while (!last.is_over() && std::chrono::steady_clock::now() < until)
                ::usleep(std::chrono::microseconds(moment).count());
            children_.pop_back();
        }
        end_orphans();
        // Nobody else would, and the folder could not be removed.
        if (shell_image_) forget_rentals(host_folder(hosts_.size() - 1) + "/state");
    }

    Options options_;
    std::string folder_;
    std::string url_;
    std::unique_ptr<Market> market_;
    std::vector<HostPlan> hosts_;
    std::string why_no_shell_;
    std::unique_ptr<ShellImage> shell_image_;
    std::deque<Child> children_;  // the server is the first
};

Options read_options(int count, char** words) {
    Options options;
    options.bin = fs::read_symlink("/proc/self/exe").parent_path().string();
    for (int i = 1; i < count; ++i) {
        const std::string given = words[i];
        const std::size_t equals = given.find('=');
        const std::string word = given.substr(0, equals);
        const auto value = [&] {
            if (equals != given.npos) return given.substr(equals + 1);
            if (i + 1 == count) throw std::invalid_argument(word + ": needs a value");
            return std::string(words[++i]);
        };
        if (word == "--data")
            options.folder = value();
        else if (word == "--listen")
            options.listen = value();
        else if (word == "--port")
            options.listen = "127.0.0.1:" + value();
        else if (word == "--host-ports")
            options.first_port = std::stoi(value());
        else if (word == "--gate-ports")
            options.gate_port = std::stoi(value());
        else if (word == "--simulated" && equals == given.npos)
            continue;  // as it always is
        else if (is_the_boxes_own(word))
            throw std::invalid_argument(
                fmt::format("{} is what the box sets itself: --data FOLDER says where it keeps all "
                            "that it has, "
                            "and ./run --empty takes every flag of berthd",
                            word));
        else if (word == "--hosts")
            options.hosts = std::min<std::size_t>(std::stoul(value()), std::size(plans));
        else
            options.server_flags.push_back(given);
    }
    const int port = std::stoi(options.listen.substr(options.listen.rfind(':') + 1));
    if (options.first_port == 0)
        options.first_port = 42000 + port % 200 * ports_each * static_cast<int>(std::size(plans));
    if (options.gate_port == 0) options.gate_port = 20000 + port % 200 * gate_ports;
    options.registry_port = 24000 + port % 200 * ports_each;
    return options;
}

}  // namespace

int main(int count, char** words) {
    try {
        if (count == 2 && std::string_view(words[1]) == "--version") {
            fmt::print("{}\n", name_and_version("berth-box"));
            return 0;
        }
        hold_signals();
        adopt_orphans();
        return Box(read_options(count, words)).run();
    } catch (const std::exception& error) {
        fmt::print(stderr, "berth-box: {}\n", error.what());
        return 2;
    }
}
