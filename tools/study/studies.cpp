// Reads the studies' words and criteria (studies.toml), and joins each with its measurement.
#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/input_file.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"
#include "tools/common/toml.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/study.hpp"

namespace glim {

extern const std::string_view kStudies;  // studies.toml

namespace {

using Words = std::vector<std::string>;

#define GLIM_WORD(word, study) {word, study::measure},
const std::map<std::string, Measurement (*)(std::uint64_t, bool)> kMeasures = {
    GLIM_STUDIES(GLIM_WORD)};
#undef GLIM_WORD

// The words from this one on.
std::string text_from(const Words& words, std::size_t first) {
  return fmt::format("{}", fmt::join(words.begin() + std::ptrdiff_t(first), words.end(), " "));
}

std::vector<Study> read_studies() {
  std::vector<Study> all;
  for (const TomlEntry& e : parse_toml(std::string(kStudies), "studies.toml")) {
    const std::size_t dot = e.table.find('.');
    if (e.is_table && dot == e.table.npos) {
      all.emplace_back().name = e.table;
      all.back().measure = kMeasures.at(e.table);
      if (e.table == "modern") all.back().measure_text = modern::measure_text;
    }
    if (e.is_table) continue;
    Study& s = all.back();
    if (e.table.ends_with(".criteria")) s.criteria.push_back(criterion_of(e.key, e.values));
    if (e.table.ends_with(".plots")) s.plots.push_back(plot_of(e.key, e.values));
    if (dot != e.table.npos) continue;
    (e.key == "claim"     ? s.claim
     : e.key == "source"  ? s.source
     : e.key == "setting" ? s.setting
                          : s.small_setting) = text_from(e.values, 0);
  }
  return all;
}

}  // namespace

Criterion criterion_of(const std::string& key, const Words& w) {
  const bool remark = !w.empty() && w[0] == "beside", control = !w.empty() && w[0] == "control";
  const std::size_t i = remark || control;
  const auto low = w.size() < i + 4 ? std::nullopt : number_in<double>(w[i + 1]),
             high = low ? number_in<double>(w[i + 2]) : std::nullopt;
  if (!high)
    throw ValueError("criteria",
                     key +
                         " is a quantity in words, the least and the largest number, and a "
                         "reason; `beside` or `control` may come before them");
  if (!(*low <= *high))
    throw ValueError("criteria", key + ": no number is in [" + w[i + 1] + ", " + w[i + 2] + "]");
  return {key, w[i], *low, *high, text_from(w, i + 3), !remark, control};
}

Plot plot_of(const std::string& id, const Words& w) {
  if (w.size() < 3)
    throw ValueError(
        "plots",
        id + " is a title, the words at x and those at y; log_x, log_y or scatter may follow");
  auto is = [&](const char* word) { return std::count(w.begin() + 3, w.end(), word) > 0; };
  return {id, w[0], w[1], w[2], is("log_x"), is("log_y"), is("scatter")};
}

std::vector<Criterion> criteria_in(const std::string& file, const Study& study) {
  const InputFile in(file);
  std::vector<std::string> known;
  for (const Criterion& c : study.criteria) known.push_back(c.key);
  std::vector<Criterion> all;
  const std::string text = in.read_text(0, static_cast<std::size_t>(in.size()));
  if (const auto bad = first_invalid_utf8(text))
    throw FileError(file, describe_invalid_utf8(text, *bad));
  for (const TomlEntry& e : parse_toml(text, file)) {
    if (e.is_table) continue;
    if (std::ranges::find(known, e.key) == known.end())
      throw ValueError("--criteria", file + ": " + study.name + " does not measure " + e.key +
                                         nearest_names(e.key, known));
    try {
      all.push_back(criterion_of(e.key, e.values));
    } catch (const ValueError& error) {
      throw ValueError("--criteria", file + ": " + error.problem());
    }
  }
  return all;
}

const std::vector<Study>& studies() {
  static const std::vector<Study> all = read_studies();
  return all;
}

}  // namespace glim
