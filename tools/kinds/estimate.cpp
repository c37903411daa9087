#include "tools/kinds/estimate.hpp"

#include <fmt/format.h>

#include "tensor/error.hpp"

namespace glim {
namespace {

constexpr double kLayerObjects = 8192;  // names, leaves and small tensors of one layer
constexpr double kExample = 256;        // two sentences of a few words and their tokens

std::string in_units(double bytes) {
  const char* units[] = {"MB", "GB", "TB", "PB", "EB"};
  int unit = 0;
  for (bytes /= 1e6; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

}  // namespace

double least_decoders(const TrainOptions& o) {
  const double decoders = o.number("decoder_layers");
  return decoders > 0 ? decoders : o.number("layers");
}

Least with_positions(const TrainOptions& o, Least least, double positions) {
  const double rows = positions * o.number("d_model");
  if (o.value("positions") == "learned") least.parameters += rows;
  if (o.value("positions") == "sinusoidal") least.buffers += rows;
  return least;
}

Least least_of_layers(const TrainOptions& o, double decoders, double positions) {
  const double d = o.number("d_model"), layers = o.number("layers");
  const double shared = o.number("kv_heads");  // 0: none, or no such size
  const double key_and_value = shared > 0 ? 2 * shared / o.number("heads") : 2;
  const double attention = (2 + key_and_value) * d * d, feed_forward = 2 * d * o.number("d_ff");
  return with_positions(o,
                        {.parameters = layers * (attention + feed_forward) +
                                       decoders * (2 * attention + feed_forward),
                         .layers = layers + decoders},
                        positions);
}

MemoryNeed least_memory(const TrainOptions& o) {
  const Least least = kind_named(o.kind).least(o);
  const double element = o.precision == "float64" ? 8 : 4, copies = o.optimizer == "sgd" ? 2 : 4;
  MemoryNeed need;
  need.model = element * (copies * least.parameters + least.buffers) + kLayerObjects * least.layers;
  if (o.task == "copy" || o.task == "reverse" || o.task == "noisy")
    need.data = kExample * static_cast<double>(o.examples);
  return need;
}

void require_memory(const TrainOptions& o, double machine) {
  MemoryNeed need = least_memory(o);
  if (machine <= 0 || need.model + need.data <= machine) return;
  std::string has = "; this machine has " + in_units(machine);
  if (need.data > need.model)
    throw ValueError("--examples", fmt::format("{} examples need at least {} of memory{}",
                                               o.examples, in_units(need.data), has));
  std::vector<std::string> sizes;
  for (const char* key : {"d_ff", "kernel", "max_length", "block"})
    if (const auto value = o.value(key); !value.is_null())
      sizes.push_back("--" + dashed(key) + " " + value.dump());
  throw ValueError("--layers, --d-model",
                   fmt::format("with {} layers of width {} ({}) the model and its training need at "
                               "least {} of memory{}",
                               o.value("layers").dump(), o.value("d_model").dump(),
                               fmt::join(sizes, ", "), in_units(need.model), has));
}

}  // namespace glim
