// Reads the studies' words and criteria (studies.toml), and joins each with its measurement.
#include <algorithm>
#include <fmt/format.h>

#include "tools/common/number.hpp"
#include "tools/common/toml.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/study.hpp"

namespace glim {

extern const std::string_view kStudies;  // studies.toml

namespace {

using Words = std::vector<std::string>;

const std::map<std::string, Measurement (*)(std::uint64_t, bool)> kMeasures = {
    {"norm-placement", norm_placement::measure},
    {"warm-up", warm_up::measure},
    {"scaling", scaling::measure},
    {"rank-collapse", rank_collapse::measure},
    {"identical-tokens", identical_tokens::measure},
    {"entropy", entropy::measure},
    {"dependence", dependence::measure},
    {"label-smoothing", label_smoothing::measure},
    {"rollout", rollout_study::measure},
    {"length", length::measure},
    {"fixed-or-learned", fixed_or_learned::measure},
    {"heads", heads::measure},
    {"norms", norms::measure},
    {"exposure", exposure::measure},
    {"bf16", bf16::measure},
    {"order", order::measure},
    {"base", base::measure},
    {"query-is-key", query_is_key::measure},
    {"bottleneck", bottleneck::measure},
    {"hunger", hunger::measure},
    {"modern", [](std::uint64_t seed, bool small) { return modern::measure(seed, small, {}); }},
};
const std::map<std::string, decltype(Study::measure_text)> kTextMeasures = {
    {"modern", modern::measure}};

// The words from this one on.
std::string text_from(const Words& words, std::size_t at) {
  return fmt::format("{}", fmt::join(words.begin() + std::ptrdiff_t(at), words.end(), " "));
}

Criterion criterion(const std::string& key, const Words& w) {
  const bool beside = w.at(0) == "beside", control = w.at(0) == "control";
  const std::size_t at = beside || control;
  auto number = [&](std::size_t i) { return number_in<double>(w.at(at + i)).value(); };
  return {key, w.at(at), number(1), number(2), text_from(w, at + 3), !beside, control};
}

Plot plot(const std::string& id, const Words& w) {
  auto is = [&](const char* word) { return std::count(w.begin() + 3, w.end(), word) > 0; };
  return {id, w.at(0), w.at(1), w.at(2), is("log_x"), is("log_y"), is("scatter")};
}

std::vector<Study> read_studies() {
  std::vector<Study> all;
  for (const TomlEntry& e : parse_toml(std::string(kStudies), "studies.toml")) {
    const std::size_t dot = e.table.find('.');
    if (e.is_table && dot == e.table.npos) {
      all.emplace_back().name = e.table;
      all.back().measure = kMeasures.at(e.table);
      if (auto of = kTextMeasures.find(e.table); of != kTextMeasures.end())
        all.back().measure_text = of->second;
    }
    if (e.is_table) continue;
    Study& s = all.back();
    if (e.table.ends_with(".criteria")) s.criteria.push_back(criterion(e.key, e.values));
    if (e.table.ends_with(".plots")) s.plots.push_back(plot(e.key, e.values));
    if (dot != e.table.npos) continue;
    (e.key == "claim"     ? s.claim
     : e.key == "source"  ? s.source
     : e.key == "setting" ? s.setting
                          : s.small_setting) = text_from(e.values, 0);
  }
  return all;
}

}  // namespace

const std::vector<Study>& studies() {
  static const std::vector<Study> all = read_studies();
  return all;
}

}  // namespace glim
