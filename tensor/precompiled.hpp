// The standard headers of nearly every source of the core, compiled once (meson.build). A source includes each
// that it uses, too: it must compile without precompiled headers. No header of Glim is here: ccache hands out the
// precompiled header of before where only comments changed, and then GCC includes a `#pragma once` header again.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
