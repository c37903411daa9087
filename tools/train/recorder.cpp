#include "tools/train/recorder.hpp"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "optim/clip.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/train/batch_curvature.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

constexpr Index kNumberBytes = 12;  // at most, with its comma: "1.23457e-05,"

std::string json_number(double v) { return std::isfinite(v) ? fmt::format("{:.6g}", v) : "null"; }

std::string array(const std::vector<double>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + json_number(values[i]);
  return text + "]";
}

template <class List, class F>
std::vector<double> each(const List& list, const F& f) {
  std::vector<double> values;
  for (const auto& item : list) values.push_back(f(item));
  return values;
}

template <class F>
std::string arrays(const std::vector<ProbedAttention>& list, const F& f) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? "," : "") + array(f(list[i]));
  return text + "]";
}

// Parameters by the module that owns them, in order.
std::string owner(const std::string& parameter) {
  auto dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

}  // namespace

StepRecorder::StepRecorder(const std::string& path, Learner& learner, Index every, Index from_step,
                           Index total_steps, const std::optional<std::vector<std::string>>& kinks)
    : learner_(learner), every_(every) {
  for (auto& [name, p] : learner.model().named_parameters()) {
    if (modules_.empty() || modules_.back().name != owner(name))
      modules_.push_back({owner(name), {}, 0, {}});
    modules_.back().parameters.emplace_back(name, p);
  }
  Probed probed = probe_inside(learner);
  auto numbers = static_cast<Index>(2 * modules_.size() + 2 * probed.layers.size() + 3);
  for (const ProbedAttention& a : probed.attention)
    numbers += 4 * static_cast<Index>(a.entropy.size());
  Index line = 160 + numbers * kNumberBytes, lines = total_steps / every + 1;
  if (line > kMostBytes / lines) {
    auto fits = (total_steps * line + kMostBytes - 1) / kMostBytes;
    throw ValueError("--record",
                     fmt::format("{} steps with {} numbers each may take {} MB, more than {} MB: "
                                 "use --record-every {}",
                                 lines, numbers, line * lines / 1'000'000, kMostBytes / 1'000'000,
                                 fits + fits / 10 + 1));
  }
  lines_ = std::make_unique<JsonLines>(path, from_step, head(probed, kinks));
}

std::string StepRecorder::head(const Probed& probed,
                               const std::optional<std::vector<std::string>>& kinks) const {
  nlohmann::ordered_json h = {{"glim_recording", 1}, {"kind", learner_.kind()}, {"every", every_}};
  auto list = [&](const char* name) -> nlohmann::ordered_json& {
    return h[name] = nlohmann::ordered_json::array();
  };
  auto& modules = list("modules");
  for (const ModuleParts& m : modules_) modules.push_back(m.name);
  auto& layers = list("layers");
  for (const ProbedLayer& l : probed.layers) layers.push_back(l.name);
  auto& attention = list("attention");
  for (const ProbedAttention& a : probed.attention)
    attention.push_back({{"name", a.name}, {"heads", a.entropy.size()}});
  if (kinks) h["kinks"] = *kinks;
  return h.dump();
}

void StepRecorder::gradients_ready(Index step) {
  if (!due(step)) return;
  for (ModuleParts& m : modules_) {
    bool any = false;
    m.old.clear();
    for (auto& [name, p] : m.parameters) {
      any = any || p.grad().defined();
      m.old.push_back(p.value().clone());
    }
    try {
      m.gradient_norm = any ? gradient_norm(m.parameters) : kNan;
    } catch (const NonFiniteError&) {
      m.gradient_norm = kNan;  // the run itself will say so
    }
  }
}

void StepRecorder::stepped(const StepReport& r) {
  if (!due(r.step)) return;
  const double loss = r.sums.per_target().kl;
  std::vector<double> ratios;
  for (ModuleParts& m : modules_) {
    double change = 0, size = 0;
    for (std::size_t i = 0; i < m.parameters.size(); ++i) {
      size += sum_of_squares(m.old[i]);
      change += sum_of_squares(sub(m.parameters[i].second.value(), m.old[i]));
    }
    ratios.push_back(std::sqrt(change / size));
    m.old.clear();
  }
  Probed probed = probe_inside(learner_);
  lines_->write(fmt::format(
      R"({{"step":{},"rate":{},"loss":{},"gradient_norm":{},"update_ratio":{},"rms":{},)"
      R"("similarity":{},"entropy":{},"saturation":{},"distance":{},"score":{}{}}})",
      r.step, json_number(r.rate), std::isfinite(loss) ? fmt::format("{}", loss) : "null",
      array(each(modules_, [](const ModuleParts& m) { return m.gradient_norm; })), array(ratios),
      array(each(probed.layers, [](const ProbedLayer& l) { return l.rms; })),
      array(each(probed.layers, [](const ProbedLayer& l) { return l.similarity; })),
      arrays(probed.attention, [](const ProbedAttention& a) { return a.entropy; }),
      arrays(probed.attention, [](const ProbedAttention& a) { return a.saturation; }),
      arrays(probed.attention, [](const ProbedAttention& a) { return a.distance; }),
      arrays(probed.attention, [](const ProbedAttention& a) { return a.score; }),
      std::exchange(curvature_, {})));
}

void StepRecorder::failed(Index step, const std::string& why) {
  lines_->write(nlohmann::ordered_json{{"step", step}, {"stopped", why}}.dump());
}

namespace {

class RunRecorder final : public StepRecorder {
 public:
  RunRecorder(Trainer& trainer, const std::string& path)
      : StepRecorder(path, trainer.learner(),
                     log_interval(trainer.options().record_every, trainer.total_steps()),
                     trainer.state().step, trainer.total_steps(), kinks_of(trainer)),
        trainer_(trainer) {
    // Weights and both moments, in bytes.
    double each = 3.0 * static_cast<double>(trainer.learner().model().parameter_count()) *
                  (trainer.options().precision == "float64" ? 8 : 4);
    auto most = static_cast<Index>(std::min(16.0, 1e9 / each));
    return_every_ = most > 0 ? (trainer.total_steps() + most - 1) / most : 0;
    if (trainer.state().step == 0) save_when_due(0);
  }
  void drawn(Index first, Index end) override { first_ = first, end_ = end; }
  void gradients_ready(Index step) override {
    StepRecorder::gradients_ready(step);
    if (!due(step) || !trainer_.options().record_curvature) return;
    const BatchCurvature c = curvature_of_update(trainer_, first_, end_);
    curvature_ =
        fmt::format(R"(,"curvature":{},"step_curvature":{},"threshold":{})", json_number(c.largest),
                    json_number(c.stepped), json_number(c.threshold));
  }
  void stepped(const StepReport& r) override {
    StepRecorder::stepped(r);
    save_when_due(r.step);
  }

 private:
  static std::optional<std::vector<std::string>> kinks_of(Trainer& trainer) {
    if (!trainer.options().record_curvature) return {};
    return require_curvature(trainer.learner());
  }
  void save_when_due(Index step) {
    if (return_every_ > 0 && step % return_every_ == 0)
      trainer_.save(fmt::format("step-{}.safetensors", step), true);
  }
  Trainer& trainer_;
  Index first_ = 0, end_ = 0;  // parts of the update
  Index return_every_ = 0;     // steps between the checkpoints to return to; 0: none
};

}  // namespace

std::unique_ptr<TrainObserver> recorder_of(Trainer& trainer) {
  namespace fs = std::filesystem;
  const TrainOptions& o = trainer.options();
  const fs::path path = fs::path(o.out) / "recording.jsonl";
  if (trainer.state().step == 0)  // an earlier run's
    for (const auto& [step, file] : steps_to_return_to(o.out)) fs::remove(file);
  if (o.record) return std::make_unique<RunRecorder>(trainer, path.string());
  if (trainer.state().step == 0) fs::remove(path);
  return nullptr;
}

}  // namespace glim
