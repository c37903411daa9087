
#include "tensor/io/safetensors.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/fuzz/readers/readers.hpp"

namespace glim::fuzz {

void read_safetensors_bytes(std::string_view bytes) {
  const SafeTensors read = read_safetensors(memory_file(bytes));
  write_safetensors(scratch("f"), read.tensors, read.metadata);
  const SafeTensors again = read_safetensors(scratch("f"));
  require(again.metadata == read.metadata && again.tensors.size() == read.tensors.size(),
          "written again, a safetensors file reads differently");
  for (const auto& [name, x] : read.tensors)
    require(same_bits(x, again.tensors.at(name)), "written again, a tensor reads differently");
}

}  // namespace glim::fuzz
