// Decodes and validates a request body of about 1 KB, against plain boost::json::parse of the same
// text. Both are measured in turns in the same run; the medians are compared.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <chrono>
#include <vector>

#include "base/check.hpp"
#include "bench/measure.hpp"
#include "wire/wire.hpp"

namespace berth {

using TemplateId = Id<struct TemplateTag>;
using OfferId = Id<struct OfferTag>;

enum class Tier { container, inference };
BOOST_DESCRIBE_ENUM(Tier, container, inference)
enum class Asset { USDC, USDT };
BOOST_DESCRIBE_ENUM(Asset, USDC, USDT)

struct Variable {
    wire::Text<1, 64> name;
    wire::Text<0, 256> value;
};
BOOST_DESCRIBE_STRUCT(Variable, (), (name, value))

struct Limits {
    wire::Integer<1, 4096> processes;
    wire::Decimal memory_bytes;
    wire::Decimal disk_bytes;
    double cpu_cores = 0;
};
BOOST_DESCRIBE_STRUCT(Limits, (), (processes, memory_bytes, disk_bytes, cpu_cores))

struct QuoteRequest {
    OfferId offer_id;
    wire::Decimal offer_version;
    std::optional<TemplateId> template_id;
    Tier tier = Tier::container;
    Asset asset = Asset::USDC;
    wire::Constant<8453> chain_id;
    wire::ImageDigest image;
    wire::Sha256Hash manifest_hash;
    wire::EvmAddress refund_address;
    Micro budget_micro;
    Micro rate_micro_per_hour;
    wire::Integer<60, 2'592'000> duration_s;
    wire::Integer<1, 16> gpu_count;
    bool interruptible = false;
    Time start_after;
    std::optional<Time> start_before;
    wire::Text<1, 60> label;
    wire::Nullable<std::string> region;
    Limits limits;
    wire::List<Variable, 0, 64> variables;
};
BOOST_DESCRIBE_STRUCT(QuoteRequest, (),
                      (offer_id, offer_version, template_id, tier, asset, chain_id, image,
                       manifest_hash, refund_address, budget_micro, rate_micro_per_hour, duration_s,
                       gpu_count, interruptible, start_after, start_before, label, region, limits,
                       variables))

namespace {

constexpr std::string_view body = R"({
  "offer_id": "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57",
  "offer_version": "12",
  "template_id": "01941f2a-11d4-7c55-8a90-0b1c2d3e4f50",
  "tier": "inference",
  "asset": "USDC",
  "chain_id": 8453,
  "image":
    "docker.io/vllm/server@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "manifest_hash": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "refund_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  "budget_micro": "250000000",
  "rate_micro_per_hour": "1890000",
  "duration_s": 86400,
  "gpu_count": 2,
  "interruptible": false,
  "start_after": "2026-01-15T12:00:00Z",
  "start_before": "2026-01-15T18:30:00.250Z",
  "label": "nightly evaluation",
  "region": null,
  "limits": {"processes": 512, "memory_bytes": "68719476736", "disk_bytes": "274877906944",
             "cpu_cores": 7.5},
  "variables": [{"name": "MODEL", "value": "meta-llama/Llama-3.1-8B-Instruct"},
                {"name": "MAX_MODEL_LEN", "value": "16384"},
                {"name": "LOG_LEVEL", "value": "info"}]
})";

constexpr int rounds = 41;
constexpr int decodes_per_round = 2'000;

void decode_ours() {
    const auto request = wire::decode<QuoteRequest>(body);
    check(request.variables.value.size() == 3, "the body decodes to what it says");
}

void parse_baseline() {
    const auto value = boost::json::parse(body);
    check(value.is_object(), "the body is an object");
}

double nanoseconds_each(void (*work)()) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (int i = 0; i < decodes_per_round; ++i) work();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    return took.count() / decodes_per_round;
}

}  // namespace
}  // namespace berth

int main() {
    using namespace berth;
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int i = 0; i < rounds; ++i) {
        ours.push_back(nanoseconds_each(decode_ours));
        baseline.push_back(nanoseconds_each(parse_baseline));
    }
    const double ours_ns = bench::median(ours);
    const double baseline_ns = bench::median(baseline);
    fmt::print("BENCH decode ours={:.0f} baseline=boost_json_parse:{:.0f} ratio={:.2f}\n", ours_ns,
               baseline_ns, baseline_ns / ours_ns);
}
