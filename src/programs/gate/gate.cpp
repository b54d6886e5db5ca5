#include "gate/gate.hpp"

#include "base/log.hpp"

namespace berth::gate {
namespace {

constexpr std::size_t connections_max = 60'000;
constexpr std::size_t connections_of_address_max = 4'000;  // whole providers share addresses
constexpr Duration unacknowledged_max = std::chrono::seconds(15);
constexpr std::size_t request_bytes_max = std::size_t{64} * 1024 * 1024;

std::vector<std::unique_ptr<http::LoopThread>> make_threads(std::size_t count) {
    std::vector<std::unique_ptr<http::LoopThread>> threads;
    for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i)
        threads.push_back(std::make_unique<http::LoopThread>());
    return threads;
}

std::vector<std::shared_ptr<http::Loop>> loops_of(
    const std::vector<std::unique_ptr<http::LoopThread>>& threads) {
    std::vector<std::shared_ptr<http::Loop>> loops;
    for (const auto& thread : threads) loops.push_back(thread->loop());
    return loops;
}

}  // namespace

// For the operator's collector only.
struct Gate::MetricsPage final : http::Handler {
    explicit MetricsPage(Gate& gate_) : gate(gate_) {}

    std::size_t body_bytes_max(const http::Request&) override { return 0; }
    void handle(http::Request request, http::Reply reply) override {
        if (request.method != "GET" || request.path() != "/metrics") {
            http::Response response;
            response.status = 404;
            return reply(std::move(response));
        }
        gate.board_->loop()->post([this, reply] {
            http::Response response;
            response.content_type = "text/plain; version=0.0.4";
            response.body = gate.tally_.prometheus_text(gate.board_->present());
            reply(std::move(response));
        });
    }

    Gate& gate;
};

Gate::Gate(GateOptions options, const Clock& clock, Random& random, http::Client& client)
    : options_(std::move(options)),
      folder_(options_.folder),
      identity_(folder_.identity()),
      clock_(clock, options_.clock_off),
      tickets_(folder_, identity_, clock_, options_.board.limits),
      stream_threads_(make_threads(options_.io_threads)),
      board_(std::make_shared<Board>(board_thread_.loop(), loops_of(stream_threads_), clock_,
                                     random, tally_, options_.board)),
      siblings_(folder_.path(),
                [this](const CallId& call) {
                    std::shared_ptr<Answered> answered;
                    board_->run([&] { answered = board_->answer(call); });
                    return answered;
                }),
      hall_({board_, tickets_, siblings_, tally_, stream_threads_.front()->loop()}),
      link_entrance_(hall_, true),
      call_entrance_(hall_, false),
      metrics_page_(std::make_unique<MetricsPage>(*this)),
      reporter_(options_.reporter, identity_, client, clock_, random, tally_,
                {.fill =
                     [this](agent_protocol::GateReport& report) {
                         board_->run([&] {
                             report.doors.value = board_->report();
                             report.draining = board_->present().draining;
                         });
                     },
                 .follow =
                     [this](const agent_protocol::GateOrders& orders, const Reporter::Rows& rows) {
                         tickets_.take_keys(orders.keys);
                         if (orders.drain) drain();
                         board_->run([&] { board_->follow(orders, rows); });
                     }}) {
    folder_.make_tls();
    links_ = std::make_unique<http::Server>(server_options(true), link_entrance_);
    calls_ = std::make_unique<http::Server>(server_options(false), call_entrance_);
    if (options_.metrics_address.empty()) return;
    http::ServerOptions page;
    page.address = options_.metrics_address;
    page.port = options_.metrics_port;
    page.reuse_port = true;
    metrics_ = std::make_unique<http::Server>(page, *metrics_page_);
}

Gate::~Gate() { stop(); }

http::ServerOptions Gate::server_options(bool links) const {
    http::ServerOptions made;
    made.address = options_.board.address;
    made.port =
        static_cast<std::uint16_t>(links ? identity_.link_port.value : identity_.call_port.value);
    made.reuse_port = true;
    made.io_threads = std::max<std::size_t>(options_.io_threads, 1);
    made.connections_max = connections_max;
    made.connections_per_address_max = connections_of_address_max;
    made.request_bytes = std::make_shared<http::ByteBudget>(request_bytes_max);
    made.write_max = unacknowledged_max;
    made.drain_max = Duration(0);
    if (!links) return made;
    made.tls_certificate_file = folder_.certificate_file();
    made.tls_key_file = folder_.tls_key_file();
    made.tls_resumption = false;
    made.unacknowledged_max = unacknowledged_max;
    return made;
}

void Gate::start() {
    board_->start();
    links_->start();
    calls_->start();
    if (metrics_) metrics_->start();
    reporter_.start();
    log(Level::info, "gate_started",
        {{"gate_id", to_string(identity_.gate_id)},
         {"link_port", identity_.link_port.value},
         {"call_port", identity_.call_port.value}});
}

// New links and calls reach the newer process, if there is one, from here on. Calls that it does
// not know it passes on to this one.
void Gate::drain() {
    links_->stop_listening();
    calls_->stop_listening();
    if (metrics_) metrics_->stop_listening();
    board_->run([this] { board_->drain(); });
}

bool Gate::is_drained() {
    bool drained = false;
    board_->run([&] { drained = board_->is_drained(); });
    return drained && hall_.passed_on() == 0;
}

Present Gate::present() {
    Present now;
    board_->run([&] { now = board_->present(); });
    return now;
}

void Gate::stop() {
    if (std::exchange(stopped_, true)) return;
    reporter_.stop();
    links_->stop();
    calls_->stop();
    if (metrics_) metrics_->stop();
    board_->close();
}

}  // namespace berth::gate
