// The route by which agents report their tests.
#include "machines/credentials.hpp"
#include "machines/qualification.hpp"

namespace berth::machines {
namespace {

constexpr std::size_t result_bytes_max = 256 * 1024;

}  // namespace

void Qualifications::add_routes(api::Router& router) const {
    proofs_.add_routes(router);
    router.add(
        {.method = "POST",
         .path = "/api/v1/host-agent/qualification/{run_id}/result",
         .name = "report_test",
         .group = "host agent",
         .summary = "What a test found; the server judges it.",
         .access = api::Access::machine,
         .work = api::Work::write,
         .status = 202,
         .errors = {Code::not_found, Code::stale_fence, {Code::conflict, "the test is over"}},
         .body_bytes_max = result_bytes_max},
        [this](api::Call& call, const api::Path<RunPath>& path, const api::Body<TestResult>& body) {
            return take_result(call, machine_of(call.caller), path->run_id, *body);
        });
}

}  // namespace berth::machines
