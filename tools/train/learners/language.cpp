#include "tools/train/learners/language.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/decoding/sampling.hpp"
#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/stored_json.hpp"
#include "tools/data/corpus/text_stream.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/train/fingerprint.hpp"
#include "tools/train/learners/transformer.hpp"
#include "tools/train/option_names.hpp"

namespace glim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GptConfig, vocab, context, d_model, heads, layers, d_ff, dropout,
                                   bias, norm_eps)

namespace {

void check_language(const TrainOptions& o) {
  check_taken(o, {"task", "text", "valid-text", "tokenizer", "vocabulary", "min-frequency",
                  "layers", "d-model", "heads", "d-ff", "dropout", "norm", "activation", "tie",
                  "positions", "block", "init", "bias"});
  one_of("task", o.task, {"phrasebook", "files"});
  if (o.task == "files" && o.text.empty()) throw ValueError("--text", "a file of text is needed");
  if (o.task != "files" && !(o.text.empty() && o.valid_text.empty()))
    throw ValueError("--task", "'" + o.task + "' has its own text: it takes no files");
  check_tokenizer(o);
  one_of("norm", o.norm, {"pre"});
  one_of("activation", o.activation, {"gelu"});
  one_of("tie", o.tie, {"decoder"});
  one_of("positions", o.positions, {"learned"});
}

GptConfig gpt_config(const TrainOptions& o, Index vocab) {
  GptConfig c;
  c.vocab = vocab;
  c.context = o.block;
  c.d_model = o.d_model;
  c.heads = o.heads;
  c.layers = o.layers;
  c.d_ff = o.d_ff;
  c.dropout = o.dropout;
  c.bias = o.bias;
  c.init = o.init;
  return c;
}

// A description is believed only as far as the file's tensors bear it out.
GptConfig described_gpt(const Checkpoint& c, const std::string& file) {
  if (c.kind != "gpt")
    throw FileError(file, "holds a model of kind '" + c.kind + "', which does not continue text; " +
                              "wanted is one of kind 'gpt'");
  auto config =
      read_json(c.described("model", file), nlohmann::json(GptConfig{}).dump(), file,
                "model description", [](const nlohmann::json& j) { return j.get<GptConfig>(); });
  if (config.layers < 1 || config.layers > static_cast<Index>(c.weights.size()))
    throw FileError(file, "describes more layers than it has tensors");
  require_tensor(c.weights, "wte.weight", {config.vocab, config.d_model}, file);
  require_tensor(c.weights, "wpe.weight", {config.context, config.d_model}, file);
  for (Index i = 0; i < config.layers; ++i)
    require_tensor(c.weights, "transformer.layers." + std::to_string(i) + ".linear1.weight",
                   {config.d_ff, config.d_model}, file);
  return config;
}

TokenizerPtr tokenizer_of(const Checkpoint& c, const std::string& file, Index vocab) {
  TokenizerPtr t = deserialize_tokenizer(c.described("tokenizer", file), file + ": tokenizer");
  if (t->size() != vocab)
    throw FileError(file, "its tokenizer does not have the vocabulary size of its model");
  return t;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct Parts {
  std::string train, valid;
};

Parts parts_of(const TrainOptions& o) {
  if (o.task == "phrasebook")
    return {joined(sources_of(phrasebook_train())), joined(sources_of(phrasebook_valid()))};
  std::vector<std::string> lines = read_lines(o.text);
  if (!o.valid_text.empty()) return {joined(lines), joined(read_lines(o.valid_text))};
  if (o.tokenizer != "char") {
    auto cut = lines.begin() + static_cast<std::ptrdiff_t>(lines.size() * 9 / 10);
    return {joined({lines.begin(), cut}), joined({cut, lines.end()})};
  }
  std::string text = joined(lines);
  std::vector<CodePoint> characters = code_points(text);
  std::size_t cut = characters[characters.size() * 9 / 10].offset;
  return {text.substr(0, cut), text.substr(cut)};
}

TokenizerPtr trained_tokenizer(const TrainOptions& o, const std::string& text) {
  TokenizerOptions options = tokenizer_options(o, false);
  if (options.kind == "char") return train_tokenizer(options, std::vector<std::string>{text});
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return train_tokenizer(options, lines);
}

}  // namespace

LoadedLanguageModel load_language_model(const std::string& path) {
  std::string file = model_file(path);
  LoadedLanguageModel loaded;
  loaded.checkpoint = load_checkpoint(file);
  GptConfig config = described_gpt(loaded.checkpoint, file);
  loaded.tokenizer = tokenizer_of(loaded.checkpoint, file, config.vocab);
  try {
    loaded.model = std::make_unique<Gpt>(config);
    if (loaded.checkpoint.options.precision == "float64") loaded.model->to(DType::Float64);
    loaded.model->load_state_dict(loaded.checkpoint.weights);
  } catch (const Error& e) {
    throw FileError(file, e.one_line());
  }
  loaded.model->eval();
  return loaded;
}

LanguageLearner::LanguageLearner(const TrainOptions& o, const Checkpoint* from)
    : options_(o), train_name_(o.task == "files" ? o.text : o.task) {
  check_language(o);
  Parts parts = parts_of(o);
  GptConfig config;
  if (from) {
    config = described_gpt(*from, o.out);
    tokenizer_ = tokenizer_of(*from, o.out, config.vocab);
  } else {
    tokenizer_ = trained_tokenizer(o, parts.train);
    config = gpt_config(o, tokenizer_->size());
  }
  train_ = tokenizer_->encode_text(parts.train);
  valid_ = tokenizer_->encode_text(parts.valid);
  if (static_cast<Index>(train_.size()) <= o.block)
    throw ValueError("--block", fmt::format("{} tokens of context need more than the {} training "
                                            "tokens of {}",
                                            o.block, train_.size(), train_name_));
  model_ = std::make_unique<Gpt>(config);
  if (o.precision == "float64") model_->to(DType::Float64);
}

std::map<std::string, std::string> LanguageLearner::description() const {
  return {{"model", nlohmann::json(model_->config()).dump()},
          {"tokenizer", tokenizer_->serialize()}};
}

std::string LanguageLearner::fingerprint() const {
  Fingerprint f;
  f.mix_all(train_);
  return f.text();
}

std::vector<std::string> LanguageLearner::summary() const {
  std::vector<std::string> lines{
      fmt::format("data: {} training tokens, {} to validate; {} tokens in the vocabulary",
                  train_.size(), valid_.size(), tokenizer_->size())};
  auto unknown = std::count(valid_.begin(), valid_.end(), kUnk);
  if (unknown > 0)
    lines.push_back(fmt::format("  {} tokens to validate are not in the vocabulary", unknown));
  return lines;
}

const std::vector<Index>& LanguageLearner::tokens(Split split) const {
  return split == Split::Train ? train_ : valid_;
}

Index LanguageLearner::begin(Split split, Index epoch) {
  auto& batches = split == Split::Train ? train_batches_ : valid_batches_;
  batches.clear();
  Index block = options_.block, total = static_cast<Index>(tokens(split).size());
  if (total < 2) return 0;
  Index rows = options_.batch_sentences;
  if (options_.batch_tokens > 0) {
    Index fit = std::max<Index>(options_.batch_tokens / block, 1);
    rows = rows > 0 ? std::min(rows, fit) : fit;
  }
  Index whole = (total - 1) / block;  // a crop reads one token beyond its end
  std::vector<Index> starts;
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
  for (Index i = 0; i < whole; i += rows) {
    auto first = starts.begin() + i;
    batches.push_back({{first, first + std::min(rows, whole - i)}, block});
  }
  Index rest = total - 1 - whole * block;
  if (split == Split::Valid && rest > 0) batches.push_back({{whole * block}, rest});
  return static_cast<Index>(batches.size());
}

BatchSize LanguageLearner::size(Split split, Index batch) const {
  const auto& batches = split == Split::Train ? train_batches_ : valid_batches_;
  const Crops& crops = batches[static_cast<std::size_t>(batch)];
  auto rows = static_cast<Index>(crops.starts.size());
  return {rows, rows * crops.length};
}

Var LanguageLearner::loss(Split split, Index batch, Index /*step*/, Measures& sums) {
  const auto& batches = split == Split::Train ? train_batches_ : valid_batches_;
  return crops_loss(split, batches[static_cast<std::size_t>(batch)], sums);
}

Var LanguageLearner::probe(Index i) {
  Split split = static_cast<Index>(valid_.size()) > options_.block ? Split::Valid : Split::Train;
  Index last = static_cast<Index>(tokens(split).size()) - options_.block;  // places to begin at
  Measures ignored;
  return crops_loss(split, {{probe_row(i, last)}, options_.block}, ignored);
}

Var LanguageLearner::crops_loss(Split split, const Crops& crops, Measures& sums) {
  const std::vector<Index>& text = tokens(split);
  std::vector<Index> in, out;
  for (Index start : crops.starts) {
    in.insert(in.end(), text.begin() + start, text.begin() + start + crops.length);
    out.insert(out.end(), text.begin() + start + 1, text.begin() + start + 1 + crops.length);
  }
  auto rows = static_cast<Index>(crops.starts.size());
  Var logits = model_->forward(from_vector(in, {rows, crops.length}));
  return label_smoothing_loss(reshape(logits, {-1, logits.size(-1)}),  // (B, T, V) -> (B·T, V)
                              from_vector(out, {rows * crops.length}), options_.label_smoothing,
                              kPad, &sums);
}

std::string LanguageLearner::describe(const Measures& m) const {
  return fmt::format("loss {:.4f}  perplexity {:.3f}", m.nll, m.perplexity());
}

std::string LanguageLearner::demonstrate(const std::string& folder) {
  LoadedLanguageModel best = load_language_model(folder);
  TextStream text(best.tokenizer);
  std::string sample;
  auto take = [&](Index token) {
    sample += text.push(token);
    return true;
  };
  SamplingOptions options;
  options.temperature = 0.8;
  auto decoder = best.model->decoder_for(zeros({1, 0}, DType::Int64));
  generate(*decoder, train_.front(), 300, options, {1, 0}, take);
  return "\na sample (temperature 0.8; glim generate gives more):\n\n" + sample + "\n\n";
}

std::unique_ptr<Learner> make_language_learner(const TrainOptions& options,
                                               const Checkpoint* from) {
  return std::make_unique<LanguageLearner>(options, from);
}

}  // namespace glim
