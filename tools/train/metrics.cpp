#include "tools/train/metrics.hpp"

#include <nlohmann/json.hpp>

namespace glim {
namespace {

void add_loss(nlohmann::ordered_json& line, const Measures& loss) {
  line["tokens"] = loss.tokens;
  line["kl"] = loss.kl;
  line["smoothed_ce"] = loss.smoothed_ce;
  line["nll"] = loss.nll;
  line["perplexity"] = loss.perplexity();
  if (loss.correct > 0) line["accuracy"] = loss.accuracy();
  if (loss.auxiliary != 0) line["auxiliary"] = loss.auxiliary;
}

}  // namespace

std::string metrics_line(const StepReport& r, const Measures& loss, double tokens_per_second,
                         double seconds) {
  nlohmann::ordered_json line = {{"type", "train"}, {"step", r.step}, {"epoch", r.epoch}};
  add_loss(line, loss);
  line["lr"] = r.rate;
  line["gradient_norm"] = r.gradient_norm;
  line["tokens_per_second"] = tokens_per_second;
  line["seconds"] = seconds;
  return line.dump();
}

std::string metrics_line(const ValidationReport& r) {
  nlohmann::ordered_json line = {{"type", "valid"}, {"step", r.step}, {"epoch", r.epoch}};
  add_loss(line, r.valid);
  line["improved"] = r.improved;
  return line.dump();
}

}  // namespace glim
