// Translations of sentences that a trained model has never seen, and its attention.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/system/process.hpp"
#include "tools/common/picture.hpp"
#include "tools/common/shared_work.hpp"
#include "tools/data/bleu/bleu.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {
namespace {

// Rows: target tokens; columns: source tokens, mean of the last decoder layer's heads.
std::string attention_picture(const Translator& translator, const ParallelCorpus& test) {
  const std::string* sentence = &test.pairs.front().source;
  for (const SentencePair& p : test.pairs)  // long enough to show something, short enough to fit
    if (p.source.size() <= 40 && p.source.size() > sentence->size()) sentence = &p.source;
  TranslateOptions options;
  options.alignments = translator.attends();
  Translation t = translator.translate({*sentence}, options)[0][0];
  if (t.attention.empty()) return "";
  return fmt::format("\nattention of \"{}\" (rows) to \"{}\" (columns):\n\n", t.text, *sentence) +
         matrix_picture(t.attention, t.target_pieces, t.source_pieces,
                        std::min(terminal_columns(1), 120)) +
         "\n" + shade_legend() + "\n\n";
}

// The best translations by this process, of sources that are cut where they are too long.
std::vector<std::string> translated(const Translator& translator,
                                    const std::vector<std::string>& sources) {
  return best_translations(translator, sources, {.truncate = true}, {});
}

}  // namespace

std::vector<std::string> best_translations(const Translator& translator,
                                           const std::vector<std::string>& sources,
                                           TranslateOptions options, const Processes& processes) {
  std::vector<std::string> all(sources.size());
  options.part = processes.rank();
  options.parts = processes.size();
  const auto parts = shared_work(processes, processes.size(), [&](Index) {
    nlohmann::json found = nlohmann::json::array();
    const auto lists = translator.translate(sources, options);
    for (std::size_t i = 0; i < lists.size(); ++i)
      if (!lists[i].empty()) found.push_back({i, lists[i][0].text});
    return found;
  });
  for (const nlohmann::json& part : parts)
    for (const nlohmann::json& one : part)
      all[one[0].get<std::size_t>()] = one[1].get<std::string>();
  return all;
}

std::optional<Trial> TranslationLearner::trial() {
  constexpr std::size_t kMost = 500, kShown = 3;
  auto sources = data_.valid.source_sentences(), references = data_.valid.target_sentences();
  if (sources.empty()) return {};
  sources.resize(std::min(sources.size(), kMost));
  bool training = model_->training();
  model_->eval();
  const auto found = translated({model_, data_.tokenizers}, sources);
  if (training) model_->train();
  Trial trial;
  trial.exact =
      static_cast<double>(count_same(found, references)) / static_cast<double>(found.size());
  trial.text = fmt::format("    {:.1f} % of {} validation sentences exactly right",
                           100 * trial.exact, found.size());
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i)
    trial.text += fmt::format("\n      {}  {}  {}", sources[i],
                              same_sentence(found[i], references[i]) ? "=" : "≠", found[i]);
  return trial;
}

std::map<Index, Index> TranslationLearner::target_counts() const {
  std::map<Index, Index> counts;
  for (const TokenPair& p : data_.train_tokens.pairs) {
    for (std::int64_t id : p.target) ++counts[id];
    ++counts[kEos];
  }
  return counts;
}

// Translations of held-out sentences, if any. Sources that share a reference may come out alike.
std::vector<std::string> TranslationLearner::outputs() {
  constexpr std::size_t kMost = 8;
  const ParallelCorpus& corpus = data_.valid.pairs.empty() ? data_.train : data_.valid;
  std::map<std::string, std::string> sources;  // by reference
  for (const SentencePair& p : corpus.pairs)
    if (sources.size() < kMost) sources.emplace(p.target, p.source);
  std::vector<std::string> different;
  for (const auto& [reference, source] : sources) different.push_back(source);
  return translated({model_, data_.tokenizers}, different);
}

std::string TranslationLearner::demonstrate(const std::string& folder) {
  constexpr std::size_t kMost = 200;  // of one's own
  const bool from_files = options_.task == "files";
  ParallelCorpus test = from_files ? data_.valid : data_.test;
  if (from_files) test.pairs.resize(std::min(test.pairs.size(), kMost));
  if (test.pairs.empty() || options_.task == "random") return "";
  const Translator best(folder);
  const auto found = translated(best, test.source_sentences());
  const auto references = test.target_sentences();
  std::string text = "\nheld-out sentences, never seen in training:\n";
  std::size_t step = std::max<std::size_t>(1, found.size() / (from_files ? 4 : 8));
  for (std::size_t i = 0; i < found.size(); i += step) {
    bool same = same_sentence(found[i], references[i]);
    text += fmt::format("  {}\n    {} {}{}\n", test.pairs[i].source, same ? "=" : "≠", found[i],
                        same ? "" : "   reference: " + references[i]);
  }
  const std::size_t exact = count_same(found, references);
  if (from_files)
    return text + fmt::format("BLEU {:.2f} on {} held-out sentences, of which {} equal theirs\n\n",
                              corpus_bleu(found, references, {BleuTokenizer::automatic}).score,
                              found.size(), exact);
  text += fmt::format("exact match: {} of {} = {:.2f} %\n", exact, found.size(),
                      100.0 * static_cast<double>(exact) / static_cast<double>(found.size()));
  return text + attention_picture(best, test);
}

}  // namespace glim
