#include "autograd/scope.hpp"

#include <utility>

#include "tensor/error.hpp"

namespace glim {
namespace {
thread_local std::string joined;
thread_local std::uint64_t changes = 1;

// Before main: every error that is made within a module names it.
[[maybe_unused]] const bool errors_know_scopes =
    (Error::find_scope_by([] { return Scope::path(); }), true);

}  // namespace

Scope::Scope(std::string_view name) : length_(joined.size()) {
  if (name.empty()) return;
  if (!joined.empty()) joined += '.';
  joined += name;
  ++changes;
}

Scope::Scope(Path whole) : before_(std::exchange(joined, std::move(whole.path))) { ++changes; }

Scope::~Scope() {
  if (before_)
    joined = std::move(*before_);
  else if (joined.size() != length_)
    joined.resize(length_);
  else
    return;
  ++changes;
}

const std::string& Scope::path() { return joined; }

std::uint64_t Scope::version() { return changes; }

std::string dotted(std::string_view scope, std::string_view name) {
  return scope.empty() ? std::string(name) : std::string(scope).append(".").append(name);
}

// After a * that does not match so far, one more character belongs to it.
bool glob_match(std::string_view pattern, std::string_view path) {
  std::size_t p = 0, star = std::string_view::npos, rest = 0;
  for (std::size_t i = 0; i < path.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      rest = i;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == path[i])) {
      ++p;
      ++i;
    } else if (star != std::string_view::npos) {
      p = star;
      i = ++rest;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace glim
