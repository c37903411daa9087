#include "tensor/system/cpu.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace glim {
namespace {

// cpuid answers with every compiler; zig's __builtin_cpu_supports() denies all features.
Cpu inspect() {
  Cpu cpu;
#if defined(__x86_64__)
  unsigned a, b, c, d, saved, unused;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return cpu;
  const bool fma = c & bit_FMA;
  asm volatile("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return cpu;
  constexpr unsigned kYmm = 0x6, kZmm = 0xE6;  // bits of the registers that the system saves
  constexpr unsigned kAvx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  cpu.avx2 = fma && (saved & kYmm) == kYmm && (b & bit_AVX2);
  cpu.avx512 = cpu.avx2 && (saved & kZmm) == kZmm && (b & kAvx512) == kAvx512;
  constexpr unsigned kTiles = 0x60000, kAmx = 1u << 24 | 1u << 22, kBfloat16 = 1u << 5;
  const bool tiles = (saved & kTiles) == kTiles && (d & kAmx) == kAmx;
  cpu.amx = cpu.avx512 && tiles && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kBfloat16);
#endif
  return cpu;
}

}  // namespace

const Cpu& cpu() {
  static const Cpu found = inspect();
  return found;
}

bool request_amx() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023,
                 kTileData = 18;  // ARCH_REQ_XCOMP_PERM, in <asm/prctl.h>
  return cpu().amx && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace glim
