// What nearly every source of the tools includes, compiled once (tools/meson.build). A source includes
// what it uses all the same: without precompiled headers it must compile too.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/ops.hpp"
#include "nn/module.hpp"
#include "tensor/precompiled.hpp"
