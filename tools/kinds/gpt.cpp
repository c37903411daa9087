// The kind `gpt`: a decoder that learns to continue text (models/gpt/gpt.md).
//
//   loss = -Σ ln P(token t+1 | tokens 1 … t) over crops of `block` tokens
//
// Each epoch reads the whole text once. It is cut into crops that do not overlap, from a random place on, and
// they are read in random order; both are functions of (seed, epoch). (nanoGPT draws the place of each crop,
// so it sees some text twice and some not at all.) Validation reads the whole validation part in consecutive
// blocks. The parts are nanoGPT's: the first 90 % of the characters (of the lines, unless tokens are
// characters) train, the rest validates, or another file does.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "models/pipeline/described.hpp"
#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/text_stream.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/records.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/example.hpp"
#include "tools/kinds/fingerprint.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {

namespace {

void check_language(const TrainOptions& o) {
  if (o.task == "files" && o.text.empty()) throw ValueError("--text", "is needed: a file of text");
  if (o.task != "files" && !(o.text.empty() && o.valid_text.empty()))
    throw ValueError("--task", "'" + o.task + "' has its own text: leave out --task, or the files");
}

std::string in_lines(const std::vector<std::string>& lines) {
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

struct Parts {
  std::string train, valid;
  std::string held_out = {};  // which part of the file the second is
};

// The text's end is held out: of characters as tokens in characters, else in lines.
Parts parts_of(const TrainOptions& o) {
  if (o.task == "phrasebook")
    return {in_lines(sources_of(phrasebook_pairs(Part::Train))),
            in_lines(sources_of(phrasebook_pairs(Part::Valid)))};
  auto read = [](const std::string& path) { return read_lines(path, std::string::npos); };
  std::vector<std::string> lines = read(o.text);  // which may all be one line
  const std::string text = in_lines(lines);
  if (!o.valid_text.empty()) return {text, in_lines(read(o.valid_text))};
  if (o.valid_share == 0) return {text, {}};
  const bool by_character = o.tokenizer == "char";
  const std::vector<CodePoint> characters = code_points(text);
  const std::size_t n = by_character ? characters.size() : lines.size();
  const std::size_t count = held_out_end(n, o.valid_share);
  std::size_t cut = text.size();
  if (by_character)
    cut = characters[n - count].offset;
  else
    for (std::size_t i = n - count; i < n; ++i) cut -= lines[i].size() + 1;
  return {text.substr(0, cut), text.substr(cut),
          fmt::format(
              "  held out to validate on: the last {} of {} {}, from line {} on", count, n,
              by_character ? "characters" : "lines",
              1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(cut), '\n'))};
}

TokenizerPtr trained_tokenizer(const TrainOptions& o, const std::string& text) {
  TokenizerOptions options = tokenizer_options(o, false);
  if (options.kind == "char") return train_tokenizer(options, std::vector<std::string>{text});
  return train_tokenizer(options, divided(text, '\n'));
}

class LanguageLearner final : public Learner {
 public:
  LanguageLearner(const TrainOptions& o, const ModelFile* init)
      : Learner(o), train_name_(o.task == "files" ? o.text : o.task) {
    check_language(o);
    Parts parts = parts_of(o);
    held_out_ = parts.held_out;
    GptConfig config;
    if (init) {
      config = described_gpt(*init);
      tokenizer_ = described_tokenizer(*init, config.vocab);
    } else {
      tokenizer_ = trained_tokenizer(o, parts.train);
      config = o.config<GptConfig>();
      config.vocab = tokenizer_->size();
    }
    train_ = tokenizer_->encode_text(parts.train);
    valid_ = tokenizer_->encode_text(parts.valid);
    for (std::vector<Index>* tokens : {&train_, &valid_})
      never_predicted_ +=
          std::erase_if(*tokens, [&](Index id) { return id < config.never_predicted; });
    if (static_cast<Index>(train_.size()) <= block())
      throw ValueError("--block", fmt::format("{} tokens of context need more than the {} training "
                                              "tokens of {}: a smaller --block, or more text",
                                              block(), train_.size(), train_name_));
    choose_by_amount(std::ssize(train_) / block());
    model_ = init ? described_model<Gpt>(init->weights, init->file, config)
                  : std::make_unique<Gpt>(config);
  }

  Module& model() override { return *model_; }
  std::map<std::string, std::string> description() const override {
    return {{"model", to_json(model_->config())}, {"tokenizer", tokenizer_->serialize()}};
  }

  std::string fingerprint() const override {
    Fingerprint f;
    f.mix_all(train_);
    return f.text();
  }

  std::vector<std::string> summary() const override {
    std::vector<std::string> lines{
        fmt::format("data: {} training tokens, {} validation; {} tokens in the vocabulary",
                    train_.size(), valid_.size(), tokenizer_->size())};
    note_smaller_vocabulary(options_, false, *tokenizer_, lines);
    add_choices(lines);
    auto count = [&](const std::vector<Index>& tokens, const char* what) {
      if (auto unknown = std::count(tokens.begin(), tokens.end(), kUnk))
        lines.push_back(fmt::format("  {} tokens {} are not in the vocabulary", unknown, what));
    };
    if (!options_.init_from.empty()) count(train_, "to train on");
    count(valid_, "to validate");
    if (never_predicted_ > 0)
      lines.push_back(fmt::format("  {} tokens that the imported vocabulary lacks are left out",
                                  never_predicted_));
    return lines;
  }

  std::string describe(const Measures& m) const override {
    return fmt::format("NLL {:.4f}  perplexity {:.3f}", m.nll, m.perplexity());
  }

  bool is_unsplit() const override { return glim::is_unsplit(*tokenizer_, {&train_}); }
  std::map<Index, Index> target_counts() const override {
    std::map<Index, Index> counts;
    for (Index id : train_) ++counts[id];
    return counts;
  }

  std::string demonstrate(const std::string& folder) override {
    const std::string sample = TextGenerator(folder).generate(
        std::vector<Index>{train_.front()}, {.max_tokens = 300, .sampling = {.temperature = 0.8}});
    return "\na sample (temperature 0.8; glim generate gives more):\n\n" + sample + "\n\n";
  }

 private:
  const std::vector<Index>& tokens(Split split) const {
    return split == Split::Train ? train_ : valid_;
  }
  Index block() const { return options_.config<GptConfig>().context; }
  // A row is the place where a crop begins. It is shorter than a block at the end of the validation text.
  Index row_targets(Split split, Index start) const override {
    return std::min<Index>(block(), std::ssize(tokens(split)) - 1 - start);
  }
  Index probe_count(Split split) const override {
    return std::max<Index>(std::ssize(tokens(split)) - block(), 0);
  }

  std::vector<Rows> draw(Split split, Index epoch) const override {
    const Index block = this->block(), total = std::ssize(tokens(split));
    if (total < 2) return {};
    Index rows = options_.batch_sentences;
    if (options_.batch_tokens > 0) {
      Index fit = std::max<Index>(options_.batch_tokens / block, 1);
      rows = rows > 0 ? std::min(rows, fit) : fit;
    }
    Index whole = (total - 1) / block;  // a crop reads one token beyond its end
    Rows starts;
    if (split == Split::Train) {
      // Blocks that begin at a random place, in random order: streams apart from dropout's.
      std::uint64_t seed = static_cast<std::uint64_t>(options_.seed) ^ 0x63726f7073u;
      auto e = static_cast<std::uint64_t>(epoch);
      Index shift = random_integers({1}, 0, block, {seed, 2 * e}).to_vector<Index>()[0];
      shift = std::min(shift, total - 1 - block);
      whole = (total - 1 - shift) / block;
      for (Index i : permutation(whole, {seed, 2 * e + 1}).to_vector<Index>())
        starts.push_back(shift + i * block);
    } else {
      rows = std::max<Index>(rows, 4096 / block);
      for (Index i = 0; i < whole; ++i) starts.push_back(i * block);
    }
    std::vector<Rows> batches = in_batches(starts, rows);
    if (split == Split::Valid && whole * block < total - 1) batches.push_back({whole * block});
    return batches;
  }

  // A crop as text, with the token beyond its end.
  TrainingSample sample(Index start) const override {
    TextStream text(tokenizer_);
    TrainingSample sample;
    for (Index i = start; i <= start + row_targets(Split::Train, start); ++i)
      sample.sentence += text.push(train_[static_cast<std::size_t>(i)]);
    return sample;
  }

  MeasuredLoss rows_loss(Split split, const Rows& starts, Index /*step*/) override {
    const std::vector<Index>& text = tokens(split);
    const Index rows = std::ssize(starts), length = row_targets(split, starts[0]);
    std::vector<Index> in, out;
    for (Index start : starts) {
      in.insert(in.end(), text.begin() + start, text.begin() + start + length);
      out.insert(out.end(), text.begin() + start + 1, text.begin() + start + 1 + length);
    }
    Var logits = (*model_)(from_vector(in, {rows, length}));
    return label_smoothing_loss(reshape(logits, {-1, logits.size(-1)}),  // (B, T, V) -> (B·T, V)
                                from_vector(out, {rows * length}), options_.label_smoothing, kPad);
  }

  TokenizerPtr tokenizer_;
  std::string train_name_;
  std::vector<Index> train_, valid_;
  std::size_t never_predicted_ = 0;  // tokens of the text that the model cannot say
  std::unique_ptr<Gpt> model_;
};

// An example: a text, and the next token of each.

std::vector<std::string> shown(const Tokenizer& tokenizer, const std::string& text,
                               const std::vector<std::int64_t>& ids) {
  std::vector<std::string> tokens = shown_tokens(tokenizer, text);
  if (tokens.size() == ids.size() && text.find('\n') == std::string::npos) return tokens;
  tokens.clear();
  for (std::int64_t id : ids)
    tokens.push_back(tokenizer.decode({id}) == "\n" ? "↵" : tokenizer.piece(id));
  return tokens;
}

void read_text(Example& e, const ExampleOptions& options) {
  std::shared_ptr<Gpt> gpt;
  TrainOptions trained = options.fresh;
  if (options.init) {
    const std::shared_ptr<Learner> fresh = make_learner(options.fresh);
    gpt = {fresh, &dynamic_cast<Gpt&>(fresh->model())};
    e.tokenizers.source = deserialize_tokenizer(fresh->description().at("tokenizer"), "gpt");
  } else {
    const ModelFile file = read_model(options.model);
    const TextGenerator loaded(file);
    gpt = loaded.model();
    e.tokenizers.source = loaded.tokenizer();
    trained = trained_options(file);
  }
  e.tokenizers.target = e.tokenizers.source;
  if (options.float64) gpt->to(DType::Float64);
  e.target_text = text_or_phrase(options.source, trained);
  const Tokenizer& tokenizer = *e.tokenizers.target;
  const bool line = e.target_text.find('\n') == std::string::npos;
  auto ids = line && tokenizer.encode(e.target_text).empty() ? std::vector<std::int64_t>()
                                                             : tokenizer.encode_text(e.target_text);
  require_fits("--sentence", ids, gpt->config().context + 1, &tokenizer);
  if (std::ranges::any_of(ids, [&](Index id) { return id < gpt->config().never_predicted; }))
    throw ValueError("--sentence", "has what the imported vocabulary lacks: " +
                                       unknown_part(tokenizer, e.target_text));
  if (ids.size() < 2)
    throw ValueError("--sentence", "a text of one token has no next one to predict");
  const auto tokens = shown(tokenizer, e.target_text, ids);
  e.target_in = {tokens.begin(), tokens.end() - 1};
  e.target_out = {tokens.begin() + 1, tokens.end()};
  e.target_out_ids = {ids.begin() + 1, ids.end()};
  ids.pop_back();
  e.label_smoothing = trained.label_smoothing;
  e.pad = kPad;
  e.module = gpt;
  e.logits = [gpt, ids] {
    const auto length = std::ssize(ids);
    return reshape((*gpt)(from_vector(ids, {1, length})), {length, -1});  // of (1, T, V)
  };
}

// The variance of a product of any width stays: nanoGPT's deviation of 0.02 suits its wide models. A gated feed-forward
// layer is SwiGLU.
void choose(TrainOptions& o, const OptionGiven& is_set, const OptionTook& took) {
  if (!is_set("epochs")) {
    if (!is_set("max-steps")) o.max_steps = 2000, took("max-steps", "default of --kind gpt");
    o.epochs = 1000, took("epochs", "default of --kind gpt");
  }
  if (o.value("feed_forward") == "gated" && !is_set("activation"))
    o.set("activation", "silu"), took("activation", "default of --feed-forward gated");
  if (is_set("init")) return;
  o.set("init", 1 / std::sqrt(o.number("d_model")));
  took("init", "default of --kind gpt");
}

}  // namespace

const Kind& gpt_kind() {
  static const Kind kind{
      .name = "gpt",
      .sizes = GptConfig{.d_ff = 512},
      .options = words("text valid_text tokenizer vocabulary vocabulary_file min_frequency "
                       "embeddings freeze_embeddings"),
      .usual = words("kind text tokenizer layers d_model block max_steps batch_sentences rate out"),
      .tasks = words("phrasebook files"),
      // nanoGPT's recipe for a text by characters on a CPU.
      .settings = R"(
tokenizer = "char"
layers = 4
d-model = 128
heads = 4
d-ff = "4D"
dropout = 0
activation = "gelu"
positions = "learned"
batch-tokens = 0
batch-sentences = 12
label-smoothing = 0
optimizer = "adamw"
beta2 = 0.99
epsilon = 1e-8
weight-decay = 0.1
schedule = "cosine"
rate = 1e-3
warmup = 100
valid-every = 250

["files"]
patience = 20
)",
      .example = words("sentence"),
      .learner = [](const TrainOptions& o, const ModelFile* init) -> std::unique_ptr<Learner> {
        return std::make_unique<LanguageLearner>(o, init);
      },
      .read = read_text,
      .least = [](const TrainOptions& o) { return least_of_layers(o, 0, o.number("block")); },
      .choose = choose};
  return kind;
}

}  // namespace glim
