// What a job's thread does in each state.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "host_agent/job/job.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using agent_protocol::ProgressStep;
using std::chrono::steady_clock;

constexpr Duration stop_grace = 10s;
constexpr Duration look_every = 2s;
constexpr Duration usage_every = 60s;
constexpr Duration progress_every = 30s;
constexpr Duration retry_after = 5s;

std::int64_t milliseconds_since(steady_clock::time_point from) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - from)
        .count();
}

// What the server asks of an endpoint before it believes READY; we ask it first.
std::string readiness_path(const agent_protocol::StartPayload& order, JobKind kind) {
    if (order.readiness_path.value) return *order.readiness_path.value;
    return kind == JobKind::model ? "/v1/models" : "/";
}

// What answers here and is reached from nowhere is not the engine's fault, nor the host's.
[[noreturn]] void throw_not_ready(bool answers, const std::string& trouble) {
    if (!answers) throw RuntimeError("PROBE_FAILED", "The engine did not answer in time.");
    throw RuntimeError("NO_GATE", trouble.empty() ? "No gate led to the host in time." : trouble);
}

}  // namespace

void Job::run() {
    for (;;) {
        HostJobState state{};
        {
            const std::lock_guard lock(mutex_);
            if (ends_ || state_ == HostJobState::forgotten) return;
            state = state_;
        }
        try {
            run_state(state);
        } catch (const RuntimeError& error) {
            fail(error.code(), error.what());
        } catch (const NotKnown& error) {
            // What may run well is not ended for that.
            log(Level::error, "job_not_seen", {{"job_id", to_string(id_)}, {"why", error.what()}});
            Lock lock(mutex_);
            sighting_.is_certain = false;
            pause(lock, retry_after);
        } catch (const std::exception& error) {
            log(Level::error, "job_trouble", {{"job_id", to_string(id_)}, {"why", error.what()}});
            fail("INTERNAL", fmt::format("The host made a mistake: {}", error.what()));
        }
    }
}

void Job::run_state(HostJobState state) {
    if (!order_ && (state == HostJobState::preparing || state == HostJobState::running))
        throw RuntimeError("INTERNAL", "The host does not understand what it was to run.");
    switch (state) {
        case HostJobState::preparing: return prepare();
        case HostJobState::running: return watch();
        case HostJobState::stopping: return stop_workload();
        case HostJobState::stopped: return wait_for_clean();
        case HostJobState::cleaning: return clean_up();
        case HostJobState::cleaned: return wait_until_forgotten();
        case HostJobState::forgotten: return;
    }
}

void Job::prepare() {
    bool is_started = false;
    {
        const std::lock_guard lock(mutex_);
        if (wants_stop()) {
            enter(HostJobEvent::stop_wanted);
            return save();
        }
        is_started = !record_.container_id.empty();
    }
    if (!is_started) return bring_up();
    // We were started anew in the middle. What runs is taken up; what does not is over: the server
    // may have heard READY of it.
    const auto running = context_.runtime.rejoin(workload_);
    if (!running) {
        const Look look = this->look();
        const Lock lock(mutex_);
        outbox_.drop("READY");
        return end(look, false);
    }
    open_doors();
    wait_until_ready(steady_clock::now(), 0);
}

void Job::bring_up() {
    const auto began = steady_clock::now();
    // What an agent before us may have left.
    if (origin_ == Origin::disk) context_.runtime.clean(workload_);
    // A driver that was loaded anew has forgotten it.
    if (const auto why = context_.limit_power()) throw RuntimeError("HOST_REJECTED", *why);
    const Patience patience{began + std::chrono::seconds(order_->start_deadline_s.value),
                            cancelled_};
    auto told_at = began - 1s;
    context_.runtime.prepare(workload_, patience, [&](const Progress& progress) {
        if (steady_clock::now() - told_at < 1s) return;
        told_at = steady_clock::now();
        const Lock lock(mutex_);
        tell_progress(ProgressStep::pull, progress);
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
        agent_protocol::StartedEvidence said;
        said.container_id.emplace(agent_protocol::Name{started.container_id});
        queue_fleeting("STARTED", wire::encode(said));
    }
    log(Level::info, "job_started",
        {{"job_id", to_string(id_)}, {"container_id", started.container_id}});
    open_doors();
    wait_until_ready(steady_clock::now(), pull_ms);
}

void Job::tell_progress(agent_protocol::ProgressStep step, const Progress& progress) {
    const auto bytes = [](const std::optional<std::int64_t>& count) {
        return count ? wire::Nullable<wire::Decimal>(wire::Decimal{*count})
                     : wire::Nullable<wire::Decimal>();
    };
    const agent_protocol::ProgressEvidence said{step, bytes(progress.done_bytes),
                                                bytes(progress.total_bytes)};
    queue_fleeting("PROGRESS", wire::encode(said));
}

// Also after a restart: with the ports and keys that READY announced.
void Job::open_doors() {
    const JobRecord before = record();
    Front* const front = context_.front_of(before);
    if (front != nullptr && !are_doors_open_) {
        are_doors_open_ = true;  // those that were opened are closed again, too
        std::vector<Announced> doors = before.doors;
        for (Announced& door : doors)
            door.tls_key_sha256 = front->open({.name = door.name,
                                               .port = door.port.value,
                                               .local_port = door.local_port.value,
                                               .key = workload_.secrets.at("BERTH_API_KEY"),
                                               .folder = workload_.folder,
                                               .is_by_gate = before.is_by_gate()});
        const Lock lock(mutex_);
        record_.doors = std::move(doors);
        save();
    }
    want_doors_of_gate();
}

void Job::close_doors() {
    if (!are_doors_open_) return;
    are_doors_open_ = false;
    const JobRecord now = record();
    for (const Announced& door : now.doors) context_.front_of(now)->close(door.port.value);
}

// ---- Where the world comes by a gate

void Job::want_doors_of_gate() {
    const JobRecord now = record();
    if (!now.is_by_gate()) return;
    std::vector<LocalDoor> doors;
    for (const Announced& door : now.doors)
        doors.push_back({door.name, agent_protocol::DoorKind::http, door.port.value});
    if (now.ssh_port.value != 0)
        doors.push_back({"ssh", agent_protocol::DoorKind::ssh, now.ssh_port.value});
    context_.gate.want(id_, doors);
}

// Once the workload has ended there is what it left, for who has a key.
void Job::want_way_to_files() {
    const JobRecord now = record();
    if (!now.is_by_gate()) return;
    if (now.ssh_port.value == 0 || now.container_id.empty() || now.is_clean_wanted)
        return context_.gate.give_back(id_);
    context_.gate.want(id_, {{"ssh", agent_protocol::DoorKind::ssh, now.ssh_port.value}});
}

// Where the world finds the job, its doors before its SSH; empty while no gate leads to it.
std::optional<std::vector<DoorPlace>> Job::places() const {
    const JobRecord now = record();
    if (now.doors.empty() && now.ssh_port.value == 0) return std::vector<DoorPlace>();
    if (now.is_by_gate()) return context_.gate.places(id_);
    std::vector<DoorPlace> places;
    for (const Announced& door : now.doors)
        places.push_back({context_.settings.public_host, door.port.value});
    if (now.ssh_port.value != 0)
        places.push_back({context_.settings.public_host, now.ssh_port.value});
    return places;
}

// Whether READY, which the server has not taken yet, names doors that are elsewhere by now.
bool Job::has_moved() const {
    // Who is told until when the money lasts has a meter that runs: it was taken, if not answered.
    const JobRecord known = record();
    if (!known.is_by_gate() || known.funded_through) return false;
    const auto now = places();
    const Lock lock(mutex_);
    const auto told = outbox_.body_of("READY");
    return now && told && places_told(*told) != *now;
}

// Until the engine answers; then READY is on its way and it is for the server to say yes.
void Job::wait_until_ready(steady_clock::time_point began, std::int64_t pull_ms) {
    const auto give_up = began + std::chrono::seconds(order_->start_deadline_s.value);
    const std::string path = readiness_path(*order_, workload_.kind);
    std::optional<std::int64_t> load_ms;
    auto told_at = began;
    Lock lock(mutex_);
    // A READY that was sent before a restart may be answered meanwhile: a second one would fit
    // nowhere and keep back all that follows it.
    while (!ends_ && state_ == HostJobState::preparing && !wants_stop()) {
        const std::vector<Announced> doors = record_.doors;
        const bool is_told = outbox_.has("READY");
        lock.unlock();
        const Look look = this->look();
        const bool listens = std::all_of(doors.begin(), doors.end(), [](const Announced& door) {
            return is_listening(door.local_port.value);
        });
        if (listens && !load_ms) load_ms = milliseconds_since(began);
        const bool answers =
            listens && std::all_of(doors.begin(), doors.end(), [&](const Announced& door) {
                return is_answering(context_.client,
                                    {door.local_port.value, path, order_->endpoint_api_key});
            });
        const auto places = this->places();
        lock.lock();
        if (state_ != HostJobState::preparing) return;
        if (look.status != Look::Status::running) return end(look, false);
        if ((answers && places) || is_told) {
            if (!is_told)
                queue("READY",
                      ready_evidence(record_, *places,
                                     {pull_ms, load_ms.value_or(0), milliseconds_since(began)}));
            lock.unlock();
            return wait_for_answer_of_ready();
        }
        if (steady_clock::now() >= give_up) throw_not_ready(answers, context_.gate.trouble());
        if (steady_clock::now() - told_at >= progress_every) {
            told_at = steady_clock::now();
            tell_progress(listens ? ProgressStep::probe : ProgressStep::load, {});
        }
        if (!pause(lock, 250ms)) return;
    }
}

// The phase changes in answered(). Meanwhile the workload may end, or be wanted to.
void Job::wait_for_answer_of_ready() {
    Lock lock(mutex_);
    while (!ends_ && state_ == HostJobState::preparing && !wants_stop()) {
        if (!pause(lock, look_every)) return;
        lock.unlock();
        const Look look = this->look();
        const bool is_elsewhere = has_moved();
        lock.lock();
        if (state_ != HostJobState::preparing) return;
        if (look.status != Look::Status::running) return end(look, false);
        if (!is_elsewhere) continue;
        outbox_.drop("READY");  // and said anew
        return save();
    }
}

void Job::watch() {
    {
        const Lock lock(mutex_);
        outbox_.drop("READY");  // that was said twice by an agent before
        if (wants_stop()) {
            enter(HostJobEvent::stop_wanted);
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
    start_probing();
    Duration told_at = context_.clock.since_boot();
    Lock lock(mutex_);
    while (!ends_ && !wants_stop()) {
        lock.unlock();
        const Look look = this->look();
        const bool has_egress_to_tell = note_egress(look);
        const bool is_due = context_.clock.since_boot() - told_at >= usage_every ||
                            has_engine_to_tell() || has_egress_to_tell;
        if (look.status == Look::Status::running && is_due) {
            told_at = context_.clock.since_boot();
            tell_usage();
        }
        lock.lock();
        if (look.status != Look::Status::running) return end(look, false);
        if (!pause(lock, look_every)) return;
    }
    if (ends_) return;
    enter(HostJobEvent::stop_wanted);
    save();
}

// Who has SSH could stop the engine and keep the machine: of those nothing is told.
void Job::start_probing() {
    if (prober_ || !order_->readiness_path.value || order_->ssh_public_key.value ||
        workload_.serves.empty())
        return;
    {
        const Lock lock(mutex_);
        engine_.status = EngineHealth::Status::up;
    }
    const auto changed = [this](bool is_down) {
        log(Level::warn, is_down ? "engine_down" : "engine_up", {{"job_id", to_string(id_)}});
        {
            const Lock lock(mutex_);
            engine_.status = is_down ? EngineHealth::Status::down : EngineHealth::Status::up;
        }
        tell_usage();
    };
    prober_.emplace(context_.client,
                    Probe{workload_.serves.front().local_port, *order_->readiness_path.value,
                          order_->endpoint_api_key},
                    changed);
}

// An engine went down, or came back, and the server has not heard it; nor is it on its way.
bool Job::has_engine_to_tell() const {
    const std::lock_guard lock(mutex_);
    return engine_.is_probed() && engine_.is_down() != engine_.is_down_known &&
           outbox_.lacks_engine(engine_.is_down(), steady_clock::now());
}

// In a file that the workload sees; the server hears it with the next USAGE.
bool Job::note_egress(const Look& look) {
    if (!look.egress_bytes || !workload_.limits.egress_bytes) return false;
    const std::int64_t included = *workload_.limits.egress_bytes;
    const EgressUse use = egress_use(*look.egress_bytes, included);
    if (use == std::exchange(egress_use_, use) || use == EgressUse::within) return false;
    log(Level::info, "egress_used",
        {{"job_id", to_string(id_)}, {"sent", *look.egress_bytes}, {"included", included}});
    const std::string path = workload_.folder + "/notice/egress.json";
    const EgressNotice notice{{*look.egress_bytes}, {included}, use == EgressUse::all};
    try {
        agent_protocol::write_durably(path, wire::encode(notice) + "\n");
        ::chmod(path.c_str(), 0644);
    } catch (const agent_protocol::StateLost& error) {
        log(Level::error, "notice_not_written",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
    return true;
}

void Job::tell_usage() {
    const Look look = context_.runtime.look(workload_);
    std::string tail = context_.runtime.log_tail(workload_, log_tail_bytes);
    const std::lock_guard lock(mutex_);
    if (state_ != HostJobState::running) return;
    agent_protocol::UsageEvidence said;
    said.runtime_ms.value = told_runtime_ms();
    said.container_id.value = record_.container_id;
    said.boot_id.value = record_.boot_id;
    if (engine_.is_probed())
        said.engine.emplace(engine_.is_down() ? agent_protocol::Engine::down
                                              : agent_protocol::Engine::up);
    said.log_tail.emplace(agent_protocol::LogTail{presentable(std::move(tail), secrets())});
    if (look.egress_bytes) said.egress_bytes.emplace(wire::Decimal{*look.egress_bytes});
    queue_fleeting("USAGE", wire::encode(said),
                   engine_.is_probed() ? std::optional(engine_.is_down()) : std::nullopt);
}

void Job::stop_workload() {
    {
        const Lock lock(mutex_);
        write_notice("stop", context_.now() + stop_grace);
        outbox_.drop("READY");
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

void Job::wait_for_clean() {
    close_doors();
    if (origin_ == Origin::disk && !record().is_clean_wanted) let_files_be_fetched();
    want_way_to_files();
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || record_.is_clean_wanted; });
    if (ends_) return;
    enter(HostJobEvent::clean_wanted);
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
    context_.gate.give_back(id_);
    Lock lock(mutex_);
    if (!outbox_.has("CLEANED")) {
        lock.unlock();
        const CleanedEvidence said = wipe();
        lock.lock();
        if (is_wiped(said)) enter(HostJobEvent::wiped);
        record_.is_clean_wanted = false;
        queue("CLEANED", wire::encode(said));
    }
    changed_.wait(lock, [this] { return ends_ || state_ != HostJobState::cleaning; });
}

CleanedEvidence Job::wipe() {
    CleanedEvidence said;
    std::string why;
    said.started_at.emplace(context_.now());
    try {
        context_.runtime.clean(workload_);
        said.volume_recreated = true;
    } catch (const std::exception& error) {
        why = presentable_sentence(error.what(), secrets());
        said.error.emplace(agent_protocol::HostText{why});
    }
    SystemRandom random;
    const std::uint64_t seed = random.below(~std::uint64_t{0});
    said.gpus.value = told_wipes(context_.gpus.wipe(seed));
    said.ended_at.emplace(context_.now());
    log(is_wiped(said) ? Level::info : Level::error, "job_cleaned",
        {{"job_id", to_string(id_)}, {"wiped", is_wiped(said)}, {"why", why}});
    return said;
}

void Job::wait_until_forgotten() {
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || state_ == HostJobState::forgotten; });
}

void Job::fail(const std::string& code, const std::string& why) {
    log(Level::warn, "job_failed", {{"job_id", to_string(id_)}, {"code", code}, {"why", why}});
    const std::string sentence = presentable_sentence(why, secrets());
    // Whatever came up of it goes down again; nothing is told before it has.
    std::optional<Look> stopped;
    try {
        end_workload();
        stopped = look();
    } catch (const std::exception& error) {
        log(Level::error, "job_not_stopped", {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
    Lock lock(mutex_);
    if (!stopped || phase_of(state_) == agent_protocol::JobPhase::cleaning) {
        pause(lock, retry_after);  // then tried again
        return;
    }
    outbox_.drop("READY");
    const bool was_ready = record_.ready_us.has_value();
    stop_counting(*stopped);
    enter(HostJobEvent::ended);
    // A stop that was asked for is no failure.
    if (wants_stop() && !was_ready)
        queue("STOPPED", end_evidence(record_, *stopped, end_details("", "")));
    else
        queue("EXITED", end_evidence(record_, *stopped, end_details(code, sentence)));
    if (was_ready) queue("STOPPED", end_evidence(record_, *stopped, end_details("", "")));
}

// It is over: by itself, or because we stopped it.
void Job::end(const Look& look, bool was_stopped) {
    const bool was_ready = record_.ready_us.has_value();
    stop_counting(look);
    enter(HostJobEvent::ended);
    if (!was_stopped) {
        const char* const code = was_ready            ? ""
                                 : look.out_of_memory ? "OUT_OF_MEMORY"
                                                      : "ENGINE_EXITED";
        queue("EXITED", end_evidence(record_, look, end_details(code, "")));
    }
    if (was_stopped || was_ready)
        queue("STOPPED", end_evidence(record_, look, end_details("", "")));
    log(Level::info, "job_ended",
        {{"job_id", to_string(id_)}, {"exit_code", look.exit_code.value_or(-1)}});
    context_.wake_heartbeat();
}

Look Job::look() {
    const Look look = context_.runtime.look(workload_);
    const bool runs = look.status == Look::Status::running;
    bool is_news = false;
    {
        const Lock lock(mutex_);
        is_news = runs && !sighting_.is_certain;
        if (runs) sighting_ = {true, context_.clock.since_boot()};
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

bool Job::pause(Lock& lock, Duration span) {
    const bool had_wish = wants_stop();
    changed_.wait_for(lock, span, [&] { return ends_ || (!had_wish && wants_stop()); });
    return !ends_;
}

}  // namespace berth::host_agent
