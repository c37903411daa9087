// glim evaluate: perplexity and BLEU of a model on a test set, or BLEU of translations made
// elsewhere. BLEU equals sacreBLEU's; its signature is printed. Processes share the batches.
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/pipeline/scorer.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"
#include "tools/data/bleu/bleu.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/pairs.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {
namespace {

struct EvaluateArguments {
  std::string model = "model", source, reference, pairs, columns, text, hypotheses,
              tokenize = "auto", output;
  std::vector<std::string> removed;  // heads
  bool lowercase = false, json = false;
  TranslateOptions options;
};

BleuScore bleu(const EvaluateArguments& a, const std::vector<std::string>& hypotheses,
               const std::vector<std::string>& references) {
  BleuOptions o;
  o.tokenizer = parse_bleu_tokenizer(a.tokenize);
  o.lowercase = a.lowercase;
  return corpus_bleu(hypotheses, references, o);
}

nlohmann::ordered_json bleu_json(const BleuScore& b) {
  return {{"score", b.score},
          {"precisions", b.precisions},
          {"brevity_penalty", b.brevity_penalty},
          {"hypothesis_length", b.hypothesis_length},
          {"reference_length", b.reference_length},
          {"signature", b.signature}};
}

// Percent of the references' tokens between two shares of their length that are in the same place
// of the hypothesis.
double in_place(const std::vector<std::string>& hypotheses,
                const std::vector<std::string>& references, double first, double last) {
  std::size_t right = 0, all = 0;
  for (std::size_t i = 0; i < references.size(); ++i) {
    auto h = split_spaces(hypotheses[i]), r = split_spaces(references[i]);
    auto length = static_cast<double>(r.size());
    auto end = static_cast<std::size_t>(length * last);
    for (auto t = static_cast<std::size_t>(length * first); t < end; ++t) {
      ++all;
      right += t < h.size() && h[t] == r[t];
    }
  }
  return all == 0 ? 0 : 100.0 * static_cast<double>(right) / static_cast<double>(all);
}

// Sets the columns of out_proj.weight that read these heads to 0.
void remove_heads(Checkpoint& model, const std::vector<std::string>& heads) {
  if (heads.empty()) return;
  const std::string option = "--remove-head", weight = ".out_proj.weight";
  const Index count = nlohmann::json::parse(model.described("model")).value("heads", Index{1});
  std::vector<std::string> attentions;
  for (const auto& [name, tensor] : model.weights)
    if (name.ends_with(weight)) attentions.push_back(name.substr(0, name.size() - weight.size()));
  for (const std::string& text : heads) {
    const auto colon = std::min(text.rfind(':'), text.size());
    const auto head = number_in<Index>(text.substr(std::min(colon + 1, text.size()))).value_or(-1);
    if (head < 0 || head >= count)
      throw ValueError(
          option, fmt::format("'{}' must be MODULE:HEAD, a head from 0 to {}", text, count - 1));
    for (const std::string& name :
         matching_names(option, "attention", text.substr(0, colon), attentions)) {
      Tensor& w = model.weights.at(name + weight);
      const Index width = w.size(1) / count;
      w = w.clone();
      narrow(w, 1, head * width, width).fill_(0);
    }
  }
}

void say_removed(const EvaluateArguments& a) {
  if (!a.removed.empty()) print_line(fmt::format("without {}", fmt::join(a.removed, ", ")));
}

void measure_text(const EvaluateArguments& a, const Checkpoint& model) {
  if (a.text.empty() || !a.source.empty() || !a.pairs.empty())
    throw ValueError("--text", "is needed, alone: the model is of kind '" + model.kind + "'");
  const std::vector<std::string> lines = read_lines(a.text, std::string::npos);
  const Score all = Scorer(model).score(fmt::format("{}\n", fmt::join(lines, "\n")));
  const double nll = -all.log_prob / static_cast<double>(all.tokens);
  if (a.json)
    return print_json({{"tokens", all.tokens},
                       {"nll", nll},
                       {"perplexity", all.perplexity()},
                       {"removed_heads", a.removed}});
  say_removed(a);
  print_line(fmt::format("{} tokens: NLL {:.4f} per token, perplexity {:.3f}", all.tokens, nll,
                         all.perplexity()));
}

void run_evaluate(Command& command, EvaluateArguments& a) {
  const Processes& world = Processes::world();
  if (!a.hypotheses.empty()) {
    if (!a.source.empty() || !a.pairs.empty() || command.given("model"))
      throw ValueError("--hypotheses",
                       "are scored without a model: leave out --source, --pairs and --model");
    if (a.reference.empty())
      throw ValueError("--target", "the reference translations, is needed with --hypotheses");
    auto h = read_lines(a.hypotheses), r = read_lines(a.reference);
    if (h.size() != r.size())
      throw FileError(a.hypotheses, "has " + std::to_string(h.size()) + " lines, " + a.reference +
                                        " has " + std::to_string(r.size()));
    BleuScore score = bleu(a, h, r);
    if (a.json) return print_json({{"bleu", bleu_json(score)}});
    return print_line(score.line());
  }
  if (a.source.empty() != a.reference.empty())
    throw ValueError(a.source.empty() ? "--source" : "--target",
                     "is needed: the test set has two files, line by line");
  if (!a.pairs.empty() && !a.source.empty())
    throw ValueError("--pairs", "has both sides: leave out --source and --target");
  if (!a.columns.empty() && a.pairs.empty())
    throw ValueError("--columns", "names those of --pairs FILE");
  Checkpoint checkpoint = load_checkpoint(a.model);
  remove_heads(checkpoint, a.removed);
  const Gives gives = kind_named(checkpoint.kind).gives();
  if (gives == Gives::Class || gives == Gives::TokenClasses || gives == Gives::ImageClass)
    throw FileError(
        checkpoint.file,
        fmt::format(
            "holds a model of kind '{}', which glim classify measures, with {}", checkpoint.kind,
            gives == Gives::ImageClass ? "--images FILE --labels FILE" : "--labelled FILE"));
  if (gives == Gives::Text) return measure_text(a, checkpoint);
  if (!a.text.empty())
    throw ValueError("--text", "is not for kind '" + checkpoint.kind + "': give --source");
  const TrainOptions& trained = checkpoint.options;
  const Translator translator(checkpoint);
  ParallelCorpus test;
  if (!a.source.empty()) {
    test = read_parallel(a.source, a.reference, true);
  } else if (!a.pairs.empty()) {
    test = read_pairs(a.pairs, a.columns.empty() ? trained.columns : a.columns, true);
  } else {
    auto pairs = task_test_pairs(trained);
    if (pairs.empty())
      throw ValueError("--source",
                       "is needed, with --target, or --pairs: the model was trained on files");
    test = generated_corpus(trained.task + " (test)", pairs);
  }
  if (test.blank)
    note(fmt::format("left out of the perplexity: {} with an empty side, the first in line {}",
                     counted(test.blank, "pair"), test.first_blank));
  auto references = test.target_sentences(), sources = test.source_sentences();
  TranslationLearner learner(trained, translator, std::move(test), a.options.truncate);
  if (const TokenizedCorpus& t = learner.data().valid_tokens; t.too_long > 0)
    note(
        fmt::format("left out of the perplexity: {} with a target beyond the model's maximum, the "
                    "first: {}",
                    counted(t.too_long, "pair"), t.first_too_long));
  Measures m = measure_validation(learner, 0, world);
  Index unknown = learner.data().valid_tokens.target_unknown;
  if (!a.json) say_removed(a);
  if (!a.json)
    print_line(
        fmt::format("{} pairs, {} target tokens: NLL {:.4f} per token, perplexity {:.3f} "
                    "(KL {:.4f}, smoothed CE {:.4f}; {} unknown)",
                    learner.data().valid_tokens.pairs.size(), m.tokens, m.nll, m.perplexity(), m.kl,
                    m.smoothed_ce, unknown));
  const std::vector<std::string> hypotheses =
      best_translations(translator, sources, a.options, world);
  const std::size_t exact = count_same(hypotheses, references);
  if (!a.output.empty() && world.first())
    write_file_atomically(a.output, fmt::format("{}\n", fmt::join(hypotheses, "\n")));
  double share = static_cast<double>(exact) / static_cast<double>(hypotheses.size());
  BleuScore score = bleu(a, hypotheses, references);
  if (a.json)
    return print_json({{"pairs", hypotheses.size()},
                       {"target_tokens", m.tokens},
                       {"unknown", unknown},
                       {"nll", m.nll},
                       {"perplexity", m.perplexity()},
                       {"kl", m.kl},
                       {"smoothed_ce", m.smoothed_ce},
                       {"exact", exact},
                       {"exact_share", share},
                       {"removed_heads", a.removed},
                       {"bleu", bleu_json(score)}});
  print_line(fmt::format("exact match {} of {} = {:.2f} %", exact, hypotheses.size(), 100 * share));
  if (a.source.empty() && a.pairs.empty() && trained.task != "phrasebook" &&
      trained.task != "names")
    print_line(fmt::format("tokens in their place: {:.1f} % (first quarter {:.1f}, last {:.1f})",
                           in_place(hypotheses, references, 0, 1),
                           in_place(hypotheses, references, 0, 0.25),
                           in_place(hypotheses, references, 0.75, 1)));
  print_line(score.line());
}

}  // namespace

Command evaluate_command() {
  Command c("evaluate", "perplexity and BLEU on a test set, or the perplexity of a text");
  c.shares_work = true;
  auto a = std::make_shared<EvaluateArguments>();
  a->options.beam = 4;
  c.option("model", &a->model, "folder of a model, or one of its files");
  c.option("source", &a->source, "file of source sentences (built-in tasks have their own)");
  c.option("target", &a->reference, "file of their translations, the references");
  c.option("pairs", &a->pairs,
           "instead of --source and --target: file of both (CSV, TSV or JSON lines; -: standard "
           "input)");
  c.option("columns", &a->columns, "its columns, as NAME,NAME (those of training; source,target)");
  c.option("text", &a->text, "file of text that a gpt is measured on (-: standard input)");
  c.option("remove-head", &a->removed,
           "the context of these heads is 0: decoder.layers.1.multihead_attn:2");
  c.option("hypotheses", &a->hypotheses, "file of translations to score instead of a model's");
  c.option("out", &a->output, "file that also gets the translations");
  c.option("tokenize", &a->tokenize, "BLEU's tokenizer (auto: zh for Chinese references, else 13a)")
      .choices = kBleuTokenizers;
  c.option("lowercase", &a->lowercase, "ignore case in BLEU");
  c.option("beam", &a->options.beam, "prefixes kept at each step; 1 is greedy", kBeam);
  c.option("length-penalty", &a->options.length_penalty, "α: scores are divided by ((5 + n)/6)^α",
           kNotNegative);
  c.option("batch-sentences", &a->options.batch, "sentences translated together", kPositive);
  c.option("truncate", &a->options.truncate, "cut sources beyond the model's maximum");
  c.option("json", &a->json, "print one JSON object");
  c.run = [a](Command& command) { run_evaluate(command, *a); };
  return c;
}

}  // namespace glim
