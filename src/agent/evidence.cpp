#include "agent/evidence.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace berth::agent {
namespace {

constexpr std::size_t log_tail_letters_max = 8000;  // the server takes 8192

}  // namespace

std::string presentable(std::string log, const std::vector<std::string>& secrets) {
    for (const std::string& secret : secrets)
        for (std::size_t at = 0; !secret.empty() && (at = log.find(secret, at)) != log.npos;)
            log.replace(at, secret.size(), "…");
    log = redact(log);
    std::erase(log, '\0');
    if (log.size() <= log_tail_letters_max) return log;
    log.erase(0, log.size() - log_tail_letters_max);
    const std::size_t line = log.find('\n');
    return line == std::string::npos ? log : log.substr(line + 1);
}

}  // namespace berth::agent
