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

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace glim
