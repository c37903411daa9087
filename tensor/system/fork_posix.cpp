#include <pthread.h>
#include <ranges>
#include <vector>

#include "tensor/system/threads.hpp"

namespace glim {
namespace {

std::mutex registering;
std::vector<std::mutex*>& mutexes() {
  static auto* list = new std::vector<std::mutex*>;  // forks may come while a program ends
  return *list;
}
void lock_all() {
  registering.lock();
  for (std::mutex* mutex : std::views::reverse(mutexes())) mutex->lock();
}
void unlock_all() {
  for (std::mutex* mutex : mutexes()) mutex->unlock();
  registering.unlock();
}

}  // namespace

void hold_across_fork(std::mutex& mutex) {
  static const int registered = ::pthread_atfork(lock_all, unlock_all, unlock_all);
  static_cast<void>(registered);
  const std::lock_guard lock(registering);
  mutexes().push_back(&mutex);
}
void on_fork(void (*f)()) { ::pthread_atfork(nullptr, nullptr, f); }

}  // namespace glim
