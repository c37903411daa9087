// Folders of transformers with their tokenizers: what a sentence as it is typed gives here is what it gives there
// (tests/reference/imported.py), and files that contradict each other are refused.
#include <filesystem>

#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/translator.hpp"
#include "models/tokenizers/sentencepiece.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/reference.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/convert/convert.hpp"
#include "tools/data/corpus/files.hpp"

namespace test_imported {

using namespace glim;
using glim::test::message_of;
using glim::test::TemporaryFile;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kFolder = std::string(GLIM_REFERENCE) + "/convert/";

ImportedModel imported(const std::string& from, const std::string& file) {
  ImportOptions o;
  o.format = from;
  o.file = file;
  return import_model(o);
}

const Json& lines() {
  static const Json json =
      Json::parse(read_file(std::string(GLIM_REFERENCE) + "/imported.json", "reference"));
  return json;
}
const Json& reference_case() {
  static const Json json = Json::parse(
      read_safetensors(std::string(GLIM_REFERENCE) + "/imported.safetensors").metadata.at("case"));
  return json;
}

TokenizerPtr tokenizer_of(const ImportedModel& model, const char* name) {
  return deserialize_tokenizer(model.checkpoint.description.at(name), name);
}

// A copy of the folder of this name, with a file of it changed.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(place_.path() + ".d") {
    fs::copy(kFolder + name, path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const char* name) const { return (fs::path(path_) / name).string(); }
  const std::string& path() const { return path_; }
  void write(const char* name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  // The first `from` in it becomes `to`.
  void replace(const char* name, const std::string& from, const std::string& to) const {
    std::string text = read_file(file(name), "test");
    REQUIRE(text.find(from) != std::string::npos);
    write(name, text.replace(text.find(from), from.size(), to));
  }
  void remove(const char* name) const { fs::remove(file(name)); }

 private:
  TemporaryFile place_;
  std::string path_;
};

// Glim's id of each of theirs, in the order of the importer.
std::vector<Index> marian_numbers(Index rows) {
  std::vector<Index> ours(static_cast<std::size_t>(rows));
  for (Index id = 0; id < rows; ++id)
    ours[static_cast<std::size_t>(id)] = id == 0          ? kEos
                                         : id == 1        ? kUnk
                                         : id == rows - 1 ? kPad
                                                          : id + 2;
  return ours;
}

}  // namespace

TEST_CASE("import: GPT-2's byte-level BPE has the ids of PyPI's tokenizers", "[convert]") {
  Folder parts("gpt2");
  parts.remove("tokenizer.json");
  for (const std::string& folder : {kFolder + "gpt2", parts.path()}) {
    INFO(folder);
    const TokenizerPtr t = tokenizer_of(imported("gpt2", folder), "tokenizer");
    CHECK(t->kind() == "byte-bpe");
    for (std::size_t i = 0; i < lines()["lines"].size(); ++i) {
      const std::string line = lines()["lines"][i];
      INFO(line);
      auto expected = lines()["gpt2"][i].get<std::vector<std::int64_t>>();
      for (std::int64_t& id : expected) id += kSpecialTokens;
      CHECK(t->encode_text(line) == expected);
      CHECK(t->decode(expected) == line);
      CHECK(lines()["gpt2_text"][i] == line);
    }
    CHECK(t->encode(" \t").empty());
    CHECK(t->end_of_text() == t->encode("<|endoftext|>").at(0));
    // Half of a character waits for the rest; shown, it is its bytes.
    const auto bytes = t->encode("𐍈");
    CHECK(t->decode({bytes[0]}) == "\uFFFD");
    CHECK(t->piece(bytes[0]) == "<F0>");
    CHECK(t->piece(t->encode_text("a cat")[1]).starts_with("▁"));
  }
}

TEST_CASE("import: Marian's pieces have the ids of transformers", "[convert]") {
  const ImportedModel model = imported("marian", kFolder + "marian");
  const auto numbers = marian_numbers(tokenizer_of(model, "source_tokenizer")->size() - 1);
  for (const std::string side : {"source", "target"}) {
    const TokenizerPtr t = tokenizer_of(model, (side + "_tokenizer").c_str());
    for (std::size_t i = 0; i < lines()["lines"].size(); ++i) {
      const std::string line = lines()["lines"][i];
      INFO(side << " " << line);
      std::vector<std::int64_t> expected;
      for (Index id : lines()[side][i].get<std::vector<Index>>())
        expected.push_back(numbers.at(static_cast<std::size_t>(id)));
      CHECK(t->encode(line) == expected);
      if (side == "target")
        CHECK(t->decode(expected) == lines()["target_text"][i].get<std::string>());
    }
  }
}

TEST_CASE("import: every setting of transformers' configurations is known", "[convert]") {
  for (const auto& [name, number] : {std::pair("gpt2", 0), {"marian", 1}}) {
    Folder folder(name);
    const Json mine = Json::parse(read_file(folder.file("config.json"), "test"));
    Json config = lines()["configs"][number];  // all keys, with the values of a default
    config.update(mine);
    config["quokka"] = 1;
    folder.write("config.json", config.dump());
    std::string said;
    for (const std::string& line : imported(name, folder.path()).summary) said += line + "\n";
    CHECK(contains(said, "assumed: settings that Glim does not know change nothing: quokka\n"));
  }
}

TEST_CASE("import: settings that change the function do", "[convert]") {
  const Reference &ref = stored("imported"), &inputs = stored("convert");
  TemporaryFile file, model;
  auto far = [](const Tensor& logits, const Tensor& expected) {
    return distance(log_softmax(logits.to(DType::Float64), -1), log_softmax(expected, -1));
  };
  auto with = [&](const std::string& name, const Json& settings) {
    SafeTensors f = read_safetensors(kFolder + name + ".safetensors");
    Json config = Json::parse(f.metadata.at("config"));
    config.update(settings);
    f.metadata["config"] = config.dump();
    write_safetensors(file.path(), f.tensors, f.metadata);
    save_checkpoint(model.path(), imported(name, file.path()).checkpoint);
  };
  for (std::size_t i = 0; i < reference_case()["gpt2"].size(); ++i) {
    INFO(reference_case()["gpt2"][i]);
    with("gpt2", reference_case()["gpt2"][i]);
    const TextGenerator m(model.path());
    Tensor all = (*m.model())(add(inputs.get("gpt2.ids"), scalar(4.0, DType::Int64))).value();
    CHECK(far(narrow(all, -1, 4, 13), ref.get("gpt2.settings." + std::to_string(i))) < 1e-5);
  }
  for (std::size_t i = 0; i < reference_case()["marian"].size(); ++i) {
    INFO(reference_case()["marian"][i]);
    with("marian", reference_case()["marian"][i]);
    const Translator m(model.path());
    const auto numbers = marian_numbers(13);
    auto ours = [&](const Tensor& theirs, Index pad) {
      std::vector<Index> ids = theirs.to_vector<Index>();
      for (Index& id : ids) id = id == 12 ? pad : numbers[static_cast<std::size_t>(id)];
      return from_vector(ids, theirs.shape());
    };
    Tensor logits =
        m.model()
            ->teach(ours(inputs.get("marian.src"), kPad), ours(inputs.get("marian.tgt_in"), kBos))
            .logits.value();
    CHECK(far(index_select(logits, -1, from_vector(numbers, {13})),
              ref.get("marian.settings." + std::to_string(i))) < 1e-5);
  }
}

TEST_CASE("import: settings of another model are refused in one line", "[convert]") {
  auto refused = [](const std::string& name, const std::string& from, const std::string& to) {
    Folder folder(name);
    folder.replace("config.json", from, to);
    const std::string message = message_of<FileError>([&] { imported(name, folder.path()); });
    CHECK(contains(message, folder.file("config.json")));
    return message;
  };
  CHECK(contains(refused("gpt2", "\"gelu_new\"", "\"quick_gelu\""),
                 "its activation 'quick_gelu' is not one that Glim has: relu, gelu,"));
  CHECK(contains(refused("gpt2", "\"n_layer\": 2", "\"n_layer\": 1"),
                 "its 'n_layer' is 1, the weights say 2; both must be of one model"));
  CHECK(contains(refused("gpt2", "\"n_layer\"", "\"add_cross_attention\": true, \"n_layer\""),
                 "its 'add_cross_attention' is true; Glim reads models where it is false"));
  CHECK(contains(refused("gpt2", "\"gpt2\"", "\"gpt_neo\""), "its 'model_type' is \"gpt_neo\""));
  CHECK(contains(refused("marian", "\"n", "\"normalize_before\": true, \"n"),
                 "its 'normalize_before' is true"));
  CHECK(contains(refused("marian", "\"share_encoder_decoder_embeddings\": true",
                         "\"share_encoder_decoder_embeddings\": false"),
                 "its 'share_encoder_decoder_embeddings' is false"));
  CHECK(contains(
      refused("marian", "\"decoder_attention_heads\": 2", "\"decoder_attention_heads\": 4"),
      "has 2 heads in its encoder and 4 in its decoder"));
  CHECK(contains(refused("marian", "\"swish\"", "\"tanh\""),
                 "its activation 'tanh' is not one that Glim has"));
  CHECK(contains(refused("marian", "\"eos_token_id\": 0", "\"eos_token_id\": 3"),
                 "its pad_token_id 147 and eos_token_id 3 are not those of <pad> and </s> in "
                 "vocab.json, 147 and 0"));
  Folder folder("gpt2");
  folder.replace("config.json", "\"n_layer\"", "\"tie_word_embeddings\": false, \"n_layer\"");
  CHECK(contains(message_of<FileError>([&] { imported("gpt2", folder.path()); }),
                 "has no lm_head.weight, and its tie_word_embeddings is false"));
}

TEST_CASE("import: tokenizer files that contradict the model or each other", "[convert]") {
  auto refused = [](const std::string& name, const char* at, auto change) {
    Folder folder(name);
    change(folder);
    const std::string message = message_of<FileError>([&] { imported(name, folder.path()); });
    INFO(message);
    CHECK(contains(message, folder.file(at)));
    CHECK(message.find('\n') == std::string::npos);
    return message;
  };
  auto in_place = [](const char* file, const char* from, const char* to, bool parts = false) {
    return [=](const Folder& f) {
      if (parts) f.remove("tokenizer.json");
      f.replace(file, from, to);
    };
  };
  const Json tokens = Json::parse(read_file(kFolder + "gpt2/vocab.json", "test"));
  const auto count = std::to_string(tokens.size());
  const std::string merges = read_file(kFolder + "gpt2/merges.txt", "test");
  const std::string third =
      merges.substr(0, merges.find('\n', merges.find('\n', merges.find('\n') + 1) + 1) + 1);
  CHECK(contains(refused("gpt2", "merges.txt:4",
                         [&](const Folder& f) {
                           f.remove("tokenizer.json");
                           f.write("merges.txt", third + "q zz\n");
                         }),
                 "merges.txt:4: \"zz\" is not in the vocabulary; vocabulary and merges must be of "
                 "one tokenizer"));
  CHECK(contains(refused("gpt2", "merges.txt:2",
                         [](const Folder& f) {
                           f.remove("tokenizer.json");
                           f.write("merges.txt", "#version: 0.2\nabc\n");
                         }),
                 "\"abc\" is not two tokens with a space between them"));
  CHECK(contains(refused("gpt2", "tokenizer.json",
                         [](const Folder& f) {
                           Json json = Json::parse(read_file(f.file("tokenizer.json"), "test"));
                           json["model"]["merges"].push_back({"q", "zz"});
                           f.write("tokenizer.json", json.dump());
                         }),
                 ": \"zz\" is not in the vocabulary"));
  CHECK(contains(
      refused("gpt2", "vocab.json",
              in_place("vocab.json", "\"!\":1", ("\"!\":1,\"!!!\":" + count).c_str(), true)),
      "the model's embeddings " + count +
          " rows: it is another model's; without the tokenizer's files in "
          "the folder tokens are their numbers"));
  CHECK(contains(refused("gpt2", "vocab.json", in_place("vocab.json", "\"!\":1", "\"!\":2", true)),
                 "both have the id 2"));
  CHECK(contains(refused("gpt2", "merges.txt",
                         [](const Folder& f) {
                           f.remove("tokenizer.json");
                           f.remove("merges.txt");
                         }),
                 "merges.txt: is missing beside vocab.json"));
  CHECK(contains(refused("gpt2", "tokenizer.json",
                         in_place("tokenizer.json", "\"normalizer\": null",
                                  "\"normalizer\": {\"type\": \"NFC\"}")),
                 "its normalizer is \"NFC\"; Glim reads GPT-2's, null"));
  CHECK(contains(refused("gpt2", "tokenizer.json",
                         in_place("tokenizer.json", "\"lstrip\": false", "\"lstrip\": true")),
                 "the added token \"<|endoftext|>\" has lstrip"));
  CHECK(contains(
      refused("gpt2", "tokenizer.json", [](const Folder& f) { f.write("tokenizer.json", "[]"); }),
      "is not a JSON object"));
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"})
    CHECK(contains(refused("gpt2", name,
                           [&](const Folder& f) {  // a link to itself
                             f.remove(name);
                             fs::create_symlink(name, f.file(name));
                           }),
                   "cannot be read: Too many levels of symbolic links"));
  CHECK(contains(refused("marian", "source.spm", [](const Folder& f) { f.remove("source.spm"); }),
                 "source.spm: is missing beside target.spm"));
  CHECK(contains(
      refused("marian", "target.spm", [](const Folder& f) { f.write("target.spm", "\n"); }),
      "not a usable SentencePiece model"));
  CHECK(contains(
      refused("marian", "vocab.json", in_place("vocab.json", "\"<unk>\": 1", "\"<unk>\": 2")),
      "both have the id 2"));
  CHECK(contains(refused("marian", "vocab.json", in_place("vocab.json", "\"<pad>\"", "\"pad\"")),
                 "has no token <pad>"));
  CHECK(contains(refused("marian", "vocab.json",
                         in_place("vocab.json", "\"<unk>\": 1", "\"<unk>\": 1, \"wombat\": 148")),
                 "has 149 tokens, the model's embeddings 148 rows"));
}

TEST_CASE("import: what tokenizer files say is compared where it means something", "[convert]") {
  const auto said = [](const std::string& name, const char* file, const std::string& at,
                       const Json& value) {
    Folder folder(name);
    Json json = Json::parse(read_file(folder.file(file), "test"));
    json[Json::json_pointer("/" + at)] = value;
    folder.write(file, json.dump());
    return message_of<FileError>([&] {
      const ImportedModel model = imported(name, folder.path());
      if (name != "gpt2") return;
      const TokenizerPtr t = tokenizer_of(model, "tokenizer");
      const std::string line = lines()["lines"][0];
      auto expected = lines()["gpt2"][0].get<std::vector<std::int64_t>>();
      for (std::int64_t& id : expected) id += kSpecialTokens;
      CHECK(t->encode_text(line) == expected);
    });
  };
  const Json sequence = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
             end = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}},
             bytes = {{"type", "ByteLevel"}, {"trim_offsets", false}, {"use_regex", true}};
  const auto sequence_of = [](const char* list, const Json& steps) {
    return Json{{"type", "Sequence"}, {"type_id", nullptr}, {list, steps}};
  };
  const auto templated = [](const Json& single) {
    return Json{{"type", "TemplateProcessing"}, {"single", single}, {"pair", Json::array()}};
  };
  const auto step = [&](const char* name, const Json& value) {
    return said("gpt2", "tokenizer.json", name, value);
  };
  const std::string kTaken = "nothing thrown";
  // Steps that change nothing; transformers 5 writes the first one.
  CHECK(step("post_processor", templated(Json::array({sequence}))) == kTaken);
  CHECK(step("post_processor",
             sequence_of("processors", {bytes, templated(Json::array({sequence}))})) == kTaken);
  CHECK(step("normalizer", sequence_of("normalizers", Json::array())) == kTaken);
  CHECK(step("pre_tokenizer", sequence_of("pretokenizers", Json::array({bytes}))) == kTaken);
  CHECK(step("decoder", sequence_of("decoders", Json::array({bytes}))) == kTaken);
  // Steps that change tokens.
  CHECK(contains(step("post_processor", templated(Json::array({end, sequence}))),
                 "its post_processor adds \"<|endoftext|>\" to each text"));
  CHECK(contains(
      step("post_processor", sequence_of("processors", {bytes, templated({sequence, end})})),
      "its post_processor adds \"<|endoftext|>\" to each text"));
  CHECK(
      contains(step("post_processor", templated({sequence, sequence})),
               "its post_processor is \"TemplateProcessing\"; Glim reads those that add no token"));
  CHECK(contains(step("post_processor", {{"type", "RobertaProcessing"}}),
                 "its post_processor is \"RobertaProcessing\""));
  CHECK(contains(
      step("normalizer", sequence_of("normalizers", {{{"type", "Lowercase"}}, {{"type", "NFC"}}})),
      "its normalizer is \"Sequence\"; Glim reads GPT-2's, null"));
  CHECK(contains(step("normalizer", {{"type", "Lowercase"}}), "its normalizer is \"Lowercase\""));
  CHECK(contains(step("pre_tokenizer", {{"type", "Whitespace"}}),
                 "its pre_tokenizer is \"Whitespace\"; Glim reads GPT-2's, \"ByteLevel\""));
  CHECK(contains(step("pre_tokenizer", {{"type", "ByteLevel"}, {"use_regex", false}}),
                 "its pre_tokenizer has use_regex false"));
  CHECK(contains(step("decoder", {{"type", "WordPiece"}}), "its decoder is \"WordPiece\""));
  CHECK(contains(said("gpt2", "tokenizer.json", "model/ignore_merges", true),
                 "its model/ignore_merges is true"));
  for (const std::string name : {"add_bos_token", "add_eos_token", "split_special_tokens"})
    CHECK(contains(said("gpt2", "tokenizer_config.json", name, true), "(" + name + ")"));
  CHECK(contains(said("marian", "tokenizer_config.json", "separate_vocabs", true),
                 "its tokenizer_config.json says separate_vocabs"));
  CHECK(contains(said("marian", "tokenizer_config.json", "sp_model_kwargs/reverse", true),
                 "has sp_model_kwargs {\"reverse\":true}"));
  CHECK(
      contains(said("marian", "tokenizer_config.json", "added_tokens_decoder/147/content", "<sep>"),
               "its tokenizer_config.json adds the token \"<sep>\""));
}

TEST_CASE("A damaged SentencePiece model of another program is an error at most", "[convert]") {
  const std::string whole = read_file(kFolder + "marian/source.spm", "test");
  const std::string line = lines()["lines"][20];
  int read = 0, broken = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int flip : {1, 2, 0x80, 0xFF}) {
      std::string model = whole;
      model[at] = static_cast<char>(model[at] ^ flip);
      try {
        const SentencePieceTokenizer t(model, {"a", "▁the"});
        t.decode(t.encode(line + " ＡＢ ﬁ e\u0301\u3000"));
        ++read;
      } catch (const ValueError& e) {
        broken += contains(e.problem(), "character map is broken");
      }
    }
  CHECK(read > 1000);
  CHECK(broken > 100);
}

TEST_CASE("import: without tokenizer files tokens are their numbers", "[convert]") {
  Folder gpt2("gpt2"), marian("marian");
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt"}) gpt2.remove(name);
  for (const char* name : {"source.spm", "target.spm", "vocab.json"}) marian.remove(name);
  CHECK(tokenizer_of(imported("gpt2", gpt2.path()), "tokenizer")->encode("7 0").size() == 2);
  CHECK(tokenizer_of(imported("marian", marian.path()), "source_tokenizer")->encode("7 5").size() ==
        2);
}

}  // namespace test_imported
