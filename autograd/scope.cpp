#include "autograd/scope.hpp"

#include <fnmatch.h>
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

bool glob_match(std::string_view pattern, std::string_view path) {
  std::string known;  // fnmatch gives [ and \ a meaning, too
  for (char c : pattern) {
    if (c == '[' || c == '\\') known += '\\';
    known += c;
  }
  return ::fnmatch(known.c_str(), std::string(path).c_str(), 0) == 0;
}

}  // namespace glim
