// One setting: a value, the rule it keeps, and all there is to say about it. A feature declares its
// settings as the members of a struct, each a line of its own; see README.md.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.hpp"

namespace berth::settings {

enum class Category {
    branding,
    contact,
    money,
    mail,
    alerts,
    auth_providers,
    chain_access,
    operations,
};
std::string_view name(Category category);  // "auth-providers"

// Why a setting cannot be changed while the service runs.
inline constexpr std::string_view root_of_trust =
    "Root of trust: it is set where the server is started, and nowhere else.";
inline constexpr std::string_view read_at_start =
    "It is read when a process starts; set it where the server is started.";

struct About {
    std::string_view label;
    std::string_view help;
    std::string_view unit = {};
    std::string_view pinned = {};  // root_of_trust or read_at_start; empty: operators may change it
    bool secret = false;           // its value is shown to nobody; it must be pinned
    std::string_view flag = {};    // where the name of the member would not do as a flag: "brand"
};

// A text is not a value of its setting; the message says what it must be.
class BadValue : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A setting whatever its type.
class Field {
public:
    virtual ~Field() = default;

    const About& about() const { return about_; }
    virtual void read(const std::string& text) = 0;  // throws BadValue
    virtual std::string text() const = 0;            // as read() takes it
    virtual std::string json() const;
    virtual std::string bounds() const { return {}; }  // "1 to 10", for people
    virtual bool is_flag() const { return false; }

protected:
    explicit Field(const About& about) : about_(about) {}
    Field(const Field&) = default;
    Field& operator=(const Field&) = default;

private:
    About about_;
};

class Flag final : public Field {
public:
    Flag(bool initial, const About& about) : Field(about), value_(initial) {}

    bool operator*() const { return value_; }
    void read(const std::string& text) override;
    std::string text() const override { return value_ ? "true" : "false"; }
    std::string json() const override { return text(); }
    bool is_flag() const override { return true; }

private:
    bool value_;
};

struct Bounds {
    std::int64_t low;
    std::int64_t high;
};

class Whole final : public Field {
public:
    Whole(std::int64_t initial, Bounds bounds, const About& about)
        : Field(about), bounds_(bounds), value_(initial) {}

    std::int64_t operator*() const { return value_; }
    void read(const std::string& text) override;
    std::string text() const override { return std::to_string(value_); }
    std::string json() const override { return text(); }
    std::string bounds() const override;

private:
    Bounds bounds_;
    std::int64_t value_;
};

// Micro-units of a settlement asset.
class Amount final : public Field {
public:
    Amount(Micro initial, Bounds bounds, const About& about)
        : Field(about), bounds_(bounds), value_(initial) {}

    Micro operator*() const { return value_; }
    void read(const std::string& text) override;
    std::string text() const override { return std::to_string(value_.value); }
    std::string bounds() const override;

private:
    Bounds bounds_;
    Micro value_;
};

// Anything that is written as a text; `parse` throws BadValue.
template <class T>
class Parsed final : public Field {
public:
    using Parse = T (*)(const std::string& text);

    Parsed(std::string initial, Parse parse, const About& about)
        : Field(about), parse_(parse), text_(std::move(initial)), value_(parse(text_)) {}

    const T& operator*() const { return value_; }
    const T* operator->() const { return &value_; }
    void read(const std::string& text) override {
        value_ = parse_(text);
        text_ = text;
    }
    std::string text() const override { return text_; }

private:
    Parse parse_;
    std::string text_;
    T value_;
};
using Text = Parsed<std::string>;
using List = Parsed<std::vector<std::string>>;

// Parsers for what many settings are.
std::string any_text(const std::string& text);
std::string some_text(const std::string& text);   // not empty
std::string short_text(const std::string& text);  // one line of 1 to 60 characters
bool is_web_url(std::string_view url);            // http or https, and no query
std::string web_page(const std::string& text);    // is_web_url, and paths can be put behind it
std::vector<std::string> comma_list(const std::string& text);
std::int64_t whole_number(const std::string& text, Bounds bounds);

}  // namespace berth::settings
