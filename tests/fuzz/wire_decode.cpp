// Arbitrary bytes into a struct that holds every rule. What decodes must survive being written and
// read again; what does not is refused with one Problem.
#include <cstdint>
#include <string_view>

#include "../wire/sample.hpp"
#include "base/bytes.hpp"
#include "base/check.hpp"

using namespace berth;

namespace {

void decode_body(std::string_view text) {
    try {
        const std::string once = wire::encode(wire::decode<sample::Everything>(text));
        const std::string twice = wire::encode(wire::decode<sample::Everything>(once));
        check(once == twice, "what was decoded is a fixed point");
        check(wire::canonical(text).has_value(), "what decodes is a document");
    } catch (const Problem& problem) {
        check(problem.code == Code::invalid_input, "bad input is INVALID_INPUT");
        check(utf8_length(problem.message).has_value(), "messages are UTF-8");
    }
}

// "name=value" lines become parameters.
void decode_query(std::string_view text) {
    wire::TextFields fields;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t sign = std::min(line.find('='), line.size());
        fields.emplace_back(line.substr(0, sign), line.substr(std::min(sign + 1, line.size())));
    }
    sample::Query query;
    wire::Errors errors;
    wire::decode_fields(wire::type_of<sample::Query>(), fields, &query, "query", errors);
    if (!errors.empty()) return;
    const std::string body = wire::encode(query);
    check(wire::encode(wire::decode<sample::Query>(body)) == body, "a query is a body too");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    decode_body(text);
    decode_query(text);
    return 0;
}

// Mutations start from a body that decodes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
    static const std::string body = sample::example_text(wire::type_of<sample::Everything>());
    constexpr unsigned one_in = 64;
    if ((size <= 1 || seed % one_in == 0) && body.size() <= size_max) {
        std::copy(body.begin(), body.end(), reinterpret_cast<char*>(data));
        size = body.size();
    }
    return LLVMFuzzerMutate(data, size, size_max);
}
