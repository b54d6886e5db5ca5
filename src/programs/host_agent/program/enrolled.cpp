#include "host_agent/program/enrolled.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "host_agent/program/control.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {

bool holds_machine(const StateFolder& state) {
    const auto identity = state.identity();
    return identity && identity->machine_id;
}

Identity enrolled_identity(const StateFolder& state) {
    auto identity = state.identity();
    if (!identity || !identity->machine_id)
        throw std::invalid_argument(
            fmt::format("{} holds no machine: enroll it first (berth-agent enroll --server URL)",
                        state.folder()));
    return std::move(*identity);
}

http::Response send_by_either_key(Link& link, Identity& identity, const Call& call) {
    http::Response response = link.send(call);
    if (response.status != 401 || !swap_seeds(identity)) return response;
    link.use_key(identity.seed);
    return link.send(call);
}

ToldStanding read_standing(const http::Response& response) {
    if (response.status == 200)
        if (auto standing = wire::read_known<agent_protocol::MachineStanding>(response.body))
            return {std::move(*standing), ""};
    if (response.status == 404) return {{}, "this server does not tell it: it is an older one"};
    if (response.status == 401) return {{}, "the server does not know this machine any more"};
    return {{}, fmt::format("the server answered {}", response.status)};
}

ToldStanding ask_standing(const StateFolder& state) {
    if (const auto told = ask_agent(state.control_path(), "standing")) {
        const std::size_t space = told->find(' ');
        http::Response response;
        response.status = std::atoi(told->substr(0, space).c_str());
        if (space != std::string::npos) response.body = told->substr(space + 1);
        return response.status == 0 ? ToldStanding{{}, response.body} : read_standing(response);
    }
    Identity identity = enrolled_identity(state);
    const SystemBootClock clock;
    http::CurlClient client;
    try {
        Link link(client, clock, identity);
        return read_standing(
            send_by_either_key(link, identity, {.method = "GET", .target = standing_target}));
    } catch (const http::TransportError& error) {
        return {{}, fmt::format("the server was not reached: {}", error.what())};
    }
}

}  // namespace berth::host_agent
