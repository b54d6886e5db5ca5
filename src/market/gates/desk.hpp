// Gates put together: their credentials, their routes, and what the machine test asks about them.
#pragma once

#include "api/router.hpp"
#include "crypto/ed25519.hpp"
#include "gates/allot.hpp"
#include "gates/credentials.hpp"
#include "gates/reports.hpp"
#include "machines/gate_side.hpp"

namespace berth::gates {

class Gates final : public machines::GateSide {
public:
    struct Parts {
        crypto::Secret command_key;              // the server's, which tickets are signed by
        std::optional<crypto::Secret> next_key;  // to take its place, if it is to be exchanged
        FindJob find_job;
    };
    explicit Gates(Parts parts);

    api::Authenticator& credentials() { return credentials_; }
    void add_routes(api::Router& router);

    bool is_any_live(db::Transaction& tx, Time now) const override;
    std::optional<machines::DoorPlace> find_test_door(db::Transaction& tx,
                                                      const machines::TestDoor& door,
                                                      Time now) const override;

private:
    const agent_protocol::CommandKey key_;
    const std::optional<agent_protocol::CommandKey> next_key_;
    GateCredentials credentials_;
    const Allotment allotment_;
    const Reports reports_;
};

}  // namespace berth::gates
