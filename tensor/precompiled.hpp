// What nearly every source of the core includes, compiled once (meson.build). A source includes what it
// uses all the same: without precompiled headers it must compile too.
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

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/tensor.hpp"
