#include "tools/convert/imported_tokenizers.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/byte_bpe.hpp"
#include "models/tokenizers/sentencepiece.hpp"
#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/common/folder.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/files.hpp"

namespace glim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The way out of a tokenizer that cannot be read.
constexpr const char* kElse =
    "; without the tokenizer's files in the folder tokens are their numbers";

std::string path_in(const std::string& folder, const char* name) {
  return (fs::path(folder) / name).string();
}
bool has(const std::string& folder, const char* name) { return is_there(path_in(folder, name)); }

Json read_object(const std::string& file) {
  Json json = parse_json(read_file(file, "tokenizer"), /*allow_exceptions=*/false);
  if (!json.is_object()) throw FileError(file, "is not a JSON object");
  return json;
}

// Tokens by their ids.
class Pieces {
 public:
  explicit Pieces(std::string file) : file_(std::move(file)) {}

  void put(const std::string& token, const Json& id) {
    constexpr std::int64_t kMost = 10'000'000;
    if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() > kMost)
      fail(fmt::format("the token \"{}\" has the id {}, which is no number from 0 on", token,
                       id.dump()));
    const auto index = id.get<std::size_t>();
    if (index >= by_id_.size()) by_id_.resize(index + 1);
    if (token.empty()) fail(fmt::format("the token of the id {} is empty", index));
    if (!by_id_[index].empty() && by_id_[index] != token)
      fail(fmt::format("\"{}\" and \"{}\" both have the id {}", by_id_[index], token, index));
    by_id_[index] = token;
  }
  void put_all(const Json& vocabulary) {
    if (!vocabulary.is_object()) fail("its vocabulary is not an object of tokens and ids");
    for (const auto& [token, id] : vocabulary.items()) put(token, id);
  }
  // All of them: one for each row of the embeddings.
  std::vector<std::string> complete(Index rows) {
    for (std::size_t id = 0; id < by_id_.size(); ++id)
      if (by_id_[id].empty()) fail(fmt::format("no token has the id {}", id));
    if (std::ssize(by_id_) != rows)
      fail(fmt::format("has {} tokens, the model's embeddings {} rows: it is another model's",
                       by_id_.size(), rows));
    return std::move(by_id_);
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw FileError(file_, problem + kElse);
  }

 private:
  std::string file_;
  std::vector<std::string> by_id_;
};

// The member at a path "model/type", or null.
const Json& member(const Json& json, const char* path) {
  static const Json kNull;
  const Json::json_pointer pointer("/" + std::string(path));
  return json.contains(pointer) ? json.at(pointer) : kNull;
}

void put_added(const Json& token, const Json& id, Pieces& pieces, ByteBpe& bpe) {
  const Json& content = member(token, "content");
  if (!content.is_string()) pieces.fail("an added token has no content");
  for (const char* flag : {"lstrip", "rstrip", "single_word"})
    if (member(token, flag) == true)
      pieces.fail(fmt::format("the added token {} has {}, which Glim's tokenizer has not",
                              content.dump(), flag));
  pieces.put(content.get<std::string>(), id);
  bpe.added.push_back(content.get<std::string>());
}

// The step of a list of one, {"type": "Sequence", "normalizers": [...]}, and null for an empty list; else
// `step` itself.
const Json& sole_step(const Json& step, const char* list) {
  const Json& steps = member(step, list);
  if (member(step, "type") != "Sequence" || !steps.is_array() || steps.size() > 1) return step;
  static const Json kNull;
  return steps.empty() ? kNull : sole_step(steps[0], list);
}

std::string type_of(const Json& step) {
  return step.is_null() ? "null" : member(step, "type").dump();
}

// Refuses a post-processor that changes the tokens of a text. ByteLevel moves offsets alone.
void require_adds_nothing(const Json& step, const Pieces& pieces) {
  const Json &type = member(step, "type"), &single = member(step, "single"),
             &steps = member(step, "processors");
  if (step.is_null() || type == "ByteLevel") return;
  if (type == "Sequence" && steps.is_array()) {
    for (const Json& one : steps) require_adds_nothing(one, pieces);
    return;
  }
  if (type == "TemplateProcessing" && single.is_array()) {
    for (const Json& part : single)
      if (const Json& token = member(part, "SpecialToken/id"); !token.is_null())
        pieces.fail(fmt::format("its post_processor adds {} to each text", token.dump()));
    if (single.size() == 1 && member(single[0], "Sequence/id") == "A") return;
  }
  pieces.fail(
      fmt::format("its post_processor is {}; Glim reads those that add no token", type_of(step)));
}

// A tokenizer.json of byte-level BPE.
void read_tokenizer_json(const std::string& file, Pieces& pieces, ByteBpe& bpe,
                         std::vector<std::string>& notes) {
  const Json json = read_object(file);
  // The settings of byte-level BPE: a place in the file, and its value.
  static const std::pair<const char*, Json> kWanted[] = {{"model/type", "BPE"},
                                                         {"model/dropout", nullptr},
                                                         {"model/byte_fallback", false},
                                                         {"model/ignore_merges", false},
                                                         {"model/continuing_subword_prefix", ""},
                                                         {"model/end_of_word_suffix", ""}};
  for (const auto& [path, value] : kWanted)
    if (const Json& found = member(json, path); !found.is_null() && found != value)
      pieces.fail(
          fmt::format("its {} is {}; Glim reads GPT-2's, {}", path, found.dump(), value.dump()));
  auto require_step = [&](const char* name, const char* list, const char* type) -> const Json& {
    const Json& step = sole_step(member(json, name), list);
    if (type_of(step) != type)
      pieces.fail(fmt::format("its {} is {}; Glim reads GPT-2's, {}", name, type_of(step), type));
    return step;
  };
  require_step("normalizer", "normalizers", "null");
  if (!member(json, "decoder").is_null()) require_step("decoder", "decoders", "\"ByteLevel\"");
  const Json& cut = require_step("pre_tokenizer", "pretokenizers", "\"ByteLevel\"");
  if (member(cut, "use_regex") == false)
    pieces.fail("its pre_tokenizer has use_regex false; Glim cuts words by GPT-2's pattern");
  require_adds_nothing(member(json, "post_processor"), pieces);
  if (member(cut, "add_prefix_space") == true && !bpe.prefix_space)
    notes.push_back(
        "no space before a text, although tokenizer.json says add_prefix_space: so does "
        "transformers, unless tokenizer_config.json says it");
  pieces.put_all(member(json, "model/vocab"));
  const Json& merges = member(json, "model/merges");
  if (!merges.is_array()) pieces.fail("its model/merges is not a list");
  for (const Json& merge : merges) {
    const bool pair =
        merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    if (!pair && !merge.is_string())
      pieces.fail(fmt::format("its merge {} is not two tokens", bpe.merges.size() + 1));
    bpe.merges.push_back(pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                              : merge.get<std::string>());
  }
  for (const Json& token : member(json, "added_tokens"))
    put_added(token, member(token, "id"), pieces, bpe);
}

// vocab.json, and merges.txt: after "#version: 0.2" a merge a line.
void read_vocabulary_and_merges(const std::string& folder, const Json& config, Pieces& pieces,
                                ByteBpe& bpe) {
  const Json vocabulary = read_object(path_in(folder, "vocab.json"));
  pieces.put_all(vocabulary);
  bpe.file = path_in(folder, "merges.txt");
  bpe.merges = read_lines(bpe.file);
  bpe.first_line = 1;
  if (!bpe.merges.empty() && bpe.merges[0].starts_with("#version")) {
    bpe.merges.erase(bpe.merges.begin());
    bpe.first_line = 2;
  }
  for (const auto& [id, token] : member(config, "added_tokens_decoder").items())
    put_added(token, parse_json(id, false), pieces, bpe);
  const char* end = "<|endoftext|>";  // added without being said
  if (vocabulary.contains(end) && std::ranges::find(bpe.added, end) == bpe.added.end())
    bpe.added.push_back(end);
}

}  // namespace

TokenizerPtr gpt2_tokenizer(const std::string& folder, const Settings& settings, Index rows,
                            std::vector<std::string>& notes) {
  const bool whole = has(folder, "tokenizer.json");
  const bool vocabulary = has(folder, "vocab.json"), merges = has(folder, "merges.txt");
  if (!whole && !vocabulary && !merges) return nullptr;
  if (!whole && vocabulary != merges)
    throw FileError(
        path_in(folder, vocabulary ? "merges.txt" : "vocab.json"),
        fmt::format("is missing beside {}{}", vocabulary ? "vocab.json" : "merges.txt", kElse));
  const Json config = has(folder, "tokenizer_config.json")
                          ? read_object(path_in(folder, "tokenizer_config.json"))
                          : Json::object();
  const std::string file = path_in(folder, whole ? "tokenizer.json" : "vocab.json");
  Pieces pieces(file);
  for (const auto& [name, does] : {std::pair("add_bos_token", "adds a token to each text"),
                                   {"add_eos_token", "adds a token to each text"},
                                   {"split_special_tokens", "cuts special tokens as text"}})
    if (member(config, name) == true)
      pieces.fail(fmt::format("its tokenizer_config.json {} ({})", does, name));
  if (member(config, "clean_up_tokenization_spaces") == true)
    notes.push_back(
        "text comes out as its tokens say, although tokenizer_config.json says "
        "clean_up_tokenization_spaces: so does transformers 5");
  ByteBpe bpe;
  bpe.prefix_space = member(config, "add_prefix_space") == true;
  if (whole)
    read_tokenizer_json(file, pieces, bpe, notes);
  else
    read_vocabulary_and_merges(folder, config, pieces, bpe);
  bpe.tokens = pieces.complete(rows);
  if (const auto end = settings.count("eos_token_id"); end && *end < rows)
    bpe.end = bpe.tokens[static_cast<std::size_t>(*end)];
  try {
    return std::make_shared<ByteBpeTokenizer>(std::move(bpe));
  } catch (const ValueError& e) {
    throw FileError(file, e.problem());
  }
}

std::optional<MarianPieces> marian_pieces(const std::string& folder, Index rows) {
  const char* names[] = {"vocab.json", "source.spm", "target.spm"};
  const char *missing = nullptr, *present = nullptr;
  for (const char* name : names) (has(folder, name) ? present : missing) = name;
  if (!present) return {};
  if (missing)
    throw FileError(path_in(folder, missing),
                    fmt::format("is missing beside {}{}", present, kElse));
  if (has(folder, "target_vocab.json"))
    throw FileError(
        path_in(folder, "target_vocab.json"),
        "numbers a vocabulary of the target's own; Glim reads models with one for both sides");
  MarianPieces found;
  const std::string file = path_in(folder, "vocab.json");
  Pieces pieces(file);
  pieces.put_all(read_object(file));
  found.by_id = pieces.complete(rows);
  found.folder = folder;
  if (has(folder, "tokenizer_config.json")) {
    const Json config = read_object(path_in(folder, "tokenizer_config.json"));
    if (member(config, "separate_vocabs") == true)
      pieces.fail("its tokenizer_config.json says separate_vocabs; Glim reads one for both sides");
    if (const Json& options = member(config, "sp_model_kwargs"); !options.empty())
      pieces.fail(fmt::format("its tokenizer_config.json has sp_model_kwargs {}; Glim has none",
                              options.dump()));
    for (const auto& [id, token] : member(config, "added_tokens_decoder").items()) {
      const Json& text = member(token, "content");
      const bool code = text.is_string() && text.get<std::string>().starts_with(">>");
      if (!code && text != "</s>" && text != "<unk>" && text != "<pad>")
        pieces.fail(
            fmt::format("its tokenizer_config.json adds the token {}; Glim reads those "
                        "that the SentencePiece models cut",
                        text.dump()));
    }
  }
  for (auto [name, id] :
       {std::pair("</s>", &found.eos), {"<unk>", &found.unk}, {"<pad>", &found.pad}}) {
    auto entry = std::ranges::find(found.by_id, name);
    if (entry == found.by_id.end()) pieces.fail(fmt::format("has no token {}", name));
    *id = entry - found.by_id.begin();
  }
  return found;
}

TokenizerPair MarianPieces::tokenizers(const std::vector<Index>& ids) const {
  std::vector<std::string> tokens;
  for (std::size_t i = kSpecialTokens; i < ids.size(); ++i)
    tokens.push_back(by_id[static_cast<std::size_t>(ids[i])]);
  try {
    Vocabulary numbers(tokens);
  } catch (const ValueError& e) {
    throw FileError(path_in(folder, "vocab.json"), e.problem());
  }
  auto tokenizer = [&](const char* name) -> TokenizerPtr {
    const std::string file = path_in(folder, name);
    try {
      return std::make_shared<SentencePieceTokenizer>(read_file(file, "tokenizer"), tokens);
    } catch (const ValueError& e) {
      throw FileError(file, e.problem());
    }
  };
  return {tokenizer("source.spm"), tokenizer("target.spm")};
}

}  // namespace glim
