// Structs that are described (Boost.Describe), and the proof that a description leaves no member
// out: a structured binding compiles only with as many names as the struct has members, so the
// compiler counts them, and at no cost (to try how many initializers a struct takes was a fifth of
// all it did).
#pragma once

#include <boost/describe/members.hpp>
#include <boost/mp11/list.hpp>
#include <boost/preprocessor/repetition/enum_params.hpp>
#include <boost/preprocessor/repetition/repeat_from_to.hpp>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace berth {

template <class T>
using Descriptions = boost::describe::describe_members<T, boost::describe::mod_public>;

template <std::size_t Names>
struct Binding;  // not defined for more names than are here
template <>
struct Binding<0> {
    template <class T>
    requires std::is_empty_v<T>
    static void bind(T& whole);
};
#define BERTH_BINDING(z, names, unused)                                           \
    template <>                                                                   \
    struct Binding<names> {                                                       \
        template <class T>                                                        \
        static auto bind(T& whole) {                                              \
            [[maybe_unused]] auto& [BOOST_PP_ENUM_PARAMS(names, member)] = whole; \
        }                                                                         \
    };
BOOST_PP_REPEAT_FROM_TO(1, 97, BERTH_BINDING, )
#undef BERTH_BINDING

// True, or an error that says how many members there are.
template <class T>
inline constexpr bool every_member_described =
    std::is_void_v<decltype(Binding<boost::mp11::mp_size<Descriptions<T>>::value>::bind(
        std::declval<T&>()))>;

}  // namespace berth
