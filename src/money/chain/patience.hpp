// Going through many things with a chain that may fail or be slow. One of them that fails must not
// keep the others waiting; a provider that is down, or slow, must not be asked about each of them.
#pragma once

#include "base/log.hpp"
#include "chain/chain.hpp"

namespace berth::chain {

class Patience {
public:
    static constexpr int failures_max = 3;
    static constexpr Duration run_max = std::chrono::seconds(20);

    explicit Patience(const Clock& clock) : clock_(clock), until_(clock.now() + run_max) {}

    bool is_over() const { return failures_ >= failures_max || clock_.now() >= until_; }

    // What fails is logged with `name`, and tried again in the next run.
    template <class Function>
    void run(const std::string& name, Function&& function) {
        try {
            function();
        } catch (const ProviderError& error) {
            ++failures_;
            log(Level::warn, "chain_provider_failed", {{"for", name}, {"why", error.what()}});
        } catch (const std::exception& error) {
            log(Level::error, "chain_work_failed", {{"for", name}, {"why", error.what()}});
        }
    }

    // A task that met failures has failed, so that it shows.
    void finish() const {
        if (failures_ > 0) throw ProviderError("the chain could not be read");
    }

private:
    const Clock& clock_;
    Time until_;
    int failures_ = 0;
};

}  // namespace berth::chain
