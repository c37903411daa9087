#include "tools/measure/probe.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/op_form.hpp"
#include "autograd/restored.hpp"
#include "optim/clip.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/random.hpp"
#include "tools/common/number.hpp"
#include "tools/measure/attention_statistics.hpp"

namespace glim {
namespace {

// "encoder.layers.0" of a scope within it, "" outside of lists.
std::string layer_of(const std::string& scope) {
  for (std::size_t dot = scope.find('.'); dot < scope.size();) {
    const std::size_t end = std::min(scope.find('.', dot + 1), scope.size());
    if (number_in<Index>(scope.substr(dot + 1, end - dot - 1))) return scope.substr(0, end);
    dot = end;
  }
  return "";
}

// Mean of the defined values.
struct Mean {
  double sum = 0;
  Index count = 0;
  void add(double v) {
    if (std::isnan(v)) return;
    sum += v;
    ++count;
  }
  double value() const { return count ? sum / static_cast<double>(count) : kNan; }
};

// Entries by name, in the order in which they came.
template <class T>
struct ByName {
  std::vector<std::pair<std::string, T>> list;
  T& operator[](const std::string& name) {
    for (auto& [n, v] : list)
      if (n == name) return v;
    return list.emplace_back(name, T{}).second;
  }
};

// (1, H, T, S), or (1, T, S) of a single head, as (H, T, S); undefined for any other shape.
Tensor as_heads(const Tensor& x) {
  if (x.rank() == 4 && x.size(0) == 1) return squeeze(x, 0);
  if (x.rank() == 3 && x.size(0) == 1) return x;
  return {};
}

// The maps of an attention for one sample: one for each step it ran, each of some queries.
struct Maps {
  std::vector<Tensor> scores, probs, keep;  // (H, T, S) twice, (T, S)
};

struct Sample {
  ByName<Tensor> outputs;  // (n, D) of each layer
  ByName<Maps> maps;
};

// A (1, n, D), or (1, D) for each of n steps.
void take_output(Tensor& output, const Tensor& value) {
  if (value.rank() == 3 && value.size(0) == 1 && is_floating(value.dtype()))
    output = squeeze(value, 0);
}

Sample sample_of(const std::function<void()>& run) {
  Sample sample;
  Tape tape({.replay = true});
  run();
  std::map<std::string, int> counts;  // a path that comes again is another attention
  for (int i = 0; i < static_cast<int>(tape.nodes().size()); ++i) {
    const Node& n = tape.nodes()[static_cast<std::size_t>(i)];
    if (n.leaf) continue;
    // Recurrent decoders run under "t0", "t1", ...: one module, many steps.
    const std::string scope = without_step(*n.scope), layer = layer_of(scope);
    const Tensor value = tape.value(i).value();
    if (!layer.empty()) take_output(sample.outputs[layer], value);
    if (!is_attention(n.name(), n.label) || !as_heads(value).defined()) continue;
    int again = counts[tape.path(i)]++;
    Maps& maps = sample.maps[again ? scope + "#" + std::to_string(again + 1) : scope];
    maps.scores.push_back(as_heads(tape.value(n.inputs[0]).value()));
    maps.probs.push_back(as_heads(value));
    maps.keep.push_back(keep_of(value, tape.replay(i).run));
  }
  return sample;
}

}  // namespace

double token_similarity(const Tensor& x) {
  Index n = x.size(0), d = x.size(1);
  if (n < 2) return kNan;
  auto values = x.to(DType::Float64).to_vector<double>();
  std::vector<double> sum(static_cast<std::size_t>(d));
  for (Index i = 0; i < n; ++i) {
    const double* row = values.data() + i * d;
    double square = 0;
    for (Index j = 0; j < d; ++j) square += row[j] * row[j];
    double norm = std::sqrt(square);
    if (!(norm > 0)) return kNan;
    for (Index j = 0; j < d; ++j) sum[static_cast<std::size_t>(j)] += row[j] / norm;
  }
  // ‖Σ x̂‖² = n + Σ_{i≠j} cos
  double square = 0;
  for (double v : sum) square += v * v;
  return (square - static_cast<double>(n)) / static_cast<double>(n * (n - 1));
}

Probed probe_inside(Module& model, Index samples, const std::function<void(Index)>& run) {
  // Scale and similarity of a layer; entropy, saturation and distance of each head of an attention in turn.
  ByName<std::vector<Mean>> layers, attention;
  ByName<std::vector<double>> scores;
  auto add = [](std::vector<Mean>& means, std::size_t i, std::initializer_list<double> values) {
    means.resize(std::max(means.size(), i + values.size()));
    for (double v : values) means[i++].add(v);
  };
  Restored random_numbers(generator());
  UseForm form(OpForm::Explicit);
  const bool training = model.training();
  model.eval();
  for (Index i = 0; i < samples; ++i) {
    Sample sample = sample_of([&] { run(i); });
    for (auto& [name, x] : sample.outputs.list) {
      if (!x.defined()) continue;
      add(layers[name], 0,
          {std::sqrt(sum_of_squares(x) / static_cast<double>(x.numel())), token_similarity(x)});
    }
    for (auto& [name, maps] : sample.maps.list) {
      const Tensor all = concatenate(maps.scores, 1), probs = concatenate(maps.probs, 1),
                   keep = concatenate(maps.keep, 0);
      std::vector<double>& largest = scores[name];
      largest.resize(static_cast<std::size_t>(probs.size(0)), kNan);
      for (Index h = 0; h < probs.size(0); ++h) {
        HeadStatistics s = head_statistics(select(probs, 0, h), keep);
        add(attention[name], 3 * static_cast<std::size_t>(h),
            {s.entropy, s.saturation, s.distance});
        double& score = largest[static_cast<std::size_t>(h)];
        score = std::fmax(score, largest_score(select(all, 0, h), keep));
      }
    }
  }
  model.train(training);
  Probed probed;
  for (auto& [name, m] : layers.list) probed.layers.push_back({name, m[0].value(), m[1].value()});
  for (auto& [name, m] : attention.list) {
    ProbedAttention& a = probed.attention.emplace_back();
    a.name = name;
    for (std::size_t i = 0; i < m.size(); i += 3) {
      a.entropy.push_back(m[i].value());
      a.saturation.push_back(m[i + 1].value());
      a.distance.push_back(m[i + 2].value());
    }
    a.score = scores[name];
  }
  return probed;
}

}  // namespace glim
