// Learning to continue text: the kind `gpt`.
//
//   loss = -Σ ln P(token t+1 | tokens 1 … t) over crops of `block` tokens
//
// Each epoch reads the whole text once. It is cut into crops that do not overlap, from a random place on, and
// they are read in random order; both are functions of (seed, epoch). (nanoGPT draws the place of each crop,
// so it sees some text twice and some not at all.) Validation reads the whole validation part in consecutive
// blocks. The parts are nanoGPT's: the first 90 % of the characters (of the lines, unless tokens are
// characters) train, the rest validates, or another file does.
#include <algorithm>
#include <fmt/format.h>

#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/text_stream.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/records.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/train/fingerprint.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/learners/sizes.hpp"
#include "tools/train/option_list.hpp"

namespace glim {

namespace {

void check_language(const TrainOptions& o) {
  reject_unknown(o);
  one_of("task", o.task, {"phrasebook", "files"});
  if (o.task == "files" && o.text.empty()) throw ValueError("--text", "is needed: a file of text");
  if (o.task != "files" && !(o.text.empty() && o.valid_text.empty()))
    throw ValueError("--task", "'" + o.task + "' has its own text: leave out --task, or the files");
  one_of("norm", o.norm, {"pre"});
  one_of("activation", o.activation, {"gelu", "gelu-tanh"});
  one_of("tie", o.tie, {"decoder"});
  one_of("positions", o.positions, {"learned", "sinusoidal", "none"});
}

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

struct Parts {
  std::string train, valid;
  std::string held_out = {};  // which part of the file the second is
};

// The text's end is held out: of characters as tokens in characters, else in lines.
Parts parts_of(const TrainOptions& o) {
  if (o.task == "phrasebook")
    return {joined(sources_of(phrasebook_pairs(Part::Train))),
            joined(sources_of(phrasebook_pairs(Part::Valid)))};
  auto read = [](const std::string& path) { return read_lines(path, std::string::npos); };
  std::vector<std::string> lines = read(o.text);  // which may all be one line
  const std::string text = joined(lines);
  if (!o.valid_text.empty()) return {text, joined(read(o.valid_text))};
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

}  // namespace

namespace {

class LanguageLearner final : public Learner {
 public:
  LanguageLearner(const TrainOptions& o, const Checkpoint* from)
      : Learner(o), train_name_(o.task == "files" ? o.text : o.task) {
    check_language(o);
    Parts parts = parts_of(o);
    held_out_ = parts.held_out;
    GptConfig config;
    if (from) {
      config = described_gpt(*from);
      tokenizer_ = described_tokenizer(*from, config.vocab);
    } else {
      tokenizer_ = trained_tokenizer(o, parts.train);
      config = sizes_of<GptConfig>(o);
      config.vocab = tokenizer_->size();
    }
    train_ = tokenizer_->encode_text(parts.train);
    valid_ = tokenizer_->encode_text(parts.valid);
    for (std::vector<Index>* tokens : {&train_, &valid_})
      never_predicted_ +=
          std::erase_if(*tokens, [&](Index id) { return id < config.never_predicted; });
    if (static_cast<Index>(train_.size()) <= o.block)
      throw ValueError("--block", fmt::format("{} tokens of context need more than the {} training "
                                              "tokens of {}: a smaller --block, or more text",
                                              o.block, train_.size(), train_name_));
    choose_by_amount(std::ssize(train_) / o.block);
    model_ = from ? described_model<Gpt>(from->weights, from->file, config)
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
    return fmt::format("loss {:.4f}  perplexity {:.3f}", m.nll, m.perplexity());
  }

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
  // A row is the place where a crop begins. It is shorter than a block at the end of the validation text.
  Index row_targets(Split split, Index start) const override {
    return std::min<Index>(options_.block, std::ssize(tokens(split)) - 1 - start);
  }
  Index probe_count(Split split) const override {
    return std::max<Index>(std::ssize(tokens(split)) - options_.block, 0);
  }

  std::vector<Rows> draw(Split split, Index epoch) const override {
    const Index block = options_.block, total = std::ssize(tokens(split));
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
      std::uint64_t own = static_cast<std::uint64_t>(options_.seed) ^ 0x63726f7073u;
      auto e = static_cast<std::uint64_t>(epoch);
      Index shift = random_integers({1}, 0, block, {own, 2 * e}).to_vector<Index>()[0];
      shift = std::min(shift, total - 1 - block);
      whole = (total - 1 - shift) / block;
      for (Index i : permutation(whole, {own, 2 * e + 1}).to_vector<Index>())
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

  Var rows_loss(Split split, const Rows& starts, Index /*step*/, Measures& sums) override {
    const std::vector<Index>& text = tokens(split);
    const Index rows = std::ssize(starts), length = row_targets(split, starts[0]);
    std::vector<Index> in, out;
    for (Index start : starts) {
      in.insert(in.end(), text.begin() + start, text.begin() + start + length);
      out.insert(out.end(), text.begin() + start + 1, text.begin() + start + 1 + length);
    }
    Var logits = (*model_)(from_vector(in, {rows, length}));
    return sums.take(
        label_smoothing_loss(reshape(logits, {-1, logits.size(-1)}),  // (B, T, V) -> (B·T, V)
                             from_vector(out, {rows * length}), options_.label_smoothing, kPad));
  }

  TokenizerPtr tokenizer_;
  std::string train_name_;
  std::vector<Index> train_, valid_;
  std::size_t never_predicted_ = 0;  // tokens of the text that the model cannot say
  std::unique_ptr<Gpt> model_;
};

}  // namespace

std::unique_ptr<Learner> make_language_learner(const TrainOptions& options,
                                               const Checkpoint* from) {
  return std::make_unique<LanguageLearner>(options, from);
}

}  // namespace glim
