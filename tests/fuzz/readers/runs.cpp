#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/pipeline/described.hpp"
#include "models/pipeline/tagger.hpp"
#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/translator.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/fuzz/readers/readers.hpp"
#include "tools/convert/settings.hpp"
#include "tools/inspect/report/training_run.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim::fuzz {
namespace {

const char* const kDiffers = "written again, stored JSON reads differently";

template <class Config>
void sizes(const std::string& text) {
  const std::string stored = to_json(from_json<Config>(text, "file"));
  require(to_json(from_json<Config>(stored, "file")) == stored, kDiffers);
}
template <class Stored>
void stored(const std::string& text) {
  const std::string json = Stored::from_json(text, "file").to_json();
  require(Stored::from_json(json, "file").to_json() == json, kDiffers);
}
void tokenizer(const std::string& text) {
  const std::string json = deserialize_tokenizer(text, "file")->serialize();
  require(deserialize_tokenizer(json, "file")->serialize() == json, kDiffers);
}
void settings(const std::string& text) {
  const Settings s = Settings::of({{"config", text}}, "file");
  for (const char* key : {"d_model", "vocab_size", "dropout", "activation_function"}) {
    auto each = [&](auto get) {
      try {
        (s.*get)(key);
      } catch (const FileError&) {
      }
    };
    each(&Settings::number);
    each(&Settings::count);
    each(&Settings::share);
    each(&Settings::flag);
    each(&Settings::text);
  }
}

void require_same(const StateDict& a, const StateDict& b) {
  require(a.size() == b.size(), "written again, a checkpoint has other tensors");
  for (const auto& [name, x] : a)
    require(b.contains(name) && same_bits(x, b.at(name)),
            "written again, a tensor of a checkpoint reads differently");
}

}  // namespace

void read_json_bytes(std::string_view bytes) {
  const std::string text(bytes);
  for (auto* read : {stored<TrainState>, stored<TrainOptions>, stored<Labels>, tokenizer, settings,
                     sizes<TransformerConfig>, sizes<NonAutoregressiveConfig>,
                     sizes<Seq2SeqRnnConfig>, sizes<ConvSeq2SeqConfig>, sizes<GptConfig>,
                     sizes<BertConfig>, sizes<VitConfig>, sizes<CnnConfig>})
    attempt(read, text);
}

void read_checkpoint_bytes(std::string_view bytes) {
  const Checkpoint c = load_checkpoint(memory_file(bytes));
  save_checkpoint(scratch("f"), c);
  const Checkpoint again = load_checkpoint(scratch("f"));
  require(again.kind == c.kind && again.description == c.description &&
              again.config_toml == c.config_toml &&
              again.options.to_json() == c.options.to_json() &&
              again.state.to_json() == c.state.to_json(),
          "written again, a checkpoint reads differently");
  require_same(c.weights, again.weights);
  require_same(c.optimizer, again.optimizer);
}

void read_model_bytes(std::string_view bytes) {
  const std::string& path = memory_file(bytes);
  const std::string kind = read_model(path).kind;
  if (kind == "gpt")
    TextGenerator{path};
  else if (kind == "bert")
    loaded_model<MaskedLanguageModel>(read_model(path), described_encoder(read_model(path)).first);
  else if (kind == "classifier")
    Classifier{path};
  else if (kind == "tagger")
    Tagger{path};
  else if (kind == "vit" || kind == "cnn")
    ImageClassifier{path};
  else
    Translator{path};
}

// A run's folder: its recording, and behind a zero byte its metrics.
void read_recording_bytes(std::string_view bytes) {
  const std::size_t middle = std::min(bytes.find('\0'), bytes.size());
  const std::string recording = memory_file(bytes.substr(0, middle));
  const std::string metrics = memory_file(bytes.substr(std::min(middle + 1, bytes.size())), 1);
  static const std::string folder = [&] {
    const std::string made = scratch("run");
    std::filesystem::create_directory(made);
    std::filesystem::create_symlink(recording, made + "/recording.jsonl");
    std::filesystem::create_symlink(metrics, made + "/metrics.jsonl");
    return made;
  }();
  const TrainingRun run = read_training_run(folder);
  const Recording& r = run.recording;
  require(r.rate.size() == r.step.size() && r.loss.size() == r.step.size(),
          "a recorded step lacks numbers");
  for (const Track& t : r.tracks) {
    require(t.values.size() == r.step.size(), "a recorded step lacks numbers");
    for (const auto& row : t.values)
      require(row.size() == t.rows.size(), "a recorded row lacks numbers");
  }
}

}  // namespace glim::fuzz
