// An allocation that fails: operator new of a test program. One of its files includes this.
#pragma once

#include <cstdlib>
#include <new>

namespace {

thread_local long until_failure = -1;  // allocations; none fails when negative

}  // namespace

void* operator new(std::size_t bytes) {
  void* p = until_failure >= 0 && until_failure-- == 0 ? nullptr : std::malloc(bytes + !bytes);
  if (!p) throw std::bad_alloc();
  return p;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes + !bytes);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
