// JSON-RPC providers that exist only in the test, and one small chain for them to tell of: in block
// 5 the transaction `paid` has two logs, an approval and a transfer of 25 USDC from `payer` to
// `treasury`; block 10 is finalized and 12 is the latest.
#pragma once

#include <fmt/format.h>

#include <boost/json.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chain/answer.hpp"
#include "http/client.hpp"

namespace berth::chain::test {

inline const Hash paid = parse_hash("0x" + std::string(64, '1')).value();
inline const crypto::Address usdc =
    crypto::parse_address("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913").value();
inline const crypto::Address payer =
    crypto::parse_address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8").value();
inline const crypto::Address treasury =
    crypto::parse_address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266").value();
inline const std::string block_5_hash = "0x" + std::string(64, '5');
inline constexpr std::int64_t transfer_index = 8;

inline std::string block_json(std::int64_t number, const std::string& hash) {
    return fmt::format(R"({{"number":"{:#x}","hash":"{}","timestamp":"{:#x}",)"
                       R"("baseFeePerGas":"0x64","transactions":[]}})",
                       number, hash, 1'800'000'000 + 2 * number);
}

inline std::string log_json(std::int64_t index, const std::string& topics,
                            const std::string& data) {
    return fmt::format(R"({{"address":"{}","topics":[{}],"data":"0x{}","blockNumber":"0x5",)"
                       R"("blockHash":"{}","transactionHash":"{}","transactionIndex":"0x0",)"
                       R"("logIndex":"{:#x}","removed":false}})",
                       crypto::to_string(usdc), topics, data, block_5_hash, to_string(paid), index);
}

inline std::string word_json(const Hash& word) { return '"' + to_string(word) + '"'; }

inline std::string approval_json() {
    const Hash approval =
        parse_hash("0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925").value();
    return log_json(7,
                    word_json(approval) + "," + word_json(topic_of(payer)) + "," +
                        word_json(topic_of(treasury)),
                    std::string(64, '0'));
}

inline std::string transfer_json() {
    return log_json(transfer_index,
                    word_json(transfer_topic()) + "," + word_json(topic_of(payer)) + "," +
                        word_json(topic_of(treasury)),
                    fmt::format("{:064x}", 25'000'000));
}

inline std::string receipt_json() {
    return fmt::format(R"({{"transactionHash":"{}","blockHash":"{}","blockNumber":"0x5",)"
                       R"("status":"0x1","type":"0x2","to":null,"logs":[{},{}]}})",
                       to_string(paid), block_5_hash, approval_json(), transfer_json());
}

// `text` with one piece of it replaced; the piece must be there.
inline std::string replaced(std::string text, const std::string& piece, const std::string& other) {
    const std::size_t at = text.rfind(piece);
    if (at == std::string::npos) throw std::runtime_error("there is no " + piece);
    return text.replace(at, piece.size(), other);
}

inline std::string word_json_of(std::int64_t number) {
    return fmt::format(R"("0x{:064x}")", number);
}

class FakeProvider {
public:
    FakeProvider() {
        results["eth_chainId"] = R"("0x2105")";
        results["eth_getTransactionReceipt"] = receipt_json();
        results[R"(eth_getBlockByNumber "finalized")"] =
            block_json(10, "0x" + std::string(64, 'a'));
        results[R"(eth_getBlockByNumber "latest")"] = block_json(12, "0x" + std::string(64, 'c'));
        results[R"(eth_getBlockByNumber "0x5")"] = block_json(5, block_5_hash);
        results["eth_getLogs"] = "[" + transfer_json() + "]";
        results["eth_getTransactionCount"] = R"("0x7")";
        results["eth_maxPriorityFeePerGas"] = R"("0x3")";
        results["eth_getBalance"] = R"("0xde0b6b3a7640000")";  // one ether
        results["eth_getTransactionByHash"] = "null";
        results["eth_call"] = word_json_of(6);
    }

    // By the method, or by the method and its first parameter as JSON.
    std::map<std::string, std::string> results;
    std::map<std::string, std::string> errors;  // the whole `error`
    std::string body{};                         // instead of every answer
    int status = 200;
    bool is_down = false;
    std::vector<std::string> asked{};  // the requests that came

    http::Response answer(const http::Outbound& request) {
        asked.push_back(request.body);
        if (is_down) throw http::TransportError("Failed to connect");
        http::Response response;
        response.status = status;
        response.body = body.empty() ? answers(boost::json::parse(request.body)) : body;
        return response;
    }

private:
    // A batch is answered from its end: the order means nothing.
    std::string answers(const boost::json::value& request) const {
        const boost::json::array* batch = request.if_array();
        if (batch == nullptr) return envelope(request);
        std::string all;
        for (auto one = batch->rbegin(); one != batch->rend(); ++one)
            all += (all.empty() ? "" : ",") + envelope(*one);
        return "[" + all + "]";
    }
    std::string envelope(const boost::json::value& request) const {
        const std::string id = boost::json::serialize(request.at("id"));
        const std::string method(request.at("method").as_string());
        const boost::json::array& params = request.at("params").as_array();
        const std::string precise =
            params.empty() ? method : method + " " + boost::json::serialize(params[0]);
        if (errors.contains(precise))
            return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", id, errors.at(precise));
        if (errors.contains(method))
            return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", id, errors.at(method));
        const std::string& result =
            results.contains(precise) ? results.at(precise) : results.at(method);
        return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result);
    }
};

// Three of them, at addresses whose paths are secret. They are asked from several threads, each
// from one at a time.
class FakeProviders final : public http::Client {
public:
    FakeProvider first;
    FakeProvider second;
    FakeProvider third;
    std::function<void()> before_each = {};  // answer, on the thread that asks

    static std::vector<std::string> urls() {
        return {"https://one.example/v2/secret-key", "https://user:secret-key@two.example:8443/"};
    }
    static std::vector<std::string> all_urls() {
        auto all = urls();
        all.emplace_back("https://three.example");
        return all;
    }
    http::Response send(const http::Outbound& request) override {
        if (before_each) before_each();
        if (request.url == urls()[0]) return first.answer(request);
        return request.url == urls()[1] ? second.answer(request) : third.answer(request);
    }
};

}  // namespace berth::chain::test
