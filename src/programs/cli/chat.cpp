// A conversation with the model of a rental, through the relay.
#include <fmt/format.h>

#include <cstdio>

#include "base/json_text.hpp"
#include "base/problem.hpp"
#include "cli/notice.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

// Server-sent events, as they come: the text of each `data:` line with a piece of an answer. The
// model is a stranger's, who may send a line without an end.
class Pieces {
public:
    static constexpr std::size_t line_bytes_max = 1 << 20;

    // False when there is such a line.
    template <class Take>
    bool add(std::string_view bytes, const Take& take) {
        rest_ += bytes;
        for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
            std::string line = rest_.substr(0, end);
            rest_.erase(0, end + 1);
            if (line.ends_with('\r')) line.pop_back();
            if (!line.starts_with("data:")) continue;
            line.erase(0, line.starts_with("data: ") ? 6 : 5);
            if (line != "[DONE]") take(line);
        }
        if (rest_.size() <= line_bytes_max) return true;
        rest_.clear();
        return false;
    }

private:
    std::string rest_;
};

// Of an error within an answer, which has no status of its own: the relay's, or the engine's.
Exit exit_of_code(std::string_view name) {
    for (int i = 0; i < code_count; ++i)
        if (code_name(static_cast<Code>(i)) == name)
            return exit_of_status(code_status(static_cast<Code>(i)));
    return Exit::unexpected;
}

class Conversation {
public:
    Conversation(Context& context, std::string rental)
        : context_(context), base_("/api/v1/jobs/" + percent_encode(rental) + "/openai/v1/") {
        if (const auto system = context.arguments().find("system")) add("system", *system);
    }

    Request request(const std::string& text) {
        add("user", text);
        return {.method = "POST",
                .path = base_ + "chat/completions",
                .body = fmt::format("{{\"model\":{},\"stream\":true,\"messages\":[{}]}}",
                                    json_quoted(model()), messages_)};
    }

    void say(const std::string& text) {
        Request asked = request(text);
        std::string answer;
        std::optional<Failure> fault;
        Pieces pieces;
        const bool as_json = context_.output() == Output::json;
        asked.take = [&](std::string_view bytes) {
            const bool has_ends = pieces.add(bytes, [&](const std::string& event) {
                if (fault) return;
                const std::string piece = piece_of(event, fault);
                if (fault) return;
                answer += piece;
                context_.console().write_received(as_json ? event + "\n"
                                                          : printable(piece, "\n\t"));
                std::fflush(stdout);
            });
            if (!has_ends && !fault)
                fault.emplace(Exit::unexpected, "the model sends a line without an end");
        };
        asked.is_over = [&] { return fault.has_value(); };
        try {
            context_.api().send(asked);
        } catch (const Failure&) {
            if (!fault) throw;  // else it was given up for that
        }
        if (!as_json) context_.console().write("\n");
        context_.console().flush();
        if (fault) throw *fault;
        add("assistant", answer);
    }

private:
    void add(std::string_view role, std::string_view text) {
        messages_ += fmt::format("{}{{\"role\":\"{}\",\"content\":{}}}",
                                 messages_.empty() ? "" : ",", role, json_quoted(text));
    }

    std::string model() {
        if (!model_.empty()) return model_;
        model_ = context_.arguments().get("model");
        if (!model_.empty()) return model_;
        if (context_.is_rehearsal()) return "MODEL";
        const Reading models(context_.api().get(base_ + "models").body);
        const auto data = models.find("data");
        const auto all = data ? models.items(*data) : std::vector<Reading::Place>();
        if (all.empty()) throw Failure(Exit::conflict, "the rental serves no model");
        model_ = models.text("id", all[0]);
        return model_;
    }

    // Nothing may be thrown here: it is called from inside the HTTP client.
    static std::string piece_of(const std::string& event, std::optional<Failure>& fault) {
        try {
            const Reading json(event);
            if (const auto error = json.find("error")) {
                const std::string message = json.text("error.message");
                fault.emplace(exit_of_code(json.text("error.code")),
                              message.empty() ? json.text(*error) : message, event);
            }
            const auto choices = json.find("choices");
            const auto all = choices ? json.items(*choices) : std::vector<Reading::Place>();
            return all.empty() ? "" : json.text("delta.content", all[0]);
        } catch (const Failure& failure) {
            fault = failure;
            return "";
        }
    }

    Context& context_;
    std::string base_;
    std::string messages_;
    std::string model_;
};

}  // namespace

int chat(Context& context) {
    const auto& operands = context.arguments().operands;
    const bool names_rental = !operands.empty() && parse_uuid(operands[0]).has_value();
    if (!names_rental && operands.size() > 1)
        throw Failure(Exit::usage, "put what you want to say in quotes");
    const std::string rental = names_rental ? operands[0] : context.rental(2);
    Conversation conversation(context, rental);
    Notices notices(context, rental);
    const std::size_t text = names_rental ? 1 : 0;
    if (context.is_rehearsal()) {
        context.rehearse(conversation.request(text < operands.size() ? operands[text] : "…"));
        return 0;
    }
    if (text < operands.size()) {
        conversation.say(operands[text]);
        notices.look();
        return 0;
    }
    if (!context.console().can_ask()) {
        conversation.say(read_secret("-", "what to say"));
        return 0;
    }
    context.console().say("an empty line, or Ctrl-D, ends the conversation");
    const auto next_line = [&]() -> std::string {
        try {
            return context.console().ask("you");
        } catch (const Failure&) {  // Ctrl-D
            context.console().say("");
            return "";
        }
    };
    for (std::string line = next_line(); !line.empty(); line = next_line()) {
        conversation.say(line);
        notices.look();
    }
    return 0;
}

}  // namespace berth::cli
