// Writes each mail as DIR/<id>.eml, for development and tests. A file appears whole or not at all,
// and a mail that is delivered again replaces its own file.
#pragma once

#include <filesystem>

#include "mail/transport.hpp"

namespace berth::mail {

class FileTransport final : public Transport {
public:
    // Makes the folder, for its owner only; throws std::invalid_argument when that cannot be done.
    explicit FileTransport(std::filesystem::path folder);

    void deliver(const Envelope& envelope) override;

private:
    std::filesystem::path folder_;
};

}  // namespace berth::mail
