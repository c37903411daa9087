#include "tools/data/bleu/bleu.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/portable.hpp"
#include "tools/common/casing.hpp"

namespace glim {
namespace {

constexpr std::size_t kOrders = 4;
constexpr std::string_view kVersion = "glim-0.1";

// n-grams of orders 1 … 4 and their counts. Tokens hold no white space, so a key of tokens joined by
// spaces is unique; its order comes in front.
using Counts = std::unordered_map<std::string, std::int64_t>;

struct Segment {
  Counts ngrams;
  std::int64_t length = 0;
};

Segment count_ngrams(const std::string& line) {
  const std::vector<std::string_view> tokens = split_spaces(line);
  Segment segment;
  segment.length = static_cast<std::int64_t>(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string key;
    for (std::size_t n = 0; n < kOrders && i + n < tokens.size(); ++n) {
      if (n > 0) key += ' ';
      key += tokens[i + n];
      ++segment.ngrams[static_cast<char>('1' + n) + key];
    }
  }
  return segment;
}

std::string prepare(const std::string& line, const BleuOptions& options) {
  std::string text = options.lowercase ? lower_case(line) : line;
  if (options.tokenizer == BleuTokenizer::none) return text;
  if (options.tokenizer == BleuTokenizer::zh) return tokenize_zh(text);
  // sacreBLEU strips the end of a line first, which decides what "-\n" can still join.
  std::size_t end = 0;
  for (const CodePoint& c : code_points(text)) {
    if (!is_space(c.value)) end = c.offset + c.length;
  }
  return tokenize_13a(std::string_view(text).substr(0, end));
}

void check_lines(std::span<const std::string> lines, const char* name) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (auto bad = first_invalid_utf8(lines[i])) {
      throw ValueError(
          "bleu", fmt::format("{} {}: {}", name, i + 1, describe_invalid_utf8(lines[i], *bad)));
    }
  }
}

// From the corpus' sums to precisions, penalty and score.
void finish(BleuScore& b) {
  const auto c = static_cast<double>(b.hypothesis_length);
  const auto r = static_cast<double>(b.reference_length);
  if (c < r) b.brevity_penalty = c > 0 ? portable::exp(1 - r / c) : 0.0;
  if (std::ranges::all_of(b.matches, [](std::int64_t m) { return m == 0; })) return;
  double smooth = 1, log_sum = 0;
  bool defined = true;
  for (std::size_t n = 0; n < kOrders; ++n) {
    defined = defined && b.totals[n] > 0;
    if (!defined) continue;
    const auto total = static_cast<double>(b.totals[n]);
    if (b.matches[n] == 0) {
      smooth *= 2;
      b.precisions[n] = 100. / (smooth * total);
    } else {
      b.precisions[n] = 100. * static_cast<double>(b.matches[n]) / total;
    }
    log_sum += portable::log(b.precisions[n]);
  }
  // exp(log 100) is 100.00000000000004.
  b.score = defined ? b.brevity_penalty * std::min(100.0, portable::exp(log_sum / kOrders)) : 0.0;
}

}  // namespace

BleuTokenizer parse_bleu_tokenizer(std::string_view name) {
  const auto entry = std::ranges::find(kBleuTokenizers, name);
  if (entry == kBleuTokenizers.end())
    throw ValueError("bleu", fmt::format("unknown tokenizer \"{}\": {}", name,
                                         fmt::join(kBleuTokenizers, ", ")));
  return static_cast<BleuTokenizer>(entry - kBleuTokenizers.begin());
}

double BleuScore::ratio() const {
  return reference_length == 0
             ? 0.0
             : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
}

std::string BleuScore::line() const {
  const auto& p = precisions;
  return fmt::format(
      "BLEU|{} = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} "
      "ref_len = {})",
      signature, score, p[0], p[1], p[2], p[3], brevity_penalty, ratio(), hypothesis_length,
      reference_length);
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::string> references, const BleuOptions& request) {
  if (hypotheses.empty()) throw ValueError("bleu", "no hypotheses");
  if (references.size() != hypotheses.size())
    throw ValueError(
        "bleu", fmt::format("{} hypotheses, {} references", hypotheses.size(), references.size()));
  check_lines(hypotheses, "hypothesis");
  check_lines(references, "reference");
  BleuOptions options = request;
  if (options.tokenizer == BleuTokenizer::automatic)
    options.tokenizer = mostly_chinese(references) ? BleuTokenizer::zh : BleuTokenizer::v13a;
  BleuScore b;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const Segment hypothesis = count_ngrams(prepare(hypotheses[i], options));
    const Segment reference = count_ngrams(prepare(references[i], options));
    b.hypothesis_length += hypothesis.length;
    b.reference_length += reference.length;
    for (const auto& [ngram, count] : hypothesis.ngrams) {
      const auto n = static_cast<std::size_t>(ngram[0] - '1');
      b.totals[n] += count;
      if (auto found = reference.ngrams.find(ngram); found != reference.ngrams.end())
        b.matches[n] += std::min(count, found->second);
    }
  }
  finish(b);
  b.signature = fmt::format("nrefs:1|case:{}|eff:no|tok:{}|smooth:exp|version:{}",
                            options.lowercase ? "lc" : "mixed",
                            kBleuTokenizers[static_cast<std::size_t>(options.tokenizer)], kVersion);
  return b;
}

}  // namespace glim
