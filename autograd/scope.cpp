#include "autograd/scope.hpp"

#include <utility>

#include "tensor/error.hpp"

namespace glim {
namespace {
thread_local std::vector<std::string> names;
thread_local std::string joined;
thread_local std::uint64_t changes = 1;

// Before main: every error that is made within a module names it.
[[maybe_unused]] const bool errors_know_scopes =
    (Error::find_scope_by([] { return Scope::path(); }), true);

void push_path(std::string_view name) {
  if (!joined.empty()) joined += '.';
  joined += name;
}

void join() {
  joined.clear();
  for (const std::string& name : names) push_path(name);
}

}  // namespace

Scope::Scope(std::string_view name) : pushed_(!name.empty()) {
  if (!pushed_) return;
  names.emplace_back(name);
  length_ = joined.size();
  push_path(name);
  ++changes;
}

Scope::Scope(std::vector<std::string> stack) : replaces_(true) {
  replaced_ = std::exchange(names, std::move(stack));
  join();
  ++changes;
}

Scope::~Scope() {
  if (replaces_) {
    names = std::move(replaced_);
    join();
  }
  if (pushed_) {
    names.pop_back();
    joined.resize(length_);
  }
  if (pushed_ || replaces_) ++changes;
}

const std::string& Scope::path() { return joined; }

const std::vector<std::string>& Scope::stack() { return names; }
std::uint64_t Scope::version() { return changes; }

}  // namespace glim
