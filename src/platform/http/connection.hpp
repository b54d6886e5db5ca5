// One connection as a state machine: told that its socket is ready or that an answer has come, it
// goes on as far as it can and says what it waits for next. It knows no event loop.
//
// While it only waits it owns no buffer: input is read into memory that all connections share, and
// only an unfinished request is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/address.hpp"
#include "http/admission.hpp"
#include "http/answer_queue.hpp"
#include "http/hand_over.hpp"
#include "http/message.hpp"
#include "http/parse.hpp"
#include "http/server.hpp"
#include "http/source.hpp"
#include "http/stream.hpp"

namespace berth::http {

// What all connections of a server share, on its I/O thread.
struct Surroundings {
    static constexpr std::size_t scratch_bytes = 64 * 1024;

    const ServerOptions& options;
    Handler& handler;
    Admission& admission;
    std::shared_ptr<AnswerQueue> answers;
    Upstream& upstream;
    std::shared_ptr<Loop> loop;
    // Calls on_changed() of the connection, soon.
    std::function<void(const Token&)> changed;
    AddressBlocks trusted_proxies;
    std::string date_line;
    std::vector<char> scratch = std::vector<char>(scratch_bytes);
    bool draining = false;  // no request after the one in progress
};

enum class Wants { input, room, answer, end, hand_over };
enum class Readiness { input, room };

class Connection {
public:
    using Clock = std::chrono::steady_clock;

    Connection(Surroundings& around, Stream stream, const Address& peer, Token token);
    ~Connection();

    Wants on_ready(Readiness what);
    Wants on_changed();  // a streamed answer went on outside of a call to this
    Wants on_answer(std::uint32_t request, Response response);
    Wants on_drain();  // ends at once when no request is in progress
    Clock::time_point deadline() const { return deadline_; }
    bool is_writing() const { return !output_.empty(); }
    // Input is looked at while an answer is made or streams: its end means that nobody may listen.
    bool is_watching() const;
    // Since when it only waits for a request; nothing while there is one.
    std::optional<Clock::time_point> idle_since() const;
    const Address& peer() const { return peer_; }

    // After Wants::hand_over: what the next owner of the socket gets, once. This is done for then.
    struct GivenAway {
        Stream stream;
        std::string ahead;
        std::function<void(HandedOver&)> to;
    };
    GivenAway give_away();

private:
    enum class Phase : std::uint8_t {
        head,
        body,
        handling,
        streaming,
        last_answer,
        handing_over,
        lingering,
        closed
    };
    enum class Stage : std::uint8_t { head, body, handling, writing, idle, lingering };
    struct Incoming;
    struct Streamed;

    // What is still to be sent: `text`, then the body, which is not copied into it.
    struct Output {
        std::string text;
        std::string body;
        std::shared_ptr<const std::string> shared_body;
        std::size_t sent = 0;

        std::string_view body_view() const { return shared_body ? *shared_body : body; }
        bool empty() const { return text.empty() && body_view().empty(); }
        std::size_t left() const { return text.size() + body_view().size() - sent; }
        std::string& growing_text();  // without what is sent already
        bool takes_more() const;
        void clear();
    };

    Wants read_input();
    Wants linger();
    void watch();
    void keep_ahead(std::string_view fresh);
    bool is_switched() const;
    void give_input(std::string_view fresh);
    void resume_input();
    void watch_for_the_end();
    Wants settle();
    void proceed_with(std::string_view fresh);
    void proceed_with_kept();
    void proceed(std::string_view& bytes);
    bool take_head(std::string_view& bytes);
    bool take_body(std::string_view& bytes);
    void begin_body(Request request, const Framing& framing, std::string_view& bytes);
    void ask_for_the_body();
    void keep_pace(std::size_t bytes);
    void refuse_without_room(ByteBudget::Taken taken);
    void go_on();
    bool refuse(int status);
    bool make_room(std::size_t input_bytes);
    void dispatch(Request request, bool unread_body = false);
    void put_answer(Response response);
    void begin_hand_over(Response response);
    void answer_unsound(int status);
    void start_stream(Response response);
    void begin_stream(Response head);
    bool write_stream(std::string_view bytes);
    enum class TellSource { nothing, gone };
    void finish_stream(Phase next, TellSource told = TellSource::nothing);
    void let_go();
    void tell_room();
    void stream_changed();
    bool flush();
    void end();
    Stage stage() const;
    void renew_deadline();

    Surroundings& around_;
    Stream stream_;
    Address peer_;
    std::string peer_text_;
    std::string counted_as_;  // whose share of the memory the request in progress uses
    Token token_;
    Clock::time_point deadline_;
    Clock::time_point staged_at_ = Clock::now();
    std::shared_ptr<const void> presence_;  // of the client, for handlers that take long

    std::string input_;  // of an unfinished request
    ByteShare input_share_;
    HeadScanner scanner_;
    std::unique_ptr<Incoming> incoming_;  // the request whose body is being read
    std::unique_ptr<Streamed> streamed_;  // the answer that is being streamed
    std::unique_ptr<std::function<void(HandedOver&)>> hand_over_;
    std::unique_ptr<Streamed> over_;  // the one before, for as long as its source may be at it
    Output output_;
    std::size_t dropped_bytes_ = 0;

    std::uint32_t staged_request_ = 0;
    Stage stage_ = Stage::head;
    Phase phase_ = Phase::head;
    Wants wants_ = Wants::input;

    // Of the request in progress.
    bool keep_alive_ = true;
    bool version_1_0_ = false;
    bool head_request_ = false;
    bool unread_body_ = false;
    bool in_call_ = false;       // settle() follows, and will send what is written now
    bool turn_is_over_ = false;  // on_changed() will go on with the input that is kept
};

}  // namespace berth::http
