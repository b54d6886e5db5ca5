#include "server/secret_commands.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "accounts/resealing.hpp"
#include "audit/audit.hpp"
#include "delivery/delivery.hpp"
#include "machines/commands.hpp"
#include "mail/outbox.hpp"
#include "rentals/endpoints.hpp"
#include "server/commands.hpp"
#include "server/secrets.hpp"

namespace berth::server {

std::string reseal(const std::string& secrets_folder, db::Database& database, const Clock& clock,
                   Random& random) {
    if (rotation_in(secrets_folder) != Rotation::switched)
        throw std::runtime_error("the keys were not exchanged; there is nothing to seal anew");
    const Secrets secrets = load_secrets(secrets_folder, random);
    check_fingerprints(database, secrets, secrets_folder);
    const crypto::Sealer sealer = sealer_of(secrets);
    crypto::Resealing resealing(sealer, random);
    accounts::reseal(database, resealing);
    mail::reseal(database, resealing);
    machines::reseal(database, resealing);
    rentals::reseal(database, resealing);
    delivery::reseal(database, resealing);
    if (resealing.lost > 0)
        throw std::runtime_error(fmt::format(
            "{} values open with none of the keys; the old keys are kept", resealing.lost));
    database.write([&](db::Transaction& tx) {
        audit::record(
            {tx, random, clock.now()},
            {.actor = audit::Actor::local_operator(),
             .action = "rotate_secrets",
             .target = {"secrets", "seal.key"},
             .changes = {{"sealed_anew", std::nullopt, std::to_string(resealing.renewed)}}});
    });
    end_rotation(secrets_folder);
    return fmt::format(
        "{} values were sealed anew and the old keys removed; delete NAME.old on every server and "
        "in backups of the folder that should not open what was sealed before",
        resealing.renewed);
}

int rotate_secrets(const settings::Given& given, bool alone) {
    const std::string folder = *start_settings(given).secrets;
    if (!std::filesystem::exists(folder + "/seal.key"))
        throw BadSettings("--secrets: " + folder + ": holds no keys yet");
    SystemRandom random;
    switch (rotation_in(folder)) {
        case Rotation::none:
            prepare_rotation(folder, random);
            if (!alone) {
                fmt::print(
                    "new keys lie beside the present ones; copy the folder to every server, "
                    "start each again, then run this again\n");
                return 0;
            }
            [[fallthrough]];
        case Rotation::prepared:
            switch_keys(folder);
            fmt::print(
                "the new keys are the present ones from the next start on; copy the folder "
                "to every server, start each again, then run this again\n");
            return 0;
        case Rotation::switched:
            return run_on_this_machine(
                given, {std::string(reseal_word), std::filesystem::absolute(folder).string()});
    }
    return 1;
}

}  // namespace berth::server
