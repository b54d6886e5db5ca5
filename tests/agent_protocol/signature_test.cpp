#include "agent_protocol/signature.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "agent_protocol/structured.hpp"
#include "agent_protocol/used_nonces.hpp"

namespace berth::agent_protocol {
namespace {

// RFC 9421, appendix B.1.4: the test key test-key-ed25519.
const std::string rfc_private_key =
    "9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5";
const std::string rfc_public_key =
    "26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb";

// Appendix B.2.6, "Signing a Request Using ed25519".
TEST(Signature, MatchesTheEd25519VectorOfRfc9421) {
    const std::string parameters =
        "(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\")"
        ";created=1618884473;keyid=\"test-key-ed25519\"";
    const std::array<Component, 6> components{{{"date", "Tue, 20 Apr 2021 02:07:55 GMT"},
                                               {"@method", "POST"},
                                               {"@path", "/foo"},
                                               {"@authority", "example.com"},
                                               {"content-type", "application/json"},
                                               {"content-length", "18"}}};
    const std::string base = signature_base(components, parameters);
    const std::string signature =
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    const crypto::Ed25519Key key{crypto::Secret(*from_hex(rfc_private_key))};
    EXPECT_EQ(to_hex(key.public_key().view()), rfc_public_key);
    EXPECT_EQ(to_base64(key.sign(base)), signature);
    EXPECT_TRUE(key.public_key().verify(base, *from_base64(signature)));

    const auto field = parse_dictionary("sig-b26=" + parameters);
    ASSERT_TRUE(field);
    EXPECT_EQ(write(std::get<InnerList>(field->front().value)), parameters);
}

const Time signed_at{1'790'000'000'500'000};
const std::string body = R"({"fence":"1"})";

struct Agent {
    MachineId machine{*parse_uuid("01920000-0000-7000-8000-000000000001")};
    RequestSigner signer{machine, crypto::Ed25519Key{crypto::Secret(Bytes(32, 'k'))}};

    http::Request request(Time created = signed_at, std::string nonce = "n-1") const {
        http::Request request;
        request.method = "POST";
        request.target = "/api/v1/host-agent/heartbeat?a=%20b";
        request.body = body;
        request.headers.add("Host", "Berth.example:8080");
        const auto fields =
            signer.sign({"POST", "berth.example:8080", "/api/v1/host-agent/heartbeat", "a=%20b"},
                        body, {created, nonce});
        request.headers.add("Content-Digest", fields.content_digest);
        request.headers.add("Signature-Input", fields.signature_input);
        request.headers.add("Signature", fields.signature);
        return request;
    }
};

http::Headers with(const http::Headers& headers, std::string_view name,
                   const std::function<void(std::string&)>& change) {
    http::Headers changed;
    for (const auto& field : headers) {
        std::string value = field.value;
        if (field.name == name) change(value);
        changed.add(field.name, value);
    }
    return changed;
}

std::optional<SignatureFault> judge(const Agent& agent, const http::Request& request) {
    const ParsedSignature parsed = parse_signature(request.headers);
    if (parsed.fault) return parsed.fault;
    if (!is_timely(parsed.value, signed_at)) return SignatureFault::created;
    if (!has_digest(parsed.value, request.body)) return SignatureFault::digest;
    const std::string authority = authority_of(request);
    if (!verify(parsed.value, parts_of(request, authority), agent.signer.key().public_key()))
        return SignatureFault::signature;
    return std::nullopt;
}

TEST(Signature, OfAnAgentIsReadBackAndHolds) {
    const Agent agent;
    const http::Request request = agent.request();
    EXPECT_EQ(judge(agent, request), std::nullopt);
    const RequestSignature parsed = parse_signature(request.headers).value;
    EXPECT_EQ(parsed.key_id, agent.machine.uuid);
    EXPECT_EQ(parsed.nonce, "n-1");
    EXPECT_EQ(parsed.created, Time{1'790'000'000'000'000});
}

TEST(Signature, OfAnOutboundRequestCoversWhatTheServerSees) {
    const Agent agent;
    for (const auto& [url, target] :
         {std::pair<std::string, std::string>{"http://Berth.example:8080/a/b?x=1", "/a/b?x=1"},
          {"http://berth.example:8080", "/"},
          {"https://BERTH.example:8080/?", "/?"}}) {
        http::Outbound outbound{.method = "PUT", .url = url, .body = body};
        agent.signer.sign(outbound, {signed_at, "n"});
        http::Request request;
        request.method = "PUT";
        request.target = target;
        request.body = body;
        request.headers = outbound.headers;
        request.headers.add("Host", "berth.example:8080");
        EXPECT_EQ(judge(agent, request), std::nullopt) << url;
    }
}

TEST(Signature, DoesNotSurviveAnyFlippedBitOfWhatItCovers) {
    const Agent agent;
    const http::Request good = agent.request();
    const auto expect_refused = [&](const http::Request& request, const std::string& what) {
        EXPECT_NE(judge(agent, request), std::nullopt) << what;
    };
    const auto flip_all = [&](const std::string& text, const std::string& what,
                              const std::function<void(http::Request&, std::string)>& put) {
        for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
            std::string changed = text;
            changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
            http::Request request = agent.request();
            put(request, changed);
            // The authority has no case.
            if (authority_of(request) == authority_of(good) && what == "authority") continue;
            expect_refused(request, what + " bit " + std::to_string(bit));
        }
    };
    flip_all(good.method, "method", [](auto& request, auto text) { request.method = text; });
    flip_all(good.target, "target", [](auto& request, auto text) { request.target = text; });
    flip_all(good.body, "body", [](auto& request, auto text) { request.body = text; });
    for (const std::string name : {"Content-Digest", "Signature-Input", "Signature"})
        flip_all(std::string(*good.headers.find(name)), name, [&](auto& request, auto text) {
            request.headers = with(good.headers, name, [&](std::string& value) { value = text; });
        });
    flip_all("Berth.example:8080", "authority", [&](auto& request, auto text) {
        request.headers = with(good.headers, "Host", [&](std::string& value) { value = text; });
    });
}

TEST(Signature, OfAnotherKeyIsRefused) {
    const Agent agent;
    Agent other;
    other.signer = RequestSigner(agent.machine, crypto::Ed25519Key{crypto::Secret(Bytes(32, 'x'))});
    EXPECT_EQ(judge(agent, other.request()), SignatureFault::signature);
}

TEST(Signature, IsGoodForOneMinuteEitherWay) {
    const Agent agent;
    const auto at = [&](std::int64_t seconds) {
        return judge(agent, agent.request(signed_at + std::chrono::seconds(seconds)));
    };
    EXPECT_EQ(at(-60), std::nullopt);
    EXPECT_EQ(at(60), std::nullopt);
    EXPECT_EQ(at(-61), SignatureFault::created);
    EXPECT_EQ(at(61), SignatureFault::created);
}

struct Spoiled {
    std::string what;
    std::string field;
    std::function<void(std::string&)> change;
    SignatureFault fault;
};

std::function<void(std::string&)> replace(std::string from, std::string to) {
    return [from, to](std::string& text) {
        const std::size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
    };
}

TEST(Signature, ParametersMayStandInAnyOrder) {
    const Agent agent;
    const http::Request request = agent.request();
    http::Request shifted = agent.request();
    shifted.headers = with(request.headers, "Signature-Input", [](std::string& text) {
        const std::string tag = ";tag=\"berth-agent\"";
        text.erase(text.find(tag), tag.size());
        text.insert(text.find(';'), tag);
    });
    const ParsedSignature parsed = parse_signature(shifted.headers);
    EXPECT_FALSE(parsed.fault);
    EXPECT_NE(parsed.value.parameters, parse_signature(request.headers).value.parameters);
    // It covers the text as it stood, so moving a parameter afterwards spoils it.
    EXPECT_EQ(judge(agent, shifted), SignatureFault::signature);
}

TEST(Signature, OutsideTheProfileIsRefusedByName) {
    using Fault = SignatureFault;
    const std::string input = "Signature-Input";
    const std::vector<Spoiled> rows{
        {"two inputs", input, [](std::string& text) { text += ", b" + text.substr(3); },
         Fault::signatures},
        {"two signatures", "Signature", [](std::string& text) { text += ", b=:AAAA:"; },
         Fault::signatures},
        {"two labels", "Signature", replace("sig=", "sug="), Fault::signatures},
        {"reordered components", input,
         replace("\"@method\" \"@authority\"", "\"@authority\" \"@method\""), Fault::components},
        {"a component less", input, replace(" \"@query\"", ""), Fault::components},
        {"a component more", input, replace(" \"content-digest\"", " \"content-digest\" \"date\""),
         Fault::components},
        {"a component twice", input, replace("\"@query\"", "\"@path\""), Fault::components},
        {"no components", input,
         [](std::string& text) { text = "sig=()" + text.substr(text.find(")") + 1); },
         Fault::components},
        {"a flag on a component", input, replace("\"content-digest\"", "\"content-digest\";req=?1"),
         Fault::components},
        {"no created", input, replace(";created=1790000000", ""), Fault::parameters},
        {"no nonce", input, replace(";nonce=\"n-1\"", ""), Fault::parameters},
        {"empty nonce", input, replace("\"n-1\"", "\"\""), Fault::parameters},
        {"long nonce", input, replace("n-1", std::string(129, 'n')), Fault::parameters},
        {"no alg", input, replace(";alg=\"ed25519\"", ""), Fault::parameters},
        {"another alg", input, replace("ed25519", "hmac-sha256"), Fault::parameters},
        {"alg as a token", input, replace("\"ed25519\"", "ed25519"), Fault::parameters},
        {"another tag", input, replace("berth-agent", "berth-other"), Fault::parameters},
        {"no tag", input, replace(";tag=\"berth-agent\"", ""), Fault::parameters},
        {"an expiry", input, [](std::string& text) { text += ";expires=1790000060"; },
         Fault::parameters},
        {"no machine", input, replace("01920000-0000-7000-8000-000000000001", "me"),
         Fault::parameters},
        {"created as text", input, replace("created=1790000000", "created=\"1790000000\""),
         Fault::parameters},
        {"negative created", input, replace("created=", "created=-"), Fault::created},
        {"a parameter twice", input, [](std::string& text) { text += ";tag=\"berth-agent\""; },
         Fault::malformed},
        {"a space", input, replace("sig=", "sig= "), Fault::malformed},
        {"two spaces", input, replace(" \"@path\"", "  \"@path\""), Fault::malformed},
        {"a leading zero", input, replace("created=1", "created=01"), Fault::malformed},
        {"an item", input, [](std::string& text) { text = "sig=\"@method\""; }, Fault::malformed},
        {"nothing", input, [](std::string& text) { text.clear(); }, Fault::malformed},
        {"a list for a signature", "Signature", [](std::string& text) { text = "sig=()"; },
         Fault::malformed},
        {"no padding", "Signature", [](std::string& text) { text.erase(text.size() - 2, 1); },
         Fault::malformed},
        {"a short signature", "Signature", [](std::string& text) { text = "sig=:AAAA:"; },
         Fault::signature},
        {"another digest", "Content-Digest", replace("sha-256", "sha-512"), Fault::digest},
        {"two digests", "Content-Digest", [](std::string& text) { text += ", md5=:AAAA:"; },
         Fault::digest},
        {"a digest of other bytes", "Content-Digest",
         [](std::string& text) { text = content_digest("other"); }, Fault::digest},
    };
    const Agent agent;
    for (const Spoiled& row : rows) {
        http::Request request = agent.request();
        request.headers = with(request.headers, row.field, row.change);
        EXPECT_EQ(judge(agent, request), row.fault) << row.what;
        EXPECT_FALSE(describe(row.fault).empty());
    }
}

TEST(Signature, FieldsMustBeThereOnce) {
    const Agent agent;
    const http::Request good = agent.request();
    for (const std::string name : {"Content-Digest", "Signature-Input", "Signature"}) {
        http::Request without = agent.request();
        without.headers = {};
        for (const auto& field : good.headers)
            if (field.name != name) without.headers.add(field.name, field.value);
        EXPECT_EQ(judge(agent, without), SignatureFault::missing) << name;
        http::Request twice = agent.request();
        twice.headers.add(name, std::string(*good.headers.find(name)));
        EXPECT_EQ(judge(agent, twice), SignatureFault::repeated) << name;
    }
}

TEST(Signature, OfAGateIsNoneOfAMachineWithTheSameIdAndKey) {
    const Agent agent;
    const RequestSigner gate(GateId{agent.machine.uuid},
                             crypto::Ed25519Key{crypto::Secret(Bytes(32, 'k'))});
    http::Outbound report{.method = "POST", .url = "https://berth.example/a", .body = body};
    gate.sign(report, {signed_at, "n"});
    EXPECT_EQ(parse_signature(report.headers).fault, SignatureFault::parameters);
    const ParsedSignature parsed = parse_signature(report.headers, Signer::gate);
    ASSERT_EQ(parsed.fault, std::nullopt);
    EXPECT_EQ(parsed.value.key_id, agent.machine.uuid);
    EXPECT_TRUE(verify(parsed.value, {"POST", "berth.example", "/a", ""}, gate.key().public_key()));
    EXPECT_EQ(parse_signature(agent.request().headers, Signer::gate).fault,
              SignatureFault::parameters);
}

TEST(UsedNonces, AreForgottenWhenTheirSignaturesCannotBeGoodAnyMore) {
    UsedNonces nonces;
    const Uuid machine{};
    const Time start{1'790'000'000'000'000};
    EXPECT_TRUE(nonces.use(machine, "a", start));
    EXPECT_FALSE(nonces.use(machine, "a", start));
    EXPECT_FALSE(nonces.use(machine, "a", start + std::chrono::seconds(121)));
    EXPECT_FALSE(nonces.use(machine, "a", start + UsedNonces::generation));
    EXPECT_TRUE(nonces.use(machine, "a", start + 3 * UsedNonces::generation));
}

}  // namespace
}  // namespace berth::agent_protocol
