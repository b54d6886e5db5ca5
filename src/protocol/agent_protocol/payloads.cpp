#include "agent_protocol/payloads.hpp"

#include "wire/wire.hpp"

namespace berth::agent_protocol {

LaunchProfile launch_profile() {
    LaunchProfile profile;
    profile.uid.value = profile.gid.value = 10001;
    profile.read_only_root = true;
    profile.writable = {"/work"};
    profile.memory = std::vector<std::string>{"/tmp", "/dev/shm"};
    profile.read_only = {"/cache"};
    profile.no_new_privileges = true;
    return profile;
}

std::optional<std::string> find_difference(const LaunchProfile& profile) {
    const wire::Type& type = wire::type_of<LaunchProfile>();
    LaunchProfile asked = profile;
    LaunchProfile ours = launch_profile();
    for (const wire::Member& member : type.members) {
        const wire::Type& inner = member.type();
        if (inner.kind == wire::Kind::optional && !inner.get(member.at(&asked))) continue;
        std::string theirs_text;
        std::string ours_text;
        wire::encode(inner, member.at(&asked), theirs_text);
        wire::encode(inner, member.at(&ours), ours_text);
        if (theirs_text != ours_text) return std::string(member.name);
    }
    return std::nullopt;
}

}  // namespace berth::agent_protocol
