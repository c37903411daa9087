#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <utility>

#include "tensor/system/machine.hpp"

namespace glim {
namespace {

std::string trimmed(const std::string& text) {
  auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void read_cpuinfo(const std::string& path, Machine& m) {
  std::ifstream in(path);
  std::set<std::pair<std::string, std::string>> cores;
  std::string line, package;
  while (std::getline(in, line)) {
    auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string key = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
    if (key == "model name") m.cpu = value;
    if (key == "physical id") package = value;
    if (key == "core id") cores.emplace(package, value);
    if (key == "flags" && m.features.empty()) {
      std::istringstream words(value);
      for (std::string word; words >> word;) m.features.insert(word);
    }
  }
  m.cores = static_cast<int>(cores.size());
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// "max 100000" or "150000 100000": microseconds of each period.
double read_quota(const std::string& path) {
  std::ifstream in(path);
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) return 0;
  return static_cast<double>(std::atoll(quota.c_str())) / period;
}

void read_meminfo(const std::string& path, Machine& m) {
  std::ifstream in(path);
  std::string key, unit;
  for (std::int64_t value; in >> key >> value; std::getline(in, unit)) {
    if (key == "MemTotal:") m.memory_bytes = value * 1024;
    if (key == "MemAvailable:") m.available_bytes = value * 1024;
  }
}

// The container's limit of memory, in bytes; 0: no limit.
std::int64_t read_limit(const std::string& path) {
  std::ifstream in(path);
  std::int64_t bytes = 0;
  return in >> bytes ? bytes : 0;
}

// "always [madvise] never" -> "madvise"
std::string read_choice(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  auto open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return "";
  return line.substr(open + 1, close - open - 1);
}

}  // namespace

Machine inspect_machine(const std::string& root) {
  Machine m;
  read_cpuinfo(root + "/proc/cpuinfo", m);
  m.processors = usable_processors();
  m.quota = read_quota(root + "/sys/fs/cgroup/cpu.max");
  std::ifstream(root + "/proc/loadavg") >> m.load;
  read_meminfo(root + "/proc/meminfo", m);
  if (std::int64_t limit = read_limit(root + "/sys/fs/cgroup/memory.max"); limit > 0)
    m.memory_bytes = std::min(m.memory_bytes, limit);
  m.huge_pages = read_choice(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  return m;
}

}  // namespace glim
