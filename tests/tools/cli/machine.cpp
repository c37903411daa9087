// `glim doctor`: the machine that it reads, and its advice. The machines are folders of files like
// those of /proc and /sys.
#include "tools/common/machine.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"

namespace test_machine {

using namespace glim;
namespace fs = std::filesystem;

namespace {

struct Root {
  std::string path = (fs::temp_directory_path() / "glim-machine-XXXXXX").string();
  Root() { REQUIRE(::mkdtemp(path.data())); }
  ~Root() { fs::remove_all(path); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  void file(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path + name).parent_path());
    std::ofstream(path + name) << text;
  }
};

std::string processor(int package, int core, const std::string& flags) {
  return "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nphysical id\t: " +
         std::to_string(package) + "\ncore id\t\t: " + std::to_string(core) +
         "\nflags\t\t: " + flags + "\n\n";
}

// A machine on which nothing makes Glim slow.
Machine quick_machine() {
  Machine m;
  m.features = {"avx", "avx2", "fma"};
  m.processors = m.cores = 4;
  m.load = 1;
  m.memory_bytes = m.available_bytes = std::int64_t{8} << 30;
  m.huge_pages = "madvise";
  return m;
}
Runtime quick_runtime() {
  Runtime r;
  r.blas.core = "Haswell";
  r.blas.parallel = "openmp";
  r.threads = 4;
  return r;
}

// All advice: "problem | remedy; problem | remedy".
std::string advice(const Machine& m, const Runtime& r) {
  std::string all;
  for (const Advice& a : advise(m, r))
    all += (all.empty() ? "" : "; ") + a.problem + " | " + a.remedy;
  return all;
}

}  // namespace

TEST_CASE("a machine is what Linux says of it") {
  Root root;
  root.file("/proc/cpuinfo", processor(0, 0, "fpu avx2") + processor(0, 0, "fpu avx2") +
                                 processor(0, 1, "fpu avx2") + processor(1, 0, "fpu avx2"));
  root.file("/proc/loadavg", "2.25 1.00 0.50 3/100 4242\n");
  root.file("/proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n");
  root.file("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  root.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  Machine m = inspect_machine(root.path);
  CHECK(m.cpu == "Some CPU @ 2 GHz");
  CHECK(m.features == std::set<std::string>{"fpu", "avx2"});
  CHECK(m.cores == 3);  // two processors of the first share a core
  CHECK(m.processors >= 1);
  CHECK(m.quota == 1.5);
  CHECK(m.load == 2.25);
  CHECK(m.memory_bytes == 2048 * 1024);
  CHECK(m.available_bytes == 1024 * 1024);
  CHECK(m.huge_pages == "madvise");
}

TEST_CASE("what Linux does not say of a machine stays unknown") {
  Root root;
  Machine m = inspect_machine(root.path);
  CHECK(m.cpu.empty());
  CHECK(m.cores == 0);
  CHECK(m.quota == 0);
  CHECK(m.memory_bytes == 0);
  CHECK(m.huge_pages.empty());

  root.file("/sys/fs/cgroup/cpu.max", "max 100000\n");
  root.file("/sys/kernel/mm/transparent_hugepage/enabled", "nonsense\n");
  root.file("/proc/meminfo", "MemTotal: much\n");
  m = inspect_machine(root.path);
  CHECK(m.quota == 0);
  CHECK(m.memory_bytes == 0);
  CHECK(m.huge_pages.empty());

  m.processors = 4;
  CHECK(advice(m, quick_runtime()) == "");
}

TEST_CASE("where nothing makes Glim slow there is no advice") {
  CHECK(advice(quick_machine(), quick_runtime()) == "");
}

TEST_CASE("a slow build and a slow BLAS are named") {
  Machine m = quick_machine();
  Runtime r = quick_runtime();
  r.optimized = false;
  CHECK(advice(m, r).starts_with("this build is not optimized"));
  r.sanitized = true;
  CHECK(advice(m, r).starts_with("this build has sanitizers"));
  r = quick_runtime();
  r.blas.parallel = "pthread";
  CHECK(advice(m, r).find("| apt-get install libopenblas0-openmp") != std::string::npos);
  r.blas.parallel = "sequential";
  CHECK(advice(m, r).starts_with("this is the sequential build of OpenBLAS"));
}

TEST_CASE("too many threads and too few are named") {
  Machine m = quick_machine();
  Runtime r = quick_runtime();
  r.threads = 5;
  CHECK(advice(m, r) == "5 threads share 4 processors | set OMP_NUM_THREADS=4 in the environment");
  r.threads = 3;
  CHECK(advice(m, r) == "3 threads on 4 cores | set OMP_NUM_THREADS=4 in the environment");
  r.threads = 1;
  r.threads_variable = "1";
  CHECK(advice(m, r) ==
        "1 thread on 4 cores, because OMP_NUM_THREADS=1 is set | unset OMP_NUM_THREADS");
  r = quick_runtime();
  m.quota = 0.4;  // of a processor
  m.load = 0.1;
  CHECK(advice(m, r) == "4 threads share 1 processor | set OMP_NUM_THREADS=1 in the environment");
  m = quick_machine();
  m.processors = 8;  // two for each core: threads for the cores are enough
  CHECK(advice(m, r) == "");
}

TEST_CASE("a machine that has other work is named") {
  auto with_load = [](double load) {
    Machine m = quick_machine();
    m.load = load;
    return advice(m, quick_runtime());
  };
  CHECK(with_load(6) == "");
  CHECK(with_load(6.1) ==
        "6.1 processes compete for 4 processors | wait until they end; what is measured until "
        "then is too low");
}

TEST_CASE("memory that is short or comes in small pages is named") {
  Machine m = quick_machine();
  m.huge_pages = "never";
  CHECK(advice(m, quick_runtime()).starts_with("transparent huge pages are off"));
  m = quick_machine();
  m.available_bytes = (std::int64_t{1} << 30) - 1;
  CHECK(advice(m, quick_runtime()).starts_with("less than 1 GiB of memory is free"));
}

}  // namespace test_machine
