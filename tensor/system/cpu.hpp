// Instructions that the CPU has and whose registers the system saves.
#pragma once

namespace glim {

struct Cpu {
  bool avx2 = false;    // and fused multiply-adds
  bool avx512 = false;  // F, DQ, BW and VL, and avx2
};
const Cpu& cpu();

}  // namespace glim
