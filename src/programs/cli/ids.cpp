#include "cli/ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/letters.hpp"
#include "cli/show.hpp"

namespace berth::cli {
namespace {

constexpr std::size_t prefix_min = 6;
constexpr int listed_each = 100;
constexpr int pages_searched_max = 20;
constexpr std::size_t shown_max = 4;

struct ListOf {
    std::string_view named;  // a flag, or the words of a command with an operand
    std::string_view list;
};
constexpr auto lists_of_flags = std::to_array<ListOf>({
    {"offer", "offers list"},
    {"template", "templates list"},
    {"wallet", "wallets list"},
    {"machine", "machines list"},
    {"machine-id", "machines list"},
    {"job-id", "rentals list"},
    {"address-id", "addresses list"},
});
// Of operators: everybody's.
constexpr auto lists_of_admin_flags = std::to_array<ListOf>({
    {"account", "admin users list"},
    {"account-id", "admin users list"},
    {"actor", "admin users list"},
    {"owner", "admin users list"},
    {"renter", "admin users list"},
    {"host", "admin users list"},
    {"machine", "admin machines list"},
    {"job-id", "admin rentals list"},
    {"key-id", "admin keys list"},
});
// Of other commands it is the list of their own noun.
constexpr auto lists_of_operands = std::to_array<ListOf>({
    {"offers edit", "machines list"},
    {"offers history", "machines list"},
    {"machines enrollment", ""},
    {"admin tickets close", "tickets list"},
    {"recoveries object-by-link", ""},
});

const Command* find_command(std::string_view words) {
    for (const Command* command : all_commands())
        if (command->words == words && !command->columns.empty()) return command;
    return nullptr;
}

const ListOf* find_list(std::span<const ListOf> lists, std::string_view named) {
    const auto found =
        std::find_if(lists.begin(), lists.end(), [&](const ListOf& l) { return l.named == named; });
    return found == lists.end() ? nullptr : &*found;
}

// The first letters of a UUID: a word of a page or of a talk has letters beyond f, or no digit.
bool can_begin_id(std::string_view text) {
    return text.size() >= prefix_min && text.size() < to_string(Uuid{}).size() &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return c == '-' || is_digit(c) || (c >= 'a' && c <= 'f'); }) &&
           std::any_of(text.begin(), text.end(), is_digit);
}

std::string_view id_member(const Command& list) {
    const std::string_view first = list.columns.substr(0, list.columns.find(' '));
    return first.substr(first.find('=') + 1);
}

bool has_pages(const Command& list) {
    if (list.query == nullptr) return false;
    const auto& members = list.query().members;
    return std::any_of(members.begin(), members.end(),
                       [](const wire::Member& member) { return member.name == "limit"; });
}

struct Named {
    std::string id;
    std::string slug;  // of a template
};

Named name_of(const Reading& page, Reading::Place row, const Command& list) {
    if (list.words.ends_with("templates list"))
        return {page.text("id", row), page.text("template_id", row)};
    return {page.text(id_member(list), row), ""};
}

std::vector<Named> names_in(Context& context, const Command& list, int pages_max, bool is_patient) {
    std::vector<Named> all;
    std::string cursor;
    for (int page = 0; page < pages_max; ++page) {
        std::string path(list.path);
        if (has_pages(list)) path += fmt::format("?limit={}", listed_each);
        if (!cursor.empty()) path += "&cursor=" + percent_encode(cursor);
        const Reading answer(
            context.api()
                .send({.path = path, .access = list.access, .is_patient = is_patient})
                .body);
        for (const Reading::Place row : answer.rows()) all.push_back(name_of(answer, row, list));
        cursor = answer.text("next_cursor");
        if (cursor.empty()) break;
    }
    return all;
}

std::string_view thing_of(const Command& list) {
    std::string_view noun = list.words.substr(0, list.words.rfind(' '));
    if (noun.starts_with("admin ")) noun.remove_prefix(6);
    return noun;
}

// The whole id; empty where there is none that begins so.
std::string whole_id(Context& context, const Command& list, const std::string& typed) {
    const bool is_template = list.words.ends_with("templates list");
    if (parse_uuid(typed) || (!is_template && !can_begin_id(typed))) return typed;
    std::set<std::string> found;
    std::vector<std::string> slugs;
    for (const Named& each : names_in(context, list, pages_searched_max, true)) {
        if (is_template && each.slug == typed) return each.id;
        if (can_begin_id(typed) && each.id.starts_with(typed)) found.insert(each.id);
        slugs.push_back(each.slug);
    }
    if (found.size() == 1) return *found.begin();
    if (found.empty() && is_template) {
        const std::string meant = nearest(typed, slugs);
        throw Failure(Exit::not_found,
                      fmt::format("there is no template '{}'; {}", printable(typed),
                                  meant.empty() ? "see berth templates list"
                                                : "did you mean '" + meant + "'?"));
    }
    if (found.empty()) return "";
    std::string some;
    for (const std::string& id : found)
        if (const auto shown = std::count(some.begin(), some.end(), ' ');
            static_cast<std::size_t>(shown) < shown_max)
            some += " " + id;
    throw Failure(Exit::usage, fmt::format("{} {} begin with {}:{}{}", found.size(), thing_of(list),
                                           typed, some, found.size() > shown_max ? " …" : ""));
}

// In these a word that is no id is something else: what to say, which page to open.
bool may_be_other(const Command& command) {
    constexpr std::string_view those[] = {"rentals chat", "rentals open", "rentals cp",
                                          "rentals forward"};
    return std::find(std::begin(those), std::end(those), command.words) != std::end(those);
}

}  // namespace

const Command* list_of_operand(const Command& command) {
    if (operands_of(command).empty()) return nullptr;
    if (const ListOf* const other = find_list(lists_of_operands, command.words))
        return find_command(other->list);
    const std::size_t space = command.words.rfind(' ');
    if (space == std::string_view::npos) return nullptr;
    const std::string noun(command.words.substr(0, space));
    return find_command(noun + " list");
}

const Command* list_of_flag(const Command& command, std::string_view name) {
    const auto flags = flags_of(command);
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [&](const Flag& each) { return each.name == name; });
    // The wallet of an allow list is an address, and an offer may be a state.
    if (flag == flags.end() || !flag->value.ends_with("ID")) return nullptr;
    const std::span<const ListOf> lists = command.words.starts_with("admin ")
                                              ? std::span<const ListOf>(lists_of_admin_flags)
                                              : std::span<const ListOf>(lists_of_flags);
    const ListOf* const found = find_list(lists, name);
    return found == nullptr ? nullptr : find_command(found->list);
}

void complete_ids(Context& context, CommandLine& line) {
    if (context.is_rehearsal()) return;
    const auto& operands = line.arguments.operands;
    if (const Command* const list = list_of_operand(*line.command); list && !operands.empty()) {
        const std::string id = whole_id(context, *list, operands[0]);
        if (!id.empty())
            line.arguments.operands[0] = id;
        else if (!may_be_other(*line.command))
            throw Failure(Exit::not_found,
                          fmt::format("none of the {} begins with {}; see berth {}",
                                      thing_of(*list), printable(operands[0]), list->words));
    }
    for (const Flag& flag : line.flags) {
        const Command* const list = list_of_flag(*line.command, flag.name);
        const auto given = line.arguments.find(flag.name);
        if (list == nullptr || !given) continue;
        const std::string id = whole_id(context, *list, *given);
        if (id.empty())
            throw Failure(Exit::not_found,
                          fmt::format("--{}: none of the {} begins with {}; see berth {}",
                                      flag.name, thing_of(*list), printable(*given), list->words));
        line.arguments.set(flag.name, id);
    }
}

std::vector<std::string> ids_on_offer(Context& context, const Command& list,
                                      std::string_view begin) {
    std::vector<std::string> found;
    try {
        for (const Named& each : names_in(context, list, 1, false))
            for (const std::string& name : {each.slug, each.id})
                if (!name.empty() && name.starts_with(begin)) found.push_back(printable(name));
    } catch (const Failure&) {  // a shell that completes has no use for it
    }
    return found;
}

}  // namespace berth::cli
