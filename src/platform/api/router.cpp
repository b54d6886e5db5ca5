#include "api/router.hpp"

#include "api/csv.hpp"
#include "api/target.hpp"

#include "base/check.hpp"

namespace berth::api {

// One segment of the path tree. Literal segments are tried before the parameter.
struct Router::Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> parameter;
    std::map<std::string, const Entry*, std::less<>> methods;
};

namespace {

// The first one, which is taken off the path.
std::string_view take_segment(std::string_view& path) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    return segment;
}

bool is_parameter(std::string_view segment) { return segment.starts_with('{'); }

}  // namespace

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;

void Router::insert(Entry entry) {
    check(entry.route.path.starts_with('/'), "a route's path starts with a slash");
    check(!entry.route.name.empty() && !entry.route.summary.empty(),
          "a route has name and summary");
    check(!entry.route.idempotent || entry.route.work == Work::write,
          "only a route that writes takes an Idempotency-Key");
    check(!entry.streamed || !entry.route.idempotent, "a streamed answer cannot be repeated");
    const bool has_table = entry.result != nullptr && row_type(*entry.result, entry.route.csv);
    check(entry.route.csv.empty() || (has_table && !entry.route.writes()),
          "a table is a list of rows in the answer of a route that reads");
    check((entry.streamed || entry.file) == !entry.route.media.empty(),
          "what is no described type names its media types");
    const bool open = entry.route.access == Access::anyone;
    check(!open || !entry.route.idempotent,
          "a route for anyone has no account to keep an Idempotency-Key for");
    check(open || entry.route.work != Work::memory,
          "a route that asks who calls may have to read the database");
    check(!open || entry.route.work != Work::remembered, "who is remembered was asked for");
    check(entry.route.step_up == StepUp::none || entry.route.work != Work::remembered,
          "a step-up is never remembered");
    check(!open || !entry.route.rate || entry.route.rate->by == RateRule::By::address,
          "a route for anyone is limited by address");
    Node* node = root_.get();
    for (std::string_view path = entry.route.path; !path.empty();) {
        const std::string_view segment = take_segment(path);
        if (is_parameter(segment))
            entry.parameters.emplace_back(segment.substr(1, segment.size() - 2));
        auto& next = is_parameter(segment) ? node->parameter : node->literals[std::string(segment)];
        if (!next) next = std::make_unique<Node>();
        node = next.get();
    }
    entries_.push_back(std::make_unique<Entry>(std::move(entry)));
    const Entry* kept = entries_.back().get();
    const bool added = node->methods.emplace(kept->route.method, kept).second;
    check(added, "a route is declared once");
    for (std::string_view path : kept->route.also_below) {
        check(kept->route.method == "GET" && kept->parameters.empty() && path.starts_with('/'),
              "what is answered below other paths is one page");
        const std::string segment(take_segment(path));
        check(path.empty() && below_.emplace(segment, kept).second,
              "such a path is one segment, of one page");
    }
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
    Match match = find_declared(method, path);
    if (match.entry != nullptr || !path.starts_with('/')) return match;
    if (method != "GET" && method != "HEAD") return {};
    const auto page = below_.find(take_segment(path));
    return page == below_.end() ? Match{} : Match{page->second, {}};
}

Router::Match Router::find_declared(std::string_view method, std::string_view path) const {
    constexpr std::size_t segments_max = 16;
    if (!path.starts_with('/')) return {};
    Match match;
    const Node* node = root_.get();
    for (std::size_t count = 0; !path.empty(); ++count) {
        if (count == segments_max) return {};
        const std::string_view part = take_segment(path);
        if (const auto found = node->literals.find(part); found != node->literals.end()) {
            node = found->second.get();
        } else if (node->parameter && !part.empty()) {
            node = node->parameter.get();
            match.parameters.push_back(part);
        } else {
            return {};
        }
    }
    // HEAD is answered as GET is; the transport leaves the body out.
    const auto found = node->methods.find(method == "HEAD" ? "GET" : method);
    if (found == node->methods.end()) return {};
    if (method == "HEAD" && found->second->streamed) return {};
    match.entry = found->second;
    return match;
}

wire::TextFields path_fields(const Entry& entry, const std::vector<std::string_view>& parameters,
                             wire::Errors& errors) {
    wire::TextFields fields;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
        auto value = percent_decode(parameters[i], false);
        if (!value) errors.add("path." + entry.parameters[i], "must be percent-encoded UTF-8");
        fields.emplace_back(entry.parameters[i], std::move(value).value_or(""));
    }
    return fields;
}

Recalled recall(const Router& router, const http::Request& request) {
    const Router::Match match = router.find(request.method, request.path());
    if (match.entry == nullptr)
        throw Problem(Code::conflict, "there is no such action any more; ask for another");
    wire::Errors errors;
    Input input;
    input.path = path_fields(*match.entry, match.parameters, errors);
    input.query = parse_query(request.query(), errors);
    input.body = request.body;
    Recalled recalled{match.entry, match.entry->decode(input, errors)};
    errors.raise();
    return recalled;
}

void expect_no_body(const Input& input, wire::Errors& errors) {
    if (input.body.empty()) return;
    if (wire::canonical(input.body) != "{}")
        errors.add("body", "must be left out: this request has none");
}

}  // namespace berth::api
