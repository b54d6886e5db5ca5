#include "host_agent/job/job.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/log.hpp"
#include "host_agent/core/ports.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr Duration stop_grace = 10s;
constexpr Duration look_every = 2s;
constexpr Duration usage_every = 60s;
constexpr Duration progress_every = 30s;
constexpr Duration retry_after = 5s;
constexpr std::int64_t gib = 1024LL * 1024 * 1024;

std::int64_t milliseconds_since(steady_clock::time_point from) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - from)
        .count();
}

// What the server asks of an endpoint before it believes READY; we ask it first.
std::string readiness_path(const StartOrder& order, JobKind kind) {
    if (order.readiness_path.value) return *order.readiness_path.value;
    return kind == JobKind::model ? "/v1/models" : "/";
}

bool is_wiped(const CleanedSaid& said) {
    return said.volume_recreated &&
           std::all_of(said.gpus.begin(), said.gpus.end(), [](const gpu::Wipe& wipe) {
               return !wipe.error && wipe.verified_bytes.value >= wipe.wiped_bytes.value;
           });
}

}  // namespace

Time JobContext::now() const { return time.now().value_or(clock.wall()); }

// From a command nothing of it is left on disk when it throws: whoever is refused must not be
// started by the next agent. From the disk it never throws: a job that cannot be understood any
// more is told as such, and cleaned up.
Job::Job(JobContext& context, JobRecord record, Origin origin)
    : context_(context), id_(record.job_id), record_(std::move(record)), origin_(origin) {
    workload_.job = id_;
    workload_.folder = context_.state.job_folder(id_);
    if (origin_ == Origin::command)
        begin();
    else
        take_up();
    thread_ = std::thread([this] { run(); });
}

void Job::begin() {
    try {
        fill_workload();
        make_notice_folder();
        commit();
    } catch (const std::exception&) {
        drop_folder();
        throw;
    }
}

void Job::take_up() {
    is_seen_ = false;
    try {
        fill_workload();
    } catch (const std::exception& error) {
        log(Level::error, "job_not_understood",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
        is_understood_ = false;
    }
    try {
        make_notice_folder();
    } catch (const StateLost& error) {
        log(Level::error, "notice_not_written",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
}

Job::~Job() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        cancelled_ = true;
    }
    changed_.notify_all();
    thread_.join();
    prober_.reset();
}

void Job::run() {
    for (;;) {
        Phase phase{};
        {
            const std::lock_guard lock(mutex_);
            if (ends_ || is_forgotten_) return;
            phase = record_.phase;
        }
        try {
            if (!is_understood_ && (phase == Phase::preparing || phase == Phase::running))
                throw RuntimeError("INTERNAL", "The host does not understand what it was to run.");
            switch (phase) {
                case Phase::preparing: prepare(); break;
                case Phase::running: watch(); break;
                case Phase::stopping: stop_workload(); break;
                case Phase::stopped: wait_for_clean(); break;
                case Phase::cleaning: clean_up(); break;
            }
        } catch (const RuntimeError& error) {
            fail(error.code(), error.what());
        } catch (const NotKnown& error) {
            // What may run well is not ended for that.
            log(Level::error, "job_not_seen", {{"job_id", to_string(id_)}, {"why", error.what()}});
            Lock lock(mutex_);
            is_seen_ = false;
            pause(lock, retry_after);
        } catch (const std::exception& error) {
            log(Level::error, "job_trouble", {{"job_id", to_string(id_)}, {"why", error.what()}});
            fail("INTERNAL", "The host made a mistake.");
        }
    }
}

void Job::prepare() {
    StartOrder order;
    bool is_started = false;
    {
        const std::lock_guard lock(mutex_);
        if (wants_stop()) {
            record_.phase = Phase::stopping;
            return save();
        }
        order = wire::decode_known<StartOrder>(record_.start.text, "start");
        is_started = !record_.container_id.empty();
    }
    if (!is_started) return bring_up(order);
    // We were started anew in the middle. What runs is taken up; what does not is over: the server
    // may have heard READY of it.
    const auto running = context_.runtime.rejoin(workload_);
    if (!running) {
        const Look look = this->look();
        const Lock lock(mutex_);
        drop_unsent("READY");
        return end(look, false);
    }
    open_doors();
    wait_until_ready(order, steady_clock::now(), 0);
}

void Job::bring_up(const StartOrder& order) {
    const auto began = steady_clock::now();
    // What an agent before us may have left.
    if (origin_ == Origin::disk) context_.runtime.clean(workload_);
    const Patience patience{began + std::chrono::seconds(order.start_deadline_s.value), cancelled_};
    auto told_at = began - 1s;
    context_.runtime.prepare(workload_, patience, [&](const Progress& progress) {
        if (steady_clock::now() - told_at < 1s) return;
        told_at = steady_clock::now();
        const auto bytes = [](const std::optional<std::int64_t>& count) {
            return count ? wire::Nullable<wire::Decimal>(wire::Decimal{*count}) : std::nullopt;
        };
        const Lock lock(mutex_);
        queue_fleeting("PROGRESS", wire::encode(ProgressSaid{"pull", bytes(progress.done_bytes),
                                                             bytes(progress.total_bytes)}));
    });
    const std::int64_t pull_ms = milliseconds_since(began);
    {
        const Lock lock(mutex_);
        if (wants_stop() || ends_) return;
    }
    const Started started = context_.runtime.start(workload_);
    {
        const Lock lock(mutex_);
        record_.container_id = started.container_id;
        record_.boot_id = context_.clock.boot_id();
        record_.ssh_host_key_fingerprint = started.ssh_host_key_fingerprint;
        save();
        queue_fleeting("STARTED", fmt::format(R"({{"container_id":"{}"}})", started.container_id));
    }
    log(Level::info, "job_started",
        {{"job_id", to_string(id_)}, {"container_id", started.container_id}});
    open_doors();
    wait_until_ready(order, steady_clock::now(), pull_ms);
}

// Also after a restart: with the ports and keys that READY announced.
void Job::open_doors() {
    if (context_.front == nullptr || are_doors_open_) return;
    are_doors_open_ = true;
    Lock lock(mutex_);
    std::vector<Announced> doors = record_.doors;
    lock.unlock();
    for (Announced& door : doors)
        door.tls_key_sha256 = context_.front->open({.name = door.name,
                                                    .port = door.port.value,
                                                    .local_port = door.local_port.value,
                                                    .key = workload_.secrets.at("BERTH_API_KEY"),
                                                    .folder = workload_.folder});
    lock.lock();
    record_.doors = std::move(doors);
    save();
}

// Until the engine answers; then READY is on its way and it is for the server to say yes.
bool Job::wait_until_ready(const StartOrder& order, steady_clock::time_point began,
                           std::int64_t pull_ms) {
    const auto give_up = began + std::chrono::seconds(order.start_deadline_s.value);
    std::optional<std::int64_t> load_ms;
    auto told_at = began;
    Lock lock(mutex_);
    while (!ends_ && !wants_stop()) {
        const std::vector<Announced> doors = record_.doors;
        const bool is_told = std::any_of(record_.unsent.begin(), record_.unsent.end(),
                                         [](const Unsent& event) { return event.kind == "READY"; });
        lock.unlock();
        const Look look = this->look();
        const bool listens = std::all_of(doors.begin(), doors.end(), [](const Announced& door) {
            return is_listening(door.local_port.value);
        });
        if (listens && !load_ms) load_ms = milliseconds_since(began);
        const bool answers =
            listens && std::all_of(doors.begin(), doors.end(), [&](const Announced& door) {
                return is_answering(context_.client,
                                    {door.local_port.value, readiness_path(order, workload_.kind),
                                     order.endpoint_api_key});
            });
        lock.lock();
        if (look.status != Look::Status::running) {
            end(look, false);
            return false;
        }
        if (answers || is_told) {
            if (!is_told) tell_ready(pull_ms, load_ms.value_or(0), milliseconds_since(began));
            lock.unlock();
            wait_for_answer_of_ready();
            return true;
        }
        if (steady_clock::now() >= give_up)
            throw RuntimeError("PROBE_FAILED", "The engine did not answer in time.");
        if (steady_clock::now() - told_at >= progress_every) {
            told_at = steady_clock::now();
            queue_fleeting("PROGRESS", wire::encode(ProgressSaid{listens ? "probe" : "load",
                                                                 std::nullopt, std::nullopt}));
        }
        if (!pause(lock, 250ms)) return false;
    }
    return false;
}

// The phase changes in answered(). Meanwhile the workload may end, or be wanted to.
void Job::wait_for_answer_of_ready() {
    Lock lock(mutex_);
    while (!ends_ && record_.phase == Phase::preparing && !wants_stop()) {
        if (!pause(lock, look_every)) return;
        lock.unlock();
        const Look look = this->look();
        lock.lock();
        if (look.status != Look::Status::running && record_.phase == Phase::preparing)
            return end(look, false);
    }
}

void Job::watch() {
    const auto order = wire::decode_known<StartOrder>(record().start.text, "start");
    {
        const Lock lock(mutex_);
        if (wants_stop()) {
            record_.phase = Phase::stopping;
            return save();
        }
    }
    {
        const auto running = context_.runtime.rejoin(workload_);
        const std::string boot = context_.clock.boot_id();
        const Look look = running ? Look{} : this->look();
        const Lock lock(mutex_);
        // After a reboot, or when it was started anew by somebody else, ours is over.
        if (!running || running->container_id != record_.container_id || boot != record_.boot_id)
            return end(look, false);
    }
    open_doors();
    start_probing(order);
    Duration told_at = context_.clock.since_boot();
    Lock lock(mutex_);
    while (!ends_ && !wants_stop()) {
        lock.unlock();
        const Look look = this->look();
        const bool is_due =
            context_.clock.since_boot() - told_at >= usage_every || has_engine_to_tell();
        if (look.status == Look::Status::running && is_due) {
            told_at = context_.clock.since_boot();
            tell_usage();
        }
        lock.lock();
        if (look.status != Look::Status::running) return end(look, false);
        if (!pause(lock, look_every)) return;
    }
    if (ends_) return;
    record_.phase = Phase::stopping;
    save();
}

// Who has SSH could stop the engine and keep the machine: of those nothing is told.
void Job::start_probing(const StartOrder& order) {
    if (prober_ || !order.readiness_path.value || order.ssh_public_key.value ||
        workload_.serves.empty())
        return;
    {
        const Lock lock(mutex_);
        is_probed_ = true;
    }
    const auto changed = [this](bool is_down) {
        log(Level::warn, is_down ? "engine_down" : "engine_up", {{"job_id", to_string(id_)}});
        {
            const Lock lock(mutex_);
            is_engine_down_ = is_down;
        }
        tell_usage();
    };
    prober_.emplace(context_.client,
                    Probe{workload_.serves.front().local_port, *order.readiness_path.value,
                          order.endpoint_api_key},
                    changed);
}

void Job::stop_workload() {
    {
        const Lock lock(mutex_);
        write_notice("stop", context_.now() + stop_grace);
        drop_unsent("READY");
        save();
    }
    log(Level::info, "job_stopping",
        {{"job_id", to_string(id_)}, {"reason", record().stop_reason.value_or("clean")}});
    end_workload();
    const Look look = this->look();
    prober_.reset();
    close_doors();
    const Lock lock(mutex_);
    end(look, true);
}

void Job::close_doors() {
    if (!are_doors_open_) return;
    are_doors_open_ = false;
    for (const Announced& door : record().doors) context_.front->close(door.port.value);
}

void Job::wait_for_clean() {
    close_doors();
    if (origin_ == Origin::disk && !record().is_clean_wanted) let_files_be_fetched();
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || record_.is_clean_wanted; });
    if (ends_) return;
    record_.phase = Phase::cleaning;
    save();
}

// An agent before us did.
void Job::let_files_be_fetched() {
    try {
        context_.runtime.rejoin(workload_);
    } catch (const std::exception& error) {
        log(Level::warn, "files_not_open", {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
}

// A wipe that cannot be shown is told as such: the server puts the machine aside, and asks again.
void Job::clean_up() {
    prober_.reset();
    Lock lock(mutex_);
    const auto told = std::find_if(record_.unsent.begin(), record_.unsent.end(),
                                   [](const Unsent& event) { return event.kind == "CLEANED"; });
    if (told != record_.unsent.end()) {
        const auto event = wire::decode<agent_protocol::JobEvent>(told->body, "event");
        is_wiped_ = is_wiped(wire::decode<CleanedSaid>(event.evidence.text, "evidence"));
    } else {
        lock.unlock();
        const CleanedSaid said = wipe();
        lock.lock();
        is_wiped_ = is_wiped(said);
        record_.is_clean_wanted = false;
        queue("CLEANED", wire::encode(said));
    }
    changed_.wait(lock,
                  [this] { return ends_ || is_forgotten_ || record_.phase != Phase::cleaning; });
}

CleanedSaid Job::wipe() {
    CleanedSaid said;
    said.started_at = context_.now();
    try {
        context_.runtime.clean(workload_);
        said.volume_recreated = true;
    } catch (const std::exception& error) {
        said.error = brief(error.what());
    }
    SystemRandom random;
    const std::uint64_t seed = random.below(~std::uint64_t{0});
    said.gpus = context_.gpus.wipe(seed);
    said.ended_at = context_.now();
    log(is_wiped(said) ? Level::info : Level::error, "job_cleaned",
        {{"job_id", to_string(id_)}, {"wiped", is_wiped(said)}});
    return said;
}

void Job::fail(const std::string& code, const std::string& sentence) {
    log(Level::warn, "job_failed", {{"job_id", to_string(id_)}, {"code", code}, {"why", sentence}});
    // Whatever came up of it goes down again; nothing is told before it has.
    std::optional<Look> stopped;
    try {
        end_workload();
        stopped = look();
    } catch (const std::exception& error) {
        log(Level::error, "job_not_stopped", {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
    Lock lock(mutex_);
    if (!stopped || record_.phase == Phase::cleaning) {
        pause(lock, retry_after);  // then tried again
        return;
    }
    const Look& look = *stopped;
    drop_unsent("READY");
    const bool was_ready = record_.ready_us.has_value();
    stop_counting(look);
    record_.phase = Phase::stopped;
    // A stop that was asked for is no failure.
    if (wants_stop() && !was_ready)
        queue("STOPPED", end_evidence(look, "", ""));
    else
        queue("EXITED", end_evidence(look, code, sentence));
    if (was_ready) queue("STOPPED", end_evidence(look, "", ""));
}

Look Job::look() {
    const Look look = context_.runtime.look(workload_);
    const bool runs = look.status == Look::Status::running;
    bool is_news = false;
    {
        const Lock lock(mutex_);
        is_news = runs && !is_seen_;
        if (runs) seen_running_ = context_.clock.since_boot();
        if (runs) is_seen_ = true;
    }
    if (is_news) context_.wake_heartbeat();
    return look;
}

void Job::end_workload() {
    try {
        look();  // until here it is paid for, should nobody tell when it ended
    } catch (const std::exception& error) {
        log(Level::warn, "job_not_seen", {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
    context_.runtime.stop(workload_, stop_grace);
}

// An agent that was away must not count until it came back.
void Job::stop_counting(const Look& look) {
    if (record_.runtime_ms || !record_.ready_us) return;
    std::optional<Duration> ran_until = seen_running_;
    if (look.ended_ago) ran_until = context_.clock.since_boot() - *look.ended_ago;
    record_.runtime_ms = wire::Count{runtime_ms_until(record_, context_.clock, ran_until)};
}

// It is over: by itself, or because we stopped it.
void Job::end(const Look& look, bool was_stopped) {
    const bool was_ready = record_.ready_us.has_value();
    stop_counting(look);
    record_.phase = Phase::stopped;
    if (!was_stopped) {
        const bool oom = look.out_of_memory;
        queue("EXITED", end_evidence(look,
                                     was_ready ? ""
                                     : oom     ? "OUT_OF_MEMORY"
                                               : "ENGINE_EXITED",
                                     ""));
    }
    if (was_stopped || was_ready) queue("STOPPED", end_evidence(look, "", ""));
    log(Level::info, "job_ended",
        {{"job_id", to_string(id_)}, {"exit_code", look.exit_code.value_or(-1)}});
    context_.wake_heartbeat();
}

bool Job::pause(Lock& lock, Duration span) {
    const bool had_wish = wants_stop();
    changed_.wait_for(lock, span, [&] { return ends_ || (!had_wish && wants_stop()); });
    return !ends_;
}

void Job::make_notice_folder() const {
    const std::string notice = workload_.folder + "/notice";
    std::error_code failed;
    context_.state.make_job_folder(id_);
    std::filesystem::create_directories(notice, failed);
    if (failed) throw StateLost(fmt::format("{}: {}", notice, failed.message()));
    ::chmod(notice.c_str(), 0755);
}

// Of one that was to be cleaned up it may hold what is still to be removed.
void Job::drop_folder() const {
    if (record_.start.text == "{}") return;
    try {
        context_.state.forget(id_);
    } catch (const std::exception& error) {
        log(Level::error, "state_not_written", {{"why", error.what()}});
    }
}

void Job::fill_workload() {
    if (record_.start.text == "{}") return;
    Workload& workload = workload_;
    const auto order = wire::decode_known<StartOrder>(record_.start.text, "start");
    workload.kind = JobKind::custom;
    workload.image = order.image_digest;
    workload.environment = order.env;
    // Engines have names of their own for the key that they are to ask for.
    for (const char* name : {"BERTH_API_KEY", "VLLM_API_KEY", "LLAMA_API_KEY"})
        workload.secrets[name] = order.endpoint_api_key;
    if (order.hub_token.value)
        for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
            workload.secrets[name] = *order.hub_token.value;
    workload.ssh_public_key = order.ssh_public_key.value;
    workload.ssh_port = record_.ssh_port.value;
    for (const Announced& door : record_.doors)
        for (const Exposed& exposed : order.exposes)
            if (exposed.name == door.name)
                workload.serves.push_back({door.name, exposed.port.value, door.local_port.value});
    workload.limits.memory_bytes = ram_bytes().value_or(8 * gib) * 9 / 10;
    workload.limits.cpus = cpu_cores();
    workload.limits.work_bytes = order.included_disk_gib.value * gib;
    workload.limits.egress_bytes = order.included_egress_gib.value * gib;
    // What is simulated cannot be handed on.
    if (context_.settings.simulate_gpu.empty()) workload.gpus = context_.gpu_names();
    if (!order.template_.value) return;
    const auto form = wire::decode_known<StartTemplate>(order.template_.value->text, "template");
    workload.kind = form.kind;
    workload.engine = form.engine;
}

}  // namespace berth::host_agent
