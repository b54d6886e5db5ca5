// Two leafs of the wire that only accounts have.
#include "accounts/integrations.hpp"
#include "base/json_text.hpp"
#include "mail/address.hpp"
#include "wire/schema.hpp"

namespace berth::accounts {
namespace {

void write(const wire::Type&, const void* value, std::string& out) {
    append_json_string(out, *static_cast<const std::string*>(value));
}

}  // namespace

const wire::Leaf email_leaf{
    .read =
        [](const wire::Type&, const wire::Scalar& input, void* out) {
            if (!input.is_text() || !mail::is_email(input.text)) return false;
            *static_cast<std::string*>(out) = input.text;
            return true;
        },
    .write = write,
    .json_type = "string",
    .format = "email",
    .example = "ada@example.com",
    .rule = "must be an email address",
    .constrain = [](const wire::Type&,
                    wire::json::object& schema) { schema["maxLength"] = mail::address_bytes_max; },
};

const wire::Leaf provider_leaf{
    .read =
        [](const wire::Type&, const wire::Scalar& input, void* out) {
            if (input.is_text()) *static_cast<std::string*>(out) = input.text;
            return input.is_text();
        },
    .write = write,
    .json_type = "string",
    .example = hub_provider,
    .rule = "must be a string",
    .constrain = [](const wire::Type&,
                    wire::json::object& schema) { schema["const"] = hub_provider; },
};

}  // namespace berth::accounts
