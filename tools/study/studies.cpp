// Reads the studies' words and criteria (studies.toml), and joins each with its measurement.
#include <algorithm>
#include <charconv>

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
};

std::string joined(const Words& words, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i];
  return text;
}

double number(const std::string& text) {
  double x = 0;
  std::from_chars(text.data(), text.data() + text.size(), x);
  return x;
}

Criterion criterion(const std::string& key, const Words& w) {
  const bool beside = w.at(0) == "beside", control = w.at(0) == "control";
  const std::size_t at = beside || control;
  return {key,     w.at(at), number(w.at(at + 1)), number(w.at(at + 2)), joined(w, at + 3),
          !beside, control};
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
    }
    if (e.is_table) continue;
    Study& s = all.back();
    if (e.table.ends_with(".criteria")) s.criteria.push_back(criterion(e.key, e.values));
    if (e.table.ends_with(".plots")) s.plots.push_back(plot(e.key, e.values));
    if (dot != e.table.npos) continue;
    (e.key == "claim"     ? s.claim
     : e.key == "source"  ? s.source
     : e.key == "setting" ? s.setting
                          : s.small_setting) = joined(e.values, 0);
  }
  return all;
}

}  // namespace

const std::vector<Study>& studies() {
  static const std::vector<Study> all = read_studies();
  return all;
}

}  // namespace glim
