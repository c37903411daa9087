// Loops on the threads of the standard library, which a build without OpenMP has: every piece once, on as many threads
// as OMP_NUM_THREADS says.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tensor/parallel.hpp"
#include "tensor/system/threads.hpp"

using namespace glim;

int main() {
  int passed = 0, failed = 0;
  auto check = [&](const char* what, bool right) {
    ++(right ? passed : failed);
    if (!right) std::printf("FAIL %s\n", what);
  };
  const std::pair<const char*, int> texts[] = {{"3", 3}, {"2,4", 2}, {"12", 12}};
  for (auto [text, count] : texts) {
    ::setenv("OMP_NUM_THREADS", text, 1);
    check(text, available_threads() == count);
  }
  for (const char* text : {"", "none", "0", "-2"}) {
    ::setenv("OMP_NUM_THREADS", text, 1);
    check(text, available_threads() >= 1);
  }
  ::setenv("OMP_NUM_THREADS", "4", 1);
  check("threads in use", num_threads() == 4);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> calls(1000, 0);  // a piece is computed by one thread
    parallel_each(1000, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    check("each piece once", calls == std::vector<int>(1000, 1));
  }
  // Four pieces that wait for one another need four threads.
  std::mutex mutex;
  std::condition_variable met;
  std::set<std::thread::id> ids;
  std::atomic<bool> all = true;
  parallel_each(4, [&](std::int64_t) {
    std::unique_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
    met.notify_all();
    if (!met.wait_for(lock, std::chrono::seconds(60), [&] { return ids.size() == 4; })) all = false;
  });
  check("four threads at once", all && ids.size() == 4);
  set_num_threads(2);
  ids.clear();
  parallel_each(100, [&](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  check("two threads at most", ids.size() <= 2);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
