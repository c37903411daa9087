// Corpus BLEU (Papineni et al., ACL 2002), equal to sacreBLEU's (Post, WMT 2018) to the last digit.
//
//   BLEU = 100 BP exp(1/4 Σ_{n=1..4} ln p_n),   BP = min(1, exp(1 − r/c))
//
//   p_n  matched n-grams / n-grams of the hypotheses, summed over the corpus; a match counts at most
//        as often as in the reference
//   c    tokens of the hypotheses
//   r    tokens of the references
//
// Smoothing "exp" (mteval-v13a): the k-th order without a match counts as 2^-k matches. No match at
// all, or no n-gram of some order, gives 0.
//
// Tokenisers: "13a", the one of mteval-v13a as sacreBLEU runs it; "zh", sacreBLEU's for Chinese; "none", which
// only splits at white space; and "auto", which is zh where most characters of the references are Chinese, else
// 13a. The signature names the one that was used. Lower-casing is casing.hpp's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

enum class BleuTokenizer { v13a, zh, none, automatic };

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  bool lowercase = false;
};

// Their names, as options take them.
inline const std::vector<std::string> kBleuTokenizers = {"13a", "zh", "none", "auto"};
// ValueError for any other name.
BleuTokenizer parse_bleu_tokenizer(std::string_view name);

struct BleuScore {
  double score = 0;                    // 0 … 100
  std::array<double, 4> precisions{};  // in percent
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;  // tokens
  std::array<std::int64_t, 4> matches{}, totals{};           // n-grams
  std::string signature;  // nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:glim-0.1

  double ratio() const;
  // "BLEU|nrefs:1|… = 36.52 68.1/43.9/29.8/20.3 (BP = 1.000 ratio = 1.012 hyp_len = 13219 ref_len = 13058)"
  std::string line() const;
};

// references[i] is that of hypothesis i. ValueError when there is no hypothesis, when their numbers differ, or when a
// line is not valid UTF-8.
BleuScore corpus_bleu(std::span<const std::string> hypotheses,
                      std::span<const std::string> references, const BleuOptions& options = {});

// A line's tokens, joined by single spaces.
std::string tokenize_13a(std::string_view line);
std::string tokenize_zh(std::string_view line);

bool mostly_chinese(std::span<const std::string> lines);

}  // namespace glim
