#include "tools/kinds/bert.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "models/pipeline/described.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/portable.hpp"
#include "tools/common/counted.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/example.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

void check_bert(const TrainOptions& o) {
  check_encoder(o);
  if (o.task == "files" && o.text.empty())
    throw ValueError("--text", "is needed: a file of sentences, one per line");
  if (o.task != "files" && !(o.text.empty() && o.valid_text.empty()))
    throw ValueError("--task", "'" + o.task + "' has its own text: leave out --task, or the files");
}

struct BertText {
  std::vector<std::string> train, valid;
  std::string held_out = {};
};

BertText bert_text(const TrainOptions& o) {
  if (o.task == "phrasebook")
    return {sources_of(phrasebook_pairs(Part::Train)), sources_of(phrasebook_pairs(Part::Valid))};
  Corpus all = read_corpus(o.text);
  std::vector<std::string>& lines = all.sentences;
  if (!o.valid_text.empty()) return {lines, read_corpus(o.valid_text).sentences};
  // Whole sentences: a share that is begun is trained on.
  const std::size_t n = lines.size();
  const auto count =
      o.valid_share < 0 ? n / 10 : static_cast<std::size_t>(o.valid_share * static_cast<double>(n));
  const auto cut = lines.begin() + static_cast<std::ptrdiff_t>(n - count);
  BertText parts{{lines.begin(), cut}, {cut, lines.end()}};
  if (count > 0)
    parts.held_out =
        fmt::format("  held out to validate on: the last {} of {} sentences, from line {} on",
                    count, n, all.line[n - count]);
  else if (o.valid_share != 0)
    parts.held_out = describe_held_out({}, n, o.valid_share, "sentence");
  return parts;
}

Index known_tokens(const TokenPair& sentence) {
  return std::count_if(sentence.source.begin(), sentence.source.end(),
                       [](auto id) { return id >= kSpecialTokens; });
}

// Nothing can be chosen of a sentence of unknown tokens.
Index drop_unknown(SentenceSet& set) {
  SentenceSet kept{{}, {}, set.cut, set.unknown};
  for (std::size_t i = 0; i < set.pairs.size(); ++i) {
    if (known_tokens(set.pairs[i]) == 0) continue;
    kept.pairs.push_back(std::move(set.pairs[i]));
    kept.text.push_back(std::move(set.text[i]));
  }
  auto left_out = static_cast<Index>(set.pairs.size() - kept.pairs.size());
  set = std::move(kept);
  return left_out;
}

}  // namespace

void check_encoder(const TrainOptions& o) {
  if (o.max_length < 3) throw ValueError("--max-length", "<s>, a token and </s> need 3 at least");
}

BertConfig bert_config(BertConfig c, const TrainOptions& o, Index tokens) {
  c.max_len = o.max_length;
  c.vocab = tokens + 1;  // and [MASK]
  return c;
}

void load_encoder(Bert& encoder, const ModelFile& pretrained) {
  StateDict weights;
  for (auto& [name, value] : pretrained.weights)
    if (name.rfind("bert.", 0) == 0) weights[name.substr(5)] = value;
  load(encoder, weights, pretrained.file);
}

namespace {

class MaskedLearner final : public SentenceLearner {
 public:
  MaskedLearner(const TrainOptions& o, const ModelFile* init) : SentenceLearner(o) {
    check_bert(o);
    BertText parts = bert_text(o);
    held_out_ = parts.held_out;
    BertConfig config;
    if (init) {
      std::tie(config, tokenizer_) = described_encoder(*init);
    } else {
      tokenizer_ = train_tokenizer(tokenizer_options(o, false), parts.train);
      config = bert_config(o.config<BertConfig>(), o, tokenizer_->size());
    }
    for (const std::string& s : parts.train) train_.add(*tokenizer_, s, 0, config.max_len);
    for (const std::string& s : parts.valid) valid_.add(*tokenizer_, s, 0, config.max_len);
    left_out_ = drop_unknown(train_) + drop_unknown(valid_);
    if (train_.pairs.empty())
      throw ValueError("--min-frequency", "leaves no token in the vocabulary");
    choose_by_amount(std::ssize(train_.pairs));
    model_ = init ? described_model<MaskedLanguageModel>(init->weights, init->file, config)
                  : std::make_unique<MaskedLanguageModel>(config);
  }

  Module& model() override { return *model_; }
  std::map<std::string, std::string> description() const override {
    return {{"model", to_json(model_->bert.config())}, {"tokenizer", tokenizer_->serialize()}};
  }

  std::vector<std::string> summary() const override {
    std::vector<std::string> lines = SentenceLearner::summary();
    if (left_out_ > 0)
      lines.push_back(
          fmt::format("  left out: {} of unknown tokens", counted(left_out_, "sentence")));
    return lines;
  }

  MeasuredLoss loss(Split split, Index shard, Index step) override {
    key_ = split == Split::Train ? generator().next()
                                 : RandomKey{0x6d61736bu, static_cast<std::uint64_t>(shard)};
    if (split == Split::Train) drawn_[shard] = key_;
    return SentenceLearner::loss(split, shard, step);
  }
  Var probe(Index i) override {
    key_ = {0x70726f62u, static_cast<std::uint64_t>(i)};
    return SentenceLearner::probe(i);
  }

  // With what the chosen tokens became: [MASK], a random token, or themselves.
  std::vector<TrainingSample> samples(Index shard) const override {
    const Masked m = masked_shard(shard);
    const Index mask = model_->bert.config().mask(), columns = m.ids.size(1);
    const auto ids = m.ids.to_vector<Index>();
    std::vector<TrainingSample> list = SentenceLearner::samples(shard);
    for (Index position : m.chosen.to_vector<Index>()) {
      const Index became = ids[static_cast<std::size_t>(position)];
      std::string hidden = std::to_string(position % columns);
      if (became != mask) hidden += "=" + tokenizer_->piece(became);
      list[static_cast<std::size_t>(position / columns)].hide.push_back(std::move(hidden));
    }
    return list;
  }
  Var sample_loss(Index shard, std::size_t i) override {
    const Masked m = masked_shard(shard);
    const Index columns = m.ids.size(1), row = static_cast<Index>(i);
    const auto targets = m.targets.to_vector<Index>();
    std::vector<Index> chosen, its_targets;
    Index k = 0;
    for (Index position : m.chosen.to_vector<Index>()) {
      if (position / columns == row) {
        chosen.push_back(position % columns);
        its_targets.push_back(targets[static_cast<std::size_t>(k)]);
      }
      ++k;
    }
    const auto& pair = train_.pairs[static_cast<std::size_t>(rows(Split::Train, shard)[i])];
    const Index length = std::ssize(pair.source) + 1;  // and </s>
    const Index count = std::ssize(chosen);
    return masked_loss({slice(slice(m.ids, 0, row, row + 1), 1, 0, length).contiguous(),
                        from_vector(chosen, {count}), from_vector(its_targets, {count})});
  }

  std::string describe(const Measures& m) const override {
    return fmt::format("NLL {:.4f}  perplexity {:.3f}  accuracy {:.4f}", m.nll, m.perplexity(),
                       m.accuracy());
  }

  std::map<Index, Index> target_counts() const override {
    std::map<Index, Index> counts;
    for (const TokenPair& p : train_.pairs)
      for (std::int64_t id : p.source)
        if (id >= kSpecialTokens) ++counts[id];
    return counts;
  }

  // Sentences with the middle token hidden, and what the model would put there.
  std::string demonstrate(const std::string& folder) override {
    const std::vector<TokenPair>& sentences = valid_.pairs;
    if (sentences.empty()) return "";
    model_->load_state_dict(read_model(folder).weights);
    model_->eval();
    NoGrad no_tape;
    std::string text = "\nheld-out sentences, one token hidden:\n";
    std::size_t step = std::max<std::size_t>(1, sentences.size() / 6);
    for (std::size_t i = 0; i < sentences.size(); i += step) {
      Tensor ids = padded_ids(sentences, {static_cast<std::int64_t>(i)});
      const auto& source = sentences[i].source;
      Index m = static_cast<Index>(source.size()) / 2, was = source[static_cast<std::size_t>(m)];
      ids.data<Index>()[m] = model_->bert.config().mask();
      Tensor chosen = from_vector(std::vector<Index>{m}, {1});
      Ordered best = top_k(log_softmax((*model_)(ids, chosen).value()), 3);
      std::string words;
      for (std::size_t t = 1; t < source.size(); ++t)
        words += (t > 1 ? " " : "") +
                 (static_cast<Index>(t) == m ? "[MASK]" : tokenizer_->piece(source[t]));
      std::string guesses;
      auto ranked = best.indices.to_vector<Index>();
      auto log_probs = best.values.to(DType::Float64).to_vector<double>();
      for (std::size_t k = 0; k < ranked.size(); ++k)
        guesses +=
            fmt::format("{}{} {:.2f}", k > 0 ? ", " : "",
                        ranked[k] < tokenizer_->size() ? tokenizer_->piece(ranked[k]) : "[MASK]",
                        portable::exp(log_probs[k]));
      text += fmt::format("  {}\n    {}   (it was: {})\n", words, guesses, tokenizer_->piece(was));
    }
    return text;
  }

 private:
  Index row_targets(Split split, Index row) const override {
    return chosen_count(known_tokens(pairs(split)[static_cast<std::size_t>(row)]),
                        MaskingOptions{}.share);
  }
  TrainingSample sample(Index row) const override {
    return {.sentence = train_.text[static_cast<std::size_t>(row)]};
  }
  MeasuredLoss rows_loss(Split split, const Rows& rows, Index /*step*/) override {
    return masked_loss(masked(padded_ids(pairs(split), rows), key_));
  }
  // (B, S) ids, tokens hidden as the key says.
  Masked masked(const Tensor& ids, RandomKey key) const {
    return mask_tokens(ids, model_->bert.config().mask(), {}, key);
  }
  // As the last loss() of this training shard hid them.
  Masked masked_shard(Index shard) const {
    return masked(padded_ids(train_.pairs, rows(Split::Train, shard)), drawn_.at(shard));
  }
  MeasuredLoss masked_loss(const Masked& m) {
    Var logits = (*model_)(m.ids, m.chosen);  // (M, V)
    return classes_loss(logits, m.targets, options_.label_smoothing, kPad);
  }

  RandomKey key_;                     // of the loss under way
  std::map<Index, RandomKey> drawn_;  // by training shard, in this epoch
  Index left_out_ = 0;
  std::unique_ptr<MaskedLanguageModel> model_;
};

// An example: <s> x_1 … x_n </s>, [MASK] in the place of hidden tokens, or another token: "3" hides token 3, "3=cat"
// shows cat there.

Index token_named(const Tokenizer& tokenizer, const std::string& piece) {
  for (Index id = kSpecialTokens; id < tokenizer.size(); ++id)
    if (tokenizer.piece(id) == piece) return id;
  throw ValueError("--hide", "the model has no token '" + piece + "'");
}

// Hides these tokens of the sentence, and asks for them. Gives their positions.
std::vector<Index> hide(Example& e, const std::vector<std::string>& texts, Index mask) {
  const Tokenizer& tokenizer = *e.tokenizers.source;
  const Index last = std::ssize(e.source) - 2;
  std::map<Index, Index> tokens;  // by position: the token that is shown there
  for (const std::string& text : texts) {
    Index t = 0, shown = mask;
    const char* stop = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), stop, t);
    if (error != std::errc() || (end != stop && *end != '=') || t < 1 || t > last)
      throw ValueError("--hide",
                       fmt::format("the sentence has the tokens 1 to {}, not {}", last, text));
    if (end != stop) shown = token_named(tokenizer, std::string(end + 1, stop));
    tokens[t] = shown;
  }
  if (tokens.empty()) tokens[(last + 1) / 2] = mask;
  std::vector<Index> hidden;
  for (auto [t, shown] : tokens) {
    auto position = static_cast<std::size_t>(t);
    hidden.push_back(t);
    e.target_out.push_back(e.source[position]);
    e.target_out_ids.push_back(e.source_ids[position]);
    e.target_text += (e.target_text.empty() ? "" : " ") + e.source[position];
    e.source_ids[position] = shown;
    e.source[position] = shown == mask ? "[MASK]" : tokenizer.piece(shown);
  }
  return hidden;
}

void read_masked(Example& e, const ExampleOptions& options) {
  std::shared_ptr<MaskedLanguageModel> bert;
  TrainOptions trained = options.fresh;
  if (options.init) {
    const std::shared_ptr<Learner> fresh = make_learner(options.fresh);
    bert = {fresh, &dynamic_cast<MaskedLanguageModel&>(fresh->model())};
    e.tokenizers.source = deserialize_tokenizer(fresh->description().at("tokenizer"), "bert");
  } else {
    const ModelFile file = read_model(options.model);
    const auto [config, tokenizer] = described_encoder(file);
    bert = loaded_model<MaskedLanguageModel>(file, config);
    e.tokenizers.source = tokenizer;
    trained = trained_options(file);
  }
  e.tokenizers.target = e.tokenizers.source;
  if (options.float64) bert->to(DType::Float64);
  const BertConfig& config = bert->bert.config();
  read_sentence(e, text_or_phrase(options.source, trained), config.max_len - 2);
  const std::vector<Index> hidden = hide(e, options.hide, config.mask());
  e.label_smoothing = trained.label_smoothing;
  e.pad = kPad;
  e.module = bert;
  e.logits = [bert, hidden, ids = e.source_ids] {
    return (*bert)(from_vector(ids, {1, std::ssize(ids)}),
                   from_vector(hidden, {std::ssize(hidden)}));  // (M, V)
  };
}

}  // namespace

const Kind& bert_kind() {
  static const Kind kind{
      .name = "bert",
      .sizes = BertConfig{.d_ff = 512, .norm = NormPlacement::Pre},
      .options = words("text valid_text tokenizer vocabulary vocabulary_file min_frequency "
                       "max_length embeddings freeze_embeddings"),
      .usual = words("kind text tokenizer layers d_model heads epochs batch_tokens rate out"),
      .tasks = words("phrasebook files"),
      .settings = R"(
layers = 2
d-model = 128
heads = 4
d-ff = "4D"
norm = "pre"
activation = "gelu"
positions = "learned"
epochs = 30
batch-tokens = 2048
label-smoothing = 0
optimizer = "adamw"
weight-decay = 0.01
schedule = "cosine"
rate = 1e-3
warmup = 200

["files"]
epochs = 0
batch-tokens = 0
)",
      .example = words("sentence hide"),
      .learner = [](const TrainOptions& o, const ModelFile* init) -> std::unique_ptr<Learner> {
        return std::make_unique<MaskedLearner>(o, init);
      },
      .read = read_masked,
      .least =
          [](const TrainOptions& o) {
            return least_of_layers(o, 0, static_cast<double>(o.max_length));
          }};
  return kind;
}

}  // namespace glim
