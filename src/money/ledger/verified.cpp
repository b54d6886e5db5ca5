#include "ledger/verified.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "crypto/hash.hpp"

namespace berth::ledger {
namespace {

constexpr std::string_view title = "berth ledger verified 4\n";
constexpr std::array<std::string_view, 3> earlier_titles{
    "berth ledger verified 1\n", "berth ledger verified 2\n", "berth ledger verified 3\n"};
constexpr std::string_view hash_title = "sha256 ";

// What the hash in the last line is over; empty when it is another hash, or none.
std::optional<std::string_view> hashed_part(std::string_view text) {
    const std::size_t last_line = hash_title.size() + 2 * hash_bytes + 1;
    if (text.size() < last_line) return std::nullopt;
    const std::string_view body = text.substr(0, text.size() - last_line);
    const std::string end = std::string(hash_title) + to_hex(crypto::sha256(body)) + "\n";
    if (text.substr(body.size()) != end) return std::nullopt;
    return body;
}

// Words are separated by one space, lines by one line feed.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    std::string_view word(char end) {
        const std::size_t at = rest_.find(end);
        if (at == rest_.npos) whole_ = false;
        const std::string_view found = rest_.substr(0, at);
        rest_.remove_prefix(at == rest_.npos ? rest_.size() : at + 1);
        return found;
    }
    std::int64_t number(char end) {
        const std::string_view text = word(end);
        std::int64_t value = 0;
        const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || last != text.data() + text.size()) whole_ = false;
        return value;
    }
    bool done() const { return rest_.empty(); }
    bool whole() const { return whole_; }
    void fail() { whole_ = false; }

private:
    std::string_view rest_;
    bool whole_ = true;
};

void write_totals(std::string& text, const Totals& totals) {
    text += fmt::format("rows {} {} {} {} {}\n", totals.transactions, totals.entries, totals.jobs,
                        totals.transfers, totals.disputes);
    for (std::size_t asset = 0; asset < assets.size(); ++asset) {
        for (const auto& [debit, credit] : totals.pockets[asset])
            text += fmt::format("pocket {} {}\n", debit.value, credit.value);
        for (const Micro moved : totals.moved[asset])
            text += fmt::format("moved {}\n", moved.value);
    }
}

void expect(Reader& reader, std::string_view wanted) {
    if (reader.word(' ') != wanted) reader.fail();
}

void read_totals(Reader& reader, Totals& totals) {
    expect(reader, "rows");
    totals.transactions = reader.number(' ');
    totals.entries = reader.number(' ');
    totals.jobs = reader.number(' ');
    totals.transfers = reader.number(' ');
    totals.disputes = reader.number('\n');
    for (std::size_t asset = 0; asset < assets.size(); ++asset) {
        for (auto& [debit, credit] : totals.pockets[asset]) {
            expect(reader, "pocket");
            debit = Micro{reader.number(' ')};
            credit = Micro{reader.number('\n')};
        }
        for (Micro& moved : totals.moved[asset]) {
            expect(reader, "moved");
            moved = Micro{reader.number('\n')};
        }
    }
}

void read_account(Reader& reader, Verified& verified) {
    const auto id = parse_uuid(reader.word(' '));
    const auto asset = parse_asset(reader.word(' '));
    VerifiedAccount account;
    account.sequence = reader.number(' ');
    const auto head = from_hex(reader.word(' '));
    Balances& has = account.balances;
    for (Micro* balance : {&has.available, &has.held, &has.payable, &has.escrow, &has.reserved,
                           &has.earned, &has.fees, &has.paid, &has.repaid})
        *balance = Micro{reader.number(' ')};
    account.entries = reader.number('\n');
    if (!id || !asset || !head || head->size() != hash_bytes) return reader.fail();
    account.head = *head;
    verified.accounts[{{*id}, *asset}] = std::move(account);
}

}  // namespace

std::string write_verified(const Verified& verified) {
    std::string text(title);
    text += fmt::format("{}\n", verified.as_of.micros);
    write_totals(text, verified.totals);
    for (const auto& [key, account] : verified.accounts) {
        const Balances& has = account.balances;
        text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", to_string(key.account),
                            name(key.asset), account.sequence, to_hex(account.head),
                            has.available.value, has.held.value, has.payable.value,
                            has.escrow.value, has.reserved.value, has.earned.value, has.fees.value,
                            has.paid.value, has.repaid.value, account.entries);
    }
    const std::string hash = to_hex(crypto::sha256(text));
    return text.append(hash_title).append(hash).append("\n");
}

std::optional<Verified> parse_verified(std::string_view text) {
    const auto body = hashed_part(text);
    if (!body || !body->starts_with(title)) return std::nullopt;
    Reader reader(body->substr(title.size()));
    Verified verified;
    verified.as_of = {reader.number('\n')};
    read_totals(reader, verified.totals);
    while (reader.whole() && !reader.done()) read_account(reader, verified);
    if (!reader.whole()) return std::nullopt;
    return verified;
}

bool is_of_earlier_release(std::string_view text) {
    const auto body = hashed_part(text);
    return body && std::any_of(earlier_titles.begin(), earlier_titles.end(),
                               [&](std::string_view one) { return body->starts_with(one); });
}

}  // namespace berth::ledger
