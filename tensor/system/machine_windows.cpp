#include <bit>
#include <cpuid.h>
#include <cstring>
#include <vector>

#include "tensor/system/cpu.hpp"
#include "tensor/system/machine.hpp"
#include "tensor/system/windows.hpp"

namespace glim {
namespace {

std::string cpu_name() {
  char name[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned words[4];
    if (!__get_cpuid(0x80000002 + i, &words[0], &words[1], &words[2], &words[3])) return "";
    std::memcpy(name + 16 * i, words, 16);
  }
  const std::string text = name;
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

int physical_cores() {
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> list(bytes / sizeof list[0]);
  if (!GetLogicalProcessorInformation(list.data(), &bytes)) return 0;
  int cores = 0;
  for (const auto& one : list) cores += one.Relationship == RelationProcessorCore;
  return cores;
}

}  // namespace

Machine inspect_machine(const std::string&) {
  Machine m;
  m.cpu = cpu_name();
  if (cpu().avx2) m.features = {"avx2", "fma"};
  if (cpu().avx512) m.features.insert({"avx512f", "avx512dq", "avx512bw", "avx512vl"});
  DWORD_PTR usable = 0, all = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &usable, &all);
  m.processors = std::max(1, std::popcount(static_cast<std::uint64_t>(usable)));
  m.cores = physical_cores();
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof memory;
  if (GlobalMemoryStatusEx(&memory)) {
    m.memory_bytes = static_cast<std::int64_t>(memory.ullTotalPhys);
    m.available_bytes = static_cast<std::int64_t>(memory.ullAvailPhys);
  }
  return m;
}

}  // namespace glim
