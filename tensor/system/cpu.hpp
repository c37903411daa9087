// Instructions that the CPU has and whose registers the system saves.
#pragma once

namespace glim {

struct Cpu {
  bool avx2 = false;    // and fused multiply-adds
  bool avx512 = false;  // F, DQ, BW and VL, and avx2
  bool amx = false;     // tiles of bfloat16, and avx512 with conversions to it
};
const Cpu& cpu();
// Asks the system for the registers of AMX, for all threads of the process; false where it refuses or knows none.
bool request_amx();

}  // namespace glim
