#include <cstdlib>
#include <mach/mach.h>
#include <sys/sysctl.h>

#include "tensor/system/cpu.hpp"
#include "tensor/system/machine.hpp"

namespace glim {
namespace {

template <class T>
T value_of(const char* name, T unknown) {
  T value{};
  std::size_t bytes = sizeof value;
  return ::sysctlbyname(name, &value, &bytes, nullptr, 0) == 0 ? value : unknown;
}

std::string cpu_name() {
  char name[256] = {};
  std::size_t bytes = sizeof name - 1;
  return ::sysctlbyname("machdep.cpu.brand_string", name, &bytes, nullptr, 0) == 0 ? name : "";
}

// The bytes of free and inactive pages. The system reclaims inactive ones first.
std::int64_t available_bytes() {
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const mach_port_t host = ::mach_host_self();
  const bool known =
      ::host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) ==
      KERN_SUCCESS;
  ::mach_port_deallocate(::mach_task_self(), host);
  if (!known) return 0;
  return (std::int64_t{pages.free_count} + pages.inactive_count) *
         value_of<std::int64_t>("hw.pagesize", 0);
}

}  // namespace

Machine inspect_machine(const std::string&) {
  Machine m;
  m.cpu = cpu_name();
  if (cpu().avx2) m.features = {"avx2", "fma"};
  if (cpu().avx512) m.features.insert({"avx512f", "avx512dq", "avx512bw", "avx512vl"});
  m.processors = value_of("hw.logicalcpu", 1);
  m.cores = value_of("hw.physicalcpu", 0);
  ::getloadavg(&m.load, 1);
  m.memory_bytes = value_of<std::int64_t>("hw.memsize", 0);
  m.available_bytes = available_bytes();
  return m;
}

}  // namespace glim
