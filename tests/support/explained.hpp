// A transaction that carries statements out and keeps how the engine would go about each of them.
#pragma once

#include "db/db.hpp"
#include "db/values.hpp"

namespace berth::test {

// The way to a statement whose values are a list.
struct AnyTransaction : db::Transaction {
    static constexpr auto begin = &AnyTransaction::begin_statement;
};

class ExplainedTransaction final : public db::Transaction {
public:
    ExplainedTransaction(db::Transaction& real, db::Engine engine) : real_(real), engine_(engine) {}

    std::string plan;

    db::Result finish(Ticket ticket) override { return real_.finish(ticket); }
    void script(std::string_view sql) override { real_.script(sql); }
    std::uint64_t changes() const override { return real_.changes(); }
    void touch(const Uuid& id) override { real_.touch(id); }

protected:
    Ticket begin_statement(std::string_view sql, std::span<const db::Param> params) override {
        const bool is_sqlite = engine_ == db::Engine::sqlite;
        const std::string asked =
            (is_sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + std::string(sql);
        const db::Result rows = real_.finish((real_.*AnyTransaction::begin)(asked, params));
        for (std::size_t i = 0; i < rows.size(); ++i)
            plan += rows[i].get<std::string>(is_sqlite ? 3 : 0) + "\n";
        return (real_.*AnyTransaction::begin)(sql, params);
    }

private:
    db::Transaction& real_;
    db::Engine engine_;
};

}  // namespace berth::test
