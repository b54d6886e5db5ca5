// What fills an empty simulated server: accounts with wallets of their own, money, and hosts. All
// goes through the public API, as anybody would do it; only the wallets' coins come from the
// faucet. Every step looks first whether it was done before.
#pragma once

#include <functional>
#include <string>

#include "base/random.hpp"
#include "base/shared_clock.hpp"
#include "http/client.hpp"

namespace berth::box {

struct Person {
    std::string api_key;
    std::string address;  // of the wallet
};

class Market {
public:
    struct Parts {
        std::string url;
        std::string folder;           // of the box
        std::function<void()> pause;  // a moment; throws when the box is to end
    };
    explicit Market(Parts parts)
        : parts_(std::move(parts)),
          clock_(parts_.folder + "/simulated-clock", SharedClock::Use::read) {}

    // The account of NAME.wallet and NAME.key in the folder, both made where they are missing.
    Person find_or_register(const std::string& name);
    // Sends coins from the person's wallet and claims them, unless there is money already.
    void fund(const Person& person, std::int64_t micro);

    std::string make_enrollment(const Person& host, const std::string& tier);  // the token
    void take_custom_images(const Person& host, const std::string& machine);
    std::string offer_of(const std::string& model);
    struct Terms {
        std::int64_t rate_micro_per_hour = 0;
        bool interruptible = false;
    };
    std::string machine_state(const Person& host, const std::string& machine);
    // Puts a machine that passed its test up for rent.
    void publish(const Person& host, const std::string& machine, const Terms& terms);
    std::size_t count_offers();
    bool is_gate_live();  // any of them

    // The body of a good answer; throws std::runtime_error with the server's words otherwise.
    std::string send(const std::string& method, const std::string& target, const std::string& body,
                     const std::string& key);

private:
    Person register_account(const std::string& name);

    Parts parts_;
    http::CurlClient client_;
    SystemRandom random_;
    SharedClock clock_;
};

// Files of mode 0600.
std::string read_private(const std::string& path);  // without the line's end; "" when there is none
void write_private(const std::string& path, const std::string& text);

}  // namespace berth::box
