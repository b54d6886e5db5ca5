#include "base/enum_names.hpp"

namespace berth {

std::string_view find_enum_name(EnumNames names, std::int64_t value) {
    for (const EnumName& each : names)
        if (each.value == value) return each.name;
    return {};
}

const EnumName* find_enum_value(EnumNames names, std::string_view name) {
    for (const EnumName& each : names)
        if (each.name == name) return &each;
    return nullptr;
}

}  // namespace berth
