// The standard headers nearly every file uses, and the Boost header the wire tables need.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/describe.hpp>
#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
