#include "cli/shortage.hpp"

#include <fmt/format.h>

#include "base/money.hpp"
#include "cli/show.hpp"

namespace berth::cli {

Failure with_shortage(Context& context, const Failure& refusal, Micro needed,
                      std::string_view asset) {
    try {
        const Reading balance(
            context.api().get(fmt::format("/api/v1/billing?asset={}", asset)).body);
        const auto there = parse_decimal(balance.text("spendable_micro"));
        if (!there || *there >= needed.value) return refusal;
        const std::string missing = money_text(std::to_string(needed.value - *there));
        const Reading status(context.api().get("/api/v1/status", Access::anyone).body);
        const bool is_play = status.text("simulated") == "true";
        return {refusal.exit,
                fmt::format("{}; {} {} are missing: {} {} --amount {}{}", refusal.message, missing,
                            asset, context.profiles().command(),
                            is_play ? "faucet" : "funding create", missing,
                            is_play || asset == "USDC" ? "" : fmt::format(" --asset {}", asset)),
                refusal.body};
    } catch (const Failure&) {
        return refusal;
    }
}

}  // namespace berth::cli
