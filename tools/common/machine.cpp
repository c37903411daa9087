#include "tools/common/machine.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tools/common/counted.hpp"

namespace glim {

std::vector<Advice> advise(const Machine& machine, const Runtime& runtime) {
  std::vector<Advice> list;
  if (runtime.sanitized)
    list.push_back({"this build has sanitizers, which make it many times slower",
                    "build without them: meson setup build --buildtype=release && ninja -C build"});
  else if (!runtime.optimized)
    list.push_back(
        {"this build is not optimized", "meson setup build --buildtype=release && ninja -C build"});

  if (runtime.blas.parallel == "pthread" || runtime.blas.parallel == "sequential")
    list.push_back({fmt::format("this is the {} build of OpenBLAS, not the one that Debian makes "
                                "for OpenMP, which Glim is measured with",
                                runtime.blas.parallel),
                    "apt-get install libopenblas0-openmp"});

  int processors = machine.processors;
  if (machine.quota > 0) processors = std::max(1, static_cast<int>(std::lround(machine.quota)));
  processors = std::min(processors, machine.processors);
  if (runtime.threads > processors)
    list.push_back(
        {fmt::format("{} threads share {}", runtime.threads, counted(processors, "processor")),
         fmt::format("set OMP_NUM_THREADS={} in the environment", processors)});
  else if (runtime.threads < machine.cores && runtime.threads < processors)
    list.push_back(
        {fmt::format("{} on {} cores{}", counted(runtime.threads, "thread"), machine.cores,
                     runtime.threads_variable
                         ? ", because OMP_NUM_THREADS=" + *runtime.threads_variable + " is set"
                         : ""),
         runtime.threads_variable
             ? "unset OMP_NUM_THREADS"
             : fmt::format("set OMP_NUM_THREADS={} in the environment", machine.cores)});

  if (machine.load > 1.5 * processors)
    list.push_back({fmt::format("{:.1f} processes compete for {}", machine.load,
                                counted(processors, "processor")),
                    "wait until they end; what is measured until then is too low"});
  if (machine.huge_pages == "never")
    list.push_back({"transparent huge pages are off, which costs large matrices a few percent",
                    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)"});
  if (machine.available_bytes > 0 && machine.available_bytes < (std::int64_t{1} << 30))
    list.push_back({"less than 1 GiB of memory is free", "close other programs"});
  return list;
}

}  // namespace glim
