#include "api/envelope.hpp"

#include "wire/wire.hpp"

namespace berth::api {

std::string error_body(const Problem& problem, RequestId request) {
    std::string body = wire::encode(ErrorEnvelope{
        {{std::string(code_name(problem.code))}, {problem.message}, problem.retryable, request}});
    body.insert(body.size() - 1, problem.siblings);
    return body;
}

std::string internal_error(RequestId request) {
    return wire::encode(ErrorEnvelope{
        {{"INTERNAL"}, {"the service made a mistake; it has been logged"}, false, request}});
}

}  // namespace berth::api
