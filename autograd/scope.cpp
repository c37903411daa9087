#include "autograd/scope.hpp"

#include <utility>

#include "tensor/error.hpp"

namespace glim {
namespace {
thread_local std::vector<std::string> names;
thread_local std::uint64_t changes = 1;

// Before main: every error that is made within a module names it.
[[maybe_unused]] const bool errors_know_scopes = (Error::find_scope_by(&Scope::path), true);
}  // namespace

std::string to_string(const Where& where) {
  std::string_view file = where.file_name();
  if (auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(where.line());
}

Scope::Scope(std::string_view name) : pushed_(!name.empty()) {
  if (!pushed_) return;
  names.emplace_back(name);
  ++changes;
}

Scope::Scope(std::vector<std::string> stack)
    : replaced_(std::exchange(names, std::move(stack))), replaces_(true) {
  ++changes;
}

Scope::~Scope() {
  if (replaces_) names = std::move(replaced_);
  if (pushed_) names.pop_back();
  if (pushed_ || replaces_) ++changes;
}

std::string Scope::path() {
  std::string joined;
  for (const std::string& n : names) joined += (joined.empty() ? "" : ".") + n;
  return joined;
}

const std::vector<std::string>& Scope::stack() { return names; }
std::uint64_t Scope::version() { return changes; }

}  // namespace glim
