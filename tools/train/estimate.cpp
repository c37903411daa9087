#include "tools/train/estimate.hpp"

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

MemoryNeed least_memory(const TrainOptions& o) {
  auto d = static_cast<double>(o.d_model), ff = static_cast<double>(o.d_ff);
  auto layers = static_cast<double>(o.layers);
  auto decoders = static_cast<double>(o.decoder_layers ? o.decoder_layers : o.layers);
  auto kernel = static_cast<double>(o.kernel);
  auto rows = static_cast<double>(o.kind == "gpt" ? o.block : o.max_length);
  double attention = 4 * d * d, feed_forward = 2 * d * ff;
  bool translates = o.kind == "transformer" || o.kind == "non-autoregressive";
  double parameters = 0;
  if (o.kind == "rnn")
    parameters = layers * 2 * d * d + static_cast<double>(o.d_embed);
  else if (o.kind == "conv")
    parameters = (layers + decoders) * kernel * 2 * d * d;
  else if (o.kind == "cnn")
    parameters = (layers - 1) * kernel * kernel * d * d;
  else
    parameters = layers * (attention + feed_forward);
  if (translates) parameters += decoders * (2 * attention + feed_forward);
  const double rows_of_positions =
      o.kind == "rnn" || o.kind == "vit" || o.kind == "cnn" ? 0 : rows * d;
  if (o.positions == "learned") parameters += rows_of_positions;
  double table = o.positions == "sinusoidal" ? rows_of_positions : 0;
  double element = o.precision == "float64" ? 8 : 4;
  double copies = o.optimizer == "sgd" ? 2 : 4;
  MemoryNeed need;
  need.model = element * (copies * parameters + table) +
               kLayerObjects * (layers + (translates ? decoders : 0));
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
  throw ValueError(
      "--layers, --d-model",
      fmt::format(
          "with {} layers of width {} (--d-ff {}, --kernel {}, --max-length {}, --block {}) the "
          "model and its training need at least {} of memory{}",
          o.layers, o.d_model, o.d_ff, o.kernel, o.max_length, o.block, in_units(need.model), has));
}

}  // namespace glim
