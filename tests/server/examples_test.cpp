// What the specification shows as a request is one that the server takes: every example of every
// route is sent, by who may and to what there is, and none is refused for how it is written. Every
// answer is held to its declaration by the harness.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "accounts/accounts.hpp"
#include "accounts/operators.hpp"
#include "base/letters.hpp"
#include "rentals/market.hpp"
#include "support/machine_agent.hpp"

namespace berth::test {
namespace {

namespace json = boost::json;
using api::Access;

std::string text_of(const json::value& value) {
    return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

std::string percent_encoded(const std::string& text) {
    std::string out;
    for (const char c : text)
        out += is_alphanumeric(c) ? std::string(1, c) : fmt::format("%{:02X}", c);
    return out;
}

class Examples : public MarketTest {
protected:
    void SetUp() override {
        database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, now()}, "root@example.net");
        });
        root.origin = "http://127.0.0.1:8080";
        ASSERT_EQ(root.sign_in("root@example.net").status, 200);
        root.enroll();
        ASSERT_EQ(box.enroll(MachineAgent::token_for(town.harness, ada.account)).status, 201);
        machine = put_up();
        job = rent(ben, put_up());
        get_ready(job);
        // What examples name by the id that all of them have.
        stands_for = {
            {"/jobs/{id}", to_string(job)},
            {"/receipts/{job}", to_string(job)},
            {"/machines/{id}", to_string(machine.machine_id)},
            {"/users/{id}", to_string(ben.account)},
            {"/templates/{id}", model},
            {"/offers/{id}", to_string(machine.offer_id)},
            {"/tickets/{id}", made("tickets", R"({"category":"billing","text":"?"})", "ticket_id")},
            {"/webhooks/{id}", made("webhooks", R"({"url":"https://9.9.9.9/hook"})", "webhook_id")},
            // Names are not looked up here.
            {"url", "https://9.9.9.9/hook"},
            {"job_id", to_string(job)},
            {"offer_id", to_string(machine.offer_id)},
            {"template_id", model},
            {"wallet_binding_id",
             member(send(ben, "GET", "/api/v1/wallets").body, "items.0.binding_id")},
            {"account_id", to_string(ben.account)},
        };
    }
    std::string made(const std::string& what, const std::string& body, const char* id) {
        const auto response = send(ben, "POST", "/api/v1/" + what, body);
        EXPECT_EQ(response.status, 201) << response.body;
        return member(response.body, id);
    }

    // The path, and the query of all examples that go together.
    std::string target(const json::object& operation, const std::string& path) const {
        std::string out = path;
        std::string query;
        const json::value* parameters = operation.if_contains("parameters");
        if (parameters == nullptr) return out;
        for (const json::value& each : parameters->as_array()) {
            const json::object& parameter = each.as_object();
            if (!parameter.contains("example")) continue;
            const std::string name = text_of(parameter.at("name"));
            const std::string value = text_of(parameter.at("example"));
            if (text_of(parameter.at("in")) == "query") {
                query += (query.empty() ? "?" : "&") + name + "=" + percent_encoded(value);
                continue;
            }
            const std::string place = "{" + name + "}";
            const std::size_t at = out.find(place);
            const std::size_t folder = out.rfind('/', at - 2);
            const auto real = stands_for.find(out.substr(folder, at + place.size() - folder));
            out.replace(at, place.size(), real != stands_for.end() ? real->second : value);
        }
        return out + query;
    }
    std::string body(const json::object& operation) {
        const json::value* request = operation.if_contains("requestBody");
        if (request == nullptr) return "";
        const json::object& content = request->at("content").as_object();
        if (!content.contains("application/json")) return "";
        json::value example = content.at("application/json").at("example");
        // Its name stays, for links refer to it.
        if (text_of(operation.at("operationId")) == "replace_template")
            example.as_object()["template_id"] =
                member(send(ben, "GET", "/api/v1/templates/" + model).body, "template_id");
        for (auto& [name, value] : example.as_object())
            if (const auto real = stands_for.find(std::string(name));
                real != stands_for.end() && value.is_string() &&
                (name == "url" || parse_uuid(text_of(value))))
                value = real->second;
        return json::serialize(example);
    }

    http::Response by_browser(Browser& who, const api::Route& route, const Ask& ask) {
        if (route.step_up != api::StepUp::none) {
            const auto proved = who.step_up(std::string(step_up_name(route.step_up)));
            EXPECT_EQ(proved.status, 200) << proved.body;
        }
        return who.send(ask.method, ask.target, ask.body, ask.key);
    }
    http::Response by_person(const api::Route& route, const Ask& ask) {
        Browser person = town.person("person" + std::to_string(++people) + "@example.net");
        return by_browser(person, route, ask);
    }
    http::Response by_whom_it_is_for(const api::Route& route, Ask ask) {
        // Until it is retired by its own example.
        const std::string own = "/api/v1/hosts/machines/" + to_string(machine.machine_id);
        if (send(ada, "GET", own).status == 200) hear(town.harness, machine.machine_id);
        switch (route.access) {
            case Access::anyone: return town.harness.ask(ask);
            case Access::participant:
            case Access::renter: ask.as = ben.key; return town.harness.ask(ask);
            case Access::host:
            case Access::host_or_admin:
            case Access::host_to_be: ask.as = ada.key; return town.harness.ask(ask);
            case Access::machine:
                return box.send({.method = ask.method, .target = ask.target, .body = ask.body});
            case Access::admin:
            case Access::finance:
            case Access::support:
            case Access::operator_: return by_browser(root, route, ask);
            case Access::gate:
            case Access::signed_in:
            case Access::any_session:
            case Access::session:
            case Access::self: break;
        }
        return by_person(route, ask);
    }

    Browser root{town};
    MachineAgent box{town.harness, "GPU-0"};
    machines::Machine machine;
    JobId job;
    std::map<std::string, std::string> stands_for;
    int people = 0;
};

TEST_F(Examples, EveryOneOfARequestIsTaken) {
    const json::value document =
        json::parse(*town.harness.ask({.target = "/openapi.json"}).shared_body);
    int sent = 0;
    int done = 0;
    for (const auto& entry : town.harness.app->router().entries()) {
        const api::Route& route = entry->route;
        if (route.name == "test_upload") continue;  // its body is no example: a flood of bytes
        std::string method = route.method;
        for (char& c : method) c = static_cast<char>(std::tolower(c));
        const json::object& operation = document.at("paths").at(route.path).at(method).as_object();
        const Ask ask{.method = route.method,
                      .target = target(operation, route.path),
                      .key = route.idempotent ? town.harness.new_id() : "",
                      .body = body(operation)};
        const auto response = by_whom_it_is_for(route, ask);
        ++sent;
        done += response.status < 300 ? 1 : 0;
        const bool is_refused = response.status == 400 || response.status == 413 ||
                                response.status == 422 || response.status == 500;
        EXPECT_FALSE(is_refused) << route.name << ": " << ask.target << " " << ask.body << "\n"
                                 << response.status << " " << response.body;
    }
    EXPECT_GT(sent, 200);
    // The rest is not there (404), as it should not be (409) or wants a proof of its own (403).
    EXPECT_GT(done, 120) << "of " << sent;
}

}  // namespace
}  // namespace berth::test
