// Where in the model we are: a path of names, one thread's own, to which modules add theirs as they run.
//
//   Scope scope("cross_attn");      // until the end of the block
//
// The path ("decoder.layers.1.multihead_attn") is the one that nodes of the tape and errors carry. Names are
// the ones that parameters have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/where.hpp"

namespace glim {

// A function that is made of ops opens one: until the end of the block, the ops that it calls are recorded
// at the line of its own call. The outermost one counts.
class CallSite {
 public:
  explicit CallSite(const Where& where) : outermost_(!site_) {
    if (outermost_) site_ = &where;
  }
  ~CallSite() {
    if (outermost_) site_ = nullptr;
  }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  // The line of the outermost one that is open, or else `fallback`.
  static const Where& or_own(const Where& fallback) {
    const Where* site = site_;
    return site ? *site : fallback;
  }

 private:
  static inline constinit thread_local const Where* site_ = nullptr;
  bool outermost_;
};

class Scope {
 public:
  explicit Scope(std::string_view name);  // an empty name pushes nothing
  // Takes the place of the whole path, as when a part of the model is run again in backward.
  struct Path {
    std::string path;
  };
  explicit Scope(Path whole);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  static const std::string& path();  // dotted join of the names
  static std::uint64_t version();    // changes whenever the path changes

 private:
  std::size_t length_ = 0;  // length of the path before
  std::optional<std::string> before_;
};

// "scope.name", or the name alone where no scope is open.
std::string dotted(std::string_view scope, std::string_view name);

// Does a path match? * any run of characters, ? one.
bool glob_match(std::string_view pattern, std::string_view path);

}  // namespace glim
