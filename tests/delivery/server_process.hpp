// berthd as a process, with accounts and keys that were put into its database before.
#pragma once

#include <signal.h>

#include "accounts/store.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "delivery/readers.hpp"
#include "server/schema.hpp"
#include "support/process.hpp"

namespace berth::test {

struct KeyedAccount {
    AccountId id;
    std::string key;        // renter's
    std::string other_key;  // to be revoked
    std::string other_id;
};

inline std::string bearer(const std::string& key) {
    return "Authorization: Bearer " + key + "\r\n";
}

// An agent's account: its key may revoke the other one without asking for a proof.
inline KeyedAccount add_account(db::Transaction& tx, Random& random, Time now) {
    KeyedAccount account{AccountId::make(now, random), {}, {}, {}};
    accounts::add_agent(tx, account.id, now);
    for (std::string* secret : {&account.key, &account.other_key}) {
        *secret = crypto::make_token(issued::api_key, random);
        accounts::KeyRow row;
        row.id = accounts::KeyId::make(now, random);
        row.key_hash = crypto::sha256(*secret);
        row.account = account.id;
        row.name = "test";
        row.prefix = secret->substr(0, 8);
        row.renter = true;
        row.created_at = now;
        accounts::add_key(tx, row);
        account.other_id = to_string(row.id);
        tx.run("UPDATE api_keys SET account_sensitive_until = $2 WHERE key_id = $1", row.id,
               now + std::chrono::hours(24));
    }
    return account;
}

inline void tell_account(db::Database& database, Random& random, AccountId account, int count) {
    for (int i = 0; i < count; ++i)
        database.write([&](db::Transaction& tx) {
            events::tell({tx, random, SystemClock().now()}, tickets::ticket_answered, account, "t",
                         tickets::TicketFacts{tickets::TicketState::answered});
        });
}

class ServerProcess {
public:
    ServerProcess(std::string db, const std::string& folder, std::vector<std::string> more = {})
        : db_(std::move(db)), folder_(folder), more_(std::move(more)) {}

    void start() {
        std::vector<std::string> words{program_path("berthd"),
                                       "serve",
                                       "--listen",
                                       "127.0.0.1:" + std::to_string(port),
                                       "--db",
                                       db_,
                                       "--secrets",
                                       folder_ + "/secrets",
                                       "--mail",
                                       "file:" + folder_ + "/mail"};
        words.insert(words.end(), more_.begin(), more_.end());
        process = std::make_unique<Process>(words, folder_ + "/log");
        ASSERT_TRUE(
            wait_until_ready(*process, "http://127.0.0.1:" + std::to_string(port) + "/readyz"))
            << read_text(folder_ + "/log");
    }
    void kill() {
        process->signal(SIGKILL);
        process->wait();
    }

    std::uint16_t port = free_port();
    std::unique_ptr<Process> process;

private:
    std::string db_;
    std::string folder_;
    std::vector<std::string> more_;
};

}  // namespace berth::test
