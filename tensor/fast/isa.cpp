#include "tensor/simd/isa.hpp"

#include <cstdlib>
#include <string>

#include "tensor/error.hpp"
#include "tensor/system/cpu.hpp"

namespace glim {
namespace {

bool runs(Isa isa) {
  return isa == Isa::Baseline || (isa == Isa::Avx2 && cpu().avx2) ||
         (isa == Isa::Avx512 && cpu().avx512);
}

Isa choose() {
  Isa best = supported_isas().back();
  const char* name = std::getenv("GLIM_ISA");
  if (!name || !*name) return best;
  if (std::string_view(name) == "amx" && amx() == Amx::Used) return best;
  std::string known;
  for (Isa isa : supported_isas()) {
    if (name_of(isa) == name) return isa;
    known += (known.empty() ? "" : ", ") + std::string(name_of(isa));
  }
  throw ValueError("GLIM_ISA", "'" + std::string(name) + "' is not one of " + known);
}

Amx request() {
  const char* name = std::getenv("GLIM_ISA");
  if (!cpu().amx || (name && *name && std::string_view(name) != "amx")) return Amx::None;
  return request_amx() ? Amx::Used : Amx::Refused;
}

}  // namespace

Amx amx() {
  static const Amx use = request();
  return use;
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> list;
  for (Isa isa : {Isa::Baseline, Isa::Avx2, Isa::Avx512})
    if (runs(isa)) list.push_back(isa);
  return list;
}

Isa best_isa() {
  static const Isa isa = choose();
  return isa;
}

std::string_view name_of(Isa isa) {
  return isa == Isa::Baseline ? "baseline" : isa == Isa::Avx2 ? "avx2" : "avx512";
}

}  // namespace glim
