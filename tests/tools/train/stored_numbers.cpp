// Every number in a checkpoint may have been written by someone else: whatever it is, a model is
// loaded and a training resumed, or one error names the file.
#include <nlohmann/json.hpp>

#include "models/bert/bert.hpp"
#include "models/pipeline/classifier.hpp"
#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/translator.hpp"
#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/io/stored_json.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/train/trainer.hpp"

namespace test_stored_numbers {

using namespace glim;
using glim::test::message_of;
using glim::test::TemporaryFile;
using nlohmann::json;

namespace {

struct Folder : TemporaryFile {
  Folder() {
    std::filesystem::remove(path());
    std::filesystem::create_directory(path());
  }
  std::string file(const std::string& name) const { return path() + "/" + name; }
};

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string idx(const std::string& head, std::size_t bytes, int classes) {
  std::string file = head;
  for (std::size_t i = 0; i < bytes; ++i)
    file += static_cast<char>(i % static_cast<std::size_t>(classes));
  return file;
}

TrainOptions tiny(const std::string& kind, const Folder& folder) {
  TrainOptions o;
  o.kind = kind;
  o.out = folder.path();
  o.set("layers", 1);
  o.epochs = 2;
  o.set("dropout", 0).set("d_model", 8);
  if (kind != "rnn" && kind != "conv") o.set("heads", 2).set("d_ff", 8);
  if (kind == "rnn") o.set("d_embed", 4);
  o.task = "copy";
  o.examples = 12;
  o.max_length = 12;
  o.batch_tokens = 60;
  if (kind == "gpt" || kind == "bert") {
    o.task = "files";
    o.examples = TrainOptions{}.examples;
    o.text = folder.file("text");
    write(o.text, "one two three four five\nsix seven eight nine ten\none three five\ntwo four\n");
    o.max_length = kind == "gpt" ? TrainOptions{}.max_length : 12;
    if (kind == "gpt") o.set("block", 4).set("dropout", 0.1);
  }
  if (kind == "classifier") {
    o.task = "files";
    o.examples = TrainOptions{}.examples;
    o.labelled = folder.file("labelled");
    write(o.labelled, "one two\todd\ntwo three\teven\nthree four\todd\nfour five\teven\n");
  }
  if (kind == "vit") {
    o.task = "files";
    o.examples = TrainOptions{}.examples, o.max_length = TrainOptions{}.max_length;
    o.images = folder.file("images"), o.labels = folder.file("labels");
    using namespace std::string_literals;
    write(o.images, idx("\0\0\x08\x03\0\0\0\x08\0\0\0\x04\0\0\0\x04"s, 128, 200));
    write(o.labels, idx("\0\0\x08\x01\0\0\0\x08"s, 8, 2));
    o.set("patch", 2);
    o.batch_tokens = 0, o.batch_sentences = 2;
  }
  return o;
}

// One update and a checkpoint; what a run, a translation and a prediction read is read.
void resume(const std::string& folder) {
  Checkpoint c = load_checkpoint(folder + "/last.safetensors");
  TrainOptions o = c.options;
  o.out = folder;
  check(o);
  auto learner = make_learner(o, &c);
  Trainer trainer(o, *learner, std::move(c));
  trainer.run({}, true);
}

void use(const std::string& kind, const std::string& file) {
  if (kind == "gpt") {
    TextGenerator{file};
  } else if (kind == "classifier") {
    Classifier{file};
  } else if (kind == "vit") {
    ImageClassifier{file};
  } else if (kind == "bert") {
    const ModelFile model = read_model(file);
    loaded_model<MaskedLanguageModel>(model, described_encoder(model).first);
  } else {
    TranslateOptions options;
    options.max_length = 4;
    Translator(file).translate({"1 2 3"}, options);
  }
}

const std::vector<json> kWrong = {-1, 0, 1.5, 1e308, INT64_MIN, INT64_MAX, nullptr, "2"};

}  // namespace

TEST_CASE("a number of a checkpoint that cannot be is refused, and indexes nothing",
          "[checkpoint]") {
  std::string kind = GENERATE("transformer", "rnn", "conv", "non-autoregressive", "gpt", "bert",
                              "classifier", "vit");
  Folder folder;
  TrainOptions o = tiny(kind, folder);
  INFO(kind);
  {
    auto learner = make_learner(o);
    Trainer trainer(o, *learner, "");
    trainer.run({}, true);
  }
  std::string file = folder.file("last.safetensors");
  const SafeTensors sound = read_safetensors(file);
  use(kind, file);
  resume(folder.path());
  int refused = 0, taken = 0;
  std::size_t at = 0;
  std::vector<std::string> parts{"state", "model"};
  if (kind == "transformer") parts.push_back("options");
  for (const std::string& part : parts) {
    const json told = json::parse(sound.metadata.at(part));
    for (auto& [name, value] : told.items())
      for (const json& wrong : kWrong) {
        if (at++ % kEvery != 0) continue;  // 8 values: another third for each name
        json changed = told;
        changed[name] = wrong;
        SafeTensors unsound = sound;
        unsound.metadata[part] = changed.dump();
        write_safetensors(file, unsound.tensors, unsound.metadata);
        INFO(part << " " << name << " = " << wrong.dump());
        try {
          part == "model" && kind != "bert" ? use(kind, file) : resume(folder.path());
          ++taken;
        } catch (const Error& e) {
          ++refused;
          CHECK(!contains(e.one_line(), "json.exception"));
          if (part == "state" && name == "batch") CHECK(contains(e.one_line(), file));
        }
      }
  }
  CHECK(refused > taken / 4);
  CHECK(taken > 0);
}

TEST_CASE("a checkpoint's place in an epoch is within the epoch", "[checkpoint]") {
  Folder folder;
  TrainOptions o = tiny("transformer", folder);
  auto learner = make_learner(o);
  Trainer trainer(o, *learner, "");
  trainer.run({}, true);
  std::string file = folder.file("last.safetensors");
  Checkpoint c = load_checkpoint(file);
  Index batches = learner->begin(Split::Train, c.state.epoch);
  c.state.batch = batches;
  Trainer(o, *learner, c);
  c.state.batch = batches + 1;
  CHECK(contains(message_of<FileError>([&] { Trainer(o, *learner, c); }),
                 "is at batch " + std::to_string(batches + 1) + " of an epoch that has " +
                     std::to_string(batches)));
}

TEST_CASE("stored JSON has the types that were written", "[checkpoint]") {
  auto read = [](const std::string& text) {
    return message_of<FileError>([&] {
      read_json(text, R"({"n": 1, "x": 0.5, "s": "a", "b": true})", "FILE", "state",
                [](const json& j) { return j.at("n").get<Index>(); });
    });
  };
  CHECK(read(R"({"n": 3, "x": 1, "s": "", "b": false, "more": []})") == "nothing thrown");
  CHECK(read(R"({"n": 9007199254740992})") == "nothing thrown");
  CHECK(read("{}") == "FILE: its state cannot be read: key 'n' not found");
  CHECK(read("[1]") == "FILE: its state cannot be read: it is not an object");
  CHECK(read(R"({"n": 1.0})") ==
        "FILE: its state cannot be read: 'n' must be a whole number, not 1.0");
  CHECK(read(R"({"n": -1})") ==
        "FILE: its state cannot be read: 'n' must be a whole number from 0 to 2^53, not -1");
  CHECK(contains(read(R"({"n": 18446744073709551615})"), "from 0 to 2^53"));
  CHECK(contains(read(R"({"n": 1, "x": null})"), "'x' must be a number, not null"));
  CHECK(contains(read(R"({"n": 1, "s": 3})"), "'s' must be text"));
  CHECK(contains(read(R"({"n": 1, "b": 0})"), "'b' must be true or false"));
  CHECK(contains(read("{"), "FILE: its state cannot be read: parse error"));
  std::string long_text(1000, 'x');
  CHECK(read(R"({"n": ")" + long_text + "\"}").size() < 200);
}

TEST_CASE("stored JSON that nests without end is refused before it is read", "[checkpoint]") {
  const std::string nested = std::string(200'000, '[') + std::string(200'000, ']');
  auto said = [](auto read) { return message_of<FileError>(read); };
  CHECK(contains(said([&] { TrainState::from_json("{\"step\":" + nested + "}", "FILE"); }),
                 "FILE: its training state cannot be read: it is nested more than 32 levels deep"));
  CHECK(contains(said([&] { Labels::from_json(nested, "FILE"); }), "FILE: its labels cannot be"));
  CHECK(contains(said([&] { deserialize_tokenizer("{\"format\":" + nested + "}", "FILE"); }),
                 "FILE: not valid JSON"));
  // Brackets within a text nest nothing.
  const std::string text = R"(["\"[\\",")" + std::string(100, '[') + "\"]";
  CHECK(Labels::from_json(text, "FILE").name(1) == std::string(100, '['));
}

// A small file must not ask for gigabytes: its embeddings are as wide as it says, of zeros of one byte.
TEST_CASE("a model larger than its file is refused before it is built", "[checkpoint]") {
  std::string kind = GENERATE("transformer", "gpt", "bert", "vit");
  INFO(kind);
  Folder folder;
  TrainOptions o = tiny(kind, folder);
  {
    auto learner = make_learner(o);
    Trainer trainer(o, *learner, "");
    trainer.run({}, true);
  }
  const std::string file = folder.file("last.safetensors");
  SafeTensors stored = read_safetensors(file);
  const Index was = 8, wide = 4096;
  json sizes = json::parse(stored.metadata.at("model"));
  sizes["d_model"] = wide;
  stored.metadata["model"] = sizes.dump();
  for (auto& [name, tensor] : stored.tensors) {
    const bool embeds = contains(name, "embed.") || contains(name, "positions.") ||
                        contains(name, "wte.") || contains(name, "wpe.") ||
                        contains(name, "head.") || contains(name, "linear1.weight");
    Shape shape = tensor.shape();
    for (int i = 0; i < shape.rank(); ++i)
      if (embeds && shape[i] == was) shape[i] = wide;
    if (name.ends_with("linear1.weight") && shape.rank() == 2) shape[0] = tensor.size(0);
    if (embeds) tensor = zeros(shape, DType::Bool);
  }
  write_safetensors(file, stored.tensors, stored.metadata);
  const std::string said = message_of<Error>([&] { use(kind, file); });
  CHECK(contains(said, "its model describes"));
}

}  // namespace test_stored_numbers
