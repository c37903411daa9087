// Remarks for the reader, in words. Each sentence is computed; its rule says when it is
// shown. At most kMost of one kind, the strongest first.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tensor/portable.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/measure/statistics.hpp"

namespace glim {
namespace {

constexpr double kSaturated = 0.95;  // of the way to a Jacobian of zero
constexpr double kEven = 0.98;       // of the largest entropy
constexpr double kOneWay = 0.9;      // of a gradient that could have gone two ways
constexpr double kAgainst = -0.02;   // share of a branch that works against the sum
constexpr double kFade = 10;         // times between the first and the last layer
constexpr double kSilent = 0.5;      // share of units without a gradient
constexpr double kGap = 0.05;        // of what integrated gradients should add up to
constexpr std::size_t kMost = 4;

struct Ranked {
  double strength;
  std::string text;
};

void add_strongest(std::vector<Remark>& all, std::vector<Ranked> list, const std::string& rule,
                   const char* view) {
  std::stable_sort(list.begin(), list.end(),
                   [](const Ranked& a, const Ranked& b) { return a.strength > b.strength; });
  for (std::size_t i = 0; i < std::min(kMost, list.size()); ++i)
    all.push_back({list[i].text, rule, view});
  if (list.size() > kMost)
    all.push_back({fmt::format("... and {} more like the last.", list.size() - kMost), rule, view});
}

// The entropy of rows that attend to all that they may, their mean.
double largest_entropy(const AttentionView& v) {
  double most = 0, rows = 0;
  for (Index t = 0; t < v.keep.size(0); ++t) {
    Index kept = 0;
    for (Index s = 0; s < v.keep.size(1); ++s) kept += v.keep.at<bool>({t, s});
    if (kept == 0) continue;
    most += portable::log(static_cast<double>(kept));
    ++rows;
  }
  return most / std::max(rows, 1.0);
}

void about_heads(const Inspection& inspection, std::vector<Remark>& all) {
  std::vector<Ranked> saturated, even, one_way;
  for (const AttentionView& v : inspection.attention) {
    const double most = largest_entropy(v);
    for (std::size_t h = 0; h < v.heads.size(); ++h) {
      const HeadView& head = v.heads[h];
      const std::string place =
          fmt::format("{} attention, layer {}, head {}", name_of(v.side), v.layer, h);
      if (head.saturation > kSaturated)
        saturated.push_back(
            {head.saturation,
             fmt::format("{}: entropy {:.3g} nats, saturation {:.3g}; ‖∂L/∂S‖/‖∂L/∂A‖ is {:.2g}: "
                         "that is what its softmax passes on to query and key.",
                         place, head.entropy, head.saturation, head.passed)});
      if (most > 0 && head.entropy > kEven * most)
        even.push_back({head.entropy / most,
                        fmt::format("{}: entropy {:.3g} of at most {:.3g} nats: it attends to all "
                                    "keys alike.",
                                    place, head.entropy, most)});
      if (head.value_share > kOneWay)
        one_way.push_back({head.value_share,
                           fmt::format("{}: {:.1f} % of the gradient goes through the value, the "
                                       "rest through query and key.",
                                       place, 100 * head.value_share)});
    }
  }
  add_strongest(all, saturated, fmt::format("saturation above {}", kSaturated), "attention");
  add_strongest(all, even, fmt::format("entropy above {} of the largest", kEven), "attention");
  add_strongest(all, one_way, fmt::format("value share above {}", kOneWay), "attention");
}

void about_junctions(const Inspection& inspection, std::vector<Remark>& all) {
  std::vector<Ranked> skips, against;
  for (const Junction& j : inspection.junctions) {
    const Branch &skip = j.branches[0], &sub = j.branches[1];
    if (skip.share > kOneWay)
      skips.push_back(
          {skip.share, fmt::format("{}, {}: {:.1f} % of the gradient takes the skip, {:.1f} % the "
                                   "sublayer.",
                                   j.module, j.sublayer, 100 * skip.share, 100 * sub.share) +
                           (sub.share < 0 ? " A share below 0 points against the sum." : "")});
    if (sub.share < kAgainst)
      against.push_back(
          {-sub.share, fmt::format("{}, {}: the sublayer's gradient works against the skip's "
                                   "(share {:.3g}).",
                                   j.module, j.sublayer, sub.share)});
  }
  add_strongest(all, skips, fmt::format("skip share above {}", kOneWay), "model");
  add_strongest(all, against, fmt::format("sublayer share below {}", kAgainst), "model");
  const auto& b = inspection.memory.branches;
  const bool by_layer = std::ranges::all_of(
      b, [&](const Branch& branch) { return !inspection.pass.roles().layer(branch.name).empty(); });
  if (b.size() > 1 && by_layer) {
    auto most = std::max_element(
        b.begin(), b.end(), [](const Branch& x, const Branch& y) { return x.share < y.share; });
    all.push_back({fmt::format("Of the gradient that reaches the encoder through cross-attention, "
                               "the largest share comes from {}: {:.1f} %.",
                               most->name, 100 * most->share),
                   "always said", "model"});
  }
}

void about_depth(const Inspection& inspection, std::vector<Remark>& all) {
  for (const char* side : {"encoder", "decoder"}) {
    const Block *first = nullptr, *last = nullptr;
    for (const Block& b : inspection.blocks) {
      if (b.side != side || b.layer < 0 || b.parameter_gradient_norm <= 0) continue;
      if (b.part != "feed_forward") continue;
      if (!first) first = &b;
      last = &b;
    }
    if (!first || first == last) continue;
    double ratio = last->parameter_gradient_norm / first->parameter_gradient_norm;
    if (ratio < kFade && ratio > 1 / kFade) continue;
    all.push_back(
        {fmt::format("{}: the parameters' gradient is {:.2e} in the first layer's "
                     "feed-forward network and {:.2e} in the last one's: it {} on the way "
                     "back.",
                     side, first->parameter_gradient_norm, last->parameter_gradient_norm,
                     ratio > 1 ? "fades" : "grows"),
         fmt::format("norms that differ more than {}-fold", kFade), "model"});
  }
}

void about_units(const Inspection& inspection, std::vector<Remark>& all) {
  std::vector<Ranked> silent;
  for (const PassNode& n : inspection.pass.nodes()) {
    if (n.op != "relu" || n.inputs[0] < 0) continue;
    if (inspection.pass[n.inputs[0]].label.ends_with("scores")) continue;  // weights of attention
    double zeros = statistics(n.value).zeros;
    if (zeros > kSilent)
      silent.push_back(
          {zeros, fmt::format("{}: {:.1f} % of the hidden units are 0 for these tokens and "
                              "pass no gradient.",
                              n.path, 100 * zeros)});
  }
  add_strongest(all, silent, fmt::format("zero share above {}", kSilent), "walk");
}

void about_tokens(const Inspection& inspection, std::vector<Remark>& all) {
  const Attribution& a = inspection.attribution;
  for (const auto* side : {&inspection.source, &inspection.target_in})
    for (const std::string& token : *side)
      if (token.ends_with(kUnknownMark))
        all.push_back({fmt::format("“{}” is not in the vocabulary: the model reads <unk> there.",
                                   token.substr(0, token.size() - kUnknownMark.size())),
                       "always said", "tokens"});
  if (a.integrated_source.empty()) return;
  auto most = std::max_element(a.integrated_source.begin(), a.integrated_source.end());
  auto position = static_cast<std::size_t>(most - a.integrated_source.begin());
  all.push_back(
      {fmt::format("“{}” {}: {:.3g} of the {:.3g} nats by which it is likelier than with empty "
                   "embeddings.",
                   inspection.source[position],
                   inspection.target_in.empty() ? "contributes most to this label"
                                                : "in the source contributes most to this target",
                   *most, a.log_prob - a.baseline),
       "always said (integrated gradients)", "tokens"});
  double whole = a.log_prob - a.baseline;
  if (std::abs(a.gap) > kGap * std::abs(whole))
    all.push_back({fmt::format("Integrated gradients add up to {:.3g} instead of {:.3g} nats with "
                               "{} points: use more points (--attribution-steps).",
                               whole + a.gap, whole, a.steps),
                   fmt::format("a gap above {} of the sum", kGap), "tokens"});
}

}  // namespace

std::vector<Remark> remarks_on(const Inspection& inspection) {
  std::vector<Remark> all;
  about_heads(inspection, all);
  about_junctions(inspection, all);
  about_depth(inspection, all);
  about_units(inspection, all);
  about_tokens(inspection, all);
  return all;
}

}  // namespace glim
