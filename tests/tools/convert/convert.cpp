// Models from and to PyTorch: what other programs saved says here what it says there (tests/reference/convert.py
// made both), and a model that goes there comes back bit for bit.
#include "tools/convert/convert.hpp"

#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/translator.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/reference.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/convert/formats.hpp"

namespace test_convert {

using namespace glim;
using glim::test::message_of;
using glim::test::TemporaryFile;

namespace {

std::string stored_file(const std::string& name) {
  return std::string(GLIM_REFERENCE) + "/convert/" + name + ".safetensors";
}

ImportedModel imported(const std::string& from, const std::string& file) {
  ImportOptions o;
  o.format = from;
  o.file = file;
  return import_model(o);
}

// The logits of a translating model after each prefix of what the reference file has under this name.
Tensor logits_of(const std::string& model, const std::string& name) {
  const Reference& ref = stored("convert");
  const Translator m(model);
  return m.model()->teach(ref.get(name + ".src"), ref.get(name + ".tgt_in")).logits.value();
}

double far(const Tensor& logits, const Tensor& expected) {
  return distance(log_softmax(logits.to(DType::Float64), -1), log_softmax(expected, -1));
}

bool same_weights(const StateDict& a, const StateDict& b) {
  if (a.size() != b.size()) return false;
  for (auto& [name, tensor] : a)
    if (!b.count(name) || !same_bits(tensor, b.at(name))) return false;
  return true;
}

// A stored file with something changed.
template <class Change>
std::string changed(const TemporaryFile& file, const std::string& name, const Change& change) {
  SafeTensors f = read_safetensors(stored_file(name));
  change(f);
  write_safetensors(file.path(), f.tensors, f.metadata);
  return file.path();
}

}  // namespace

TEST_CASE("import: a torch.nn.Transformer says what it says in torch", "[convert]") {
  for (const char* name : {"torch_post", "torch_pre"}) {
    INFO(name);
    TemporaryFile model, back, again;
    ImportedModel found = imported("torch", stored_file(name));
    save_checkpoint(model.path(), found.checkpoint);
    CHECK(far(logits_of(model.path(), name), stored("convert").get(std::string(name) + ".logits")) <
          1e-5);

    export_model("torch", model.path(), back.path());
    CHECK(same_weights(read_safetensors(back.path()).tensors,
                       read_safetensors(stored_file(name)).tensors));
    ImportedModel twice = imported("torch", back.path());
    CHECK(same_weights(twice.checkpoint.weights, found.checkpoint.weights));
    CHECK(twice.checkpoint.description == found.checkpoint.description);
    CHECK(twice.checkpoint.options.to_json() == found.checkpoint.options.to_json());
  }
}

TEST_CASE("import: stacks without a last norm, pre- and post-norm", "[convert]") {
  for (const char* name : {"torch_post", "torch_pre"}) {
    TemporaryFile file, model, back;
    changed(file, name, [](SafeTensors& f) {
      for (const char* side : {"encoder", "decoder"})
        for (const char* part : {"weight", "bias"})
          f.tensors.erase("transformer." + std::string(side) + ".norm." + part);
    });
    ImportedModel found = imported("torch", file.path());
    save_checkpoint(model.path(), found.checkpoint);
    const Translator read(model.path());
    CHECK_FALSE(read.model()->state_dict().contains("encoder.norm.weight"));
    CHECK(far(logits_of(model.path(), name), stored("convert").get(std::string(name) + ".logits")) >
          1e-3);
    export_model("torch", model.path(), back.path());
    CHECK(
        same_weights(read_safetensors(back.path()).tensors, read_safetensors(file.path()).tensors));
  }
}

TEST_CASE("import: nanoGPT and GPT-2 say what they say in torch", "[convert]") {
  for (const char* name : {"nanogpt", "gpt2"}) {
    INFO(name);
    TemporaryFile model, back;
    ImportedModel found = imported(name, stored_file(name));
    save_checkpoint(model.path(), found.checkpoint);
    const TextGenerator m(model.path());
    const Reference& ref = stored("convert");
    Tensor ids = ref.get(std::string(name) + ".ids"),
           expected = ref.get(std::string(name) + ".logits");
    // Four special tokens are before the 13 of the file, and are never said.
    Tensor all = (*m.model())(add(ids, scalar(4.0, DType::Int64))).value().to(DType::Float64);
    REQUIRE(all.size(-1) == 17);
    Tensor log_probs = log_softmax(all, -1);
    CHECK(distance(narrow(log_probs, -1, 4, 13), log_softmax(expected, -1)) < 1e-5);
    CHECK(max(exp(narrow(log_probs, -1, 0, 4))).item() == 0);

    if (name == std::string("gpt2")) {
      CHECK(contains(
          message_of<FileError>([&] { export_model("nanogpt", model.path(), back.path()); }),
          "has --activation gelu-tanh, which nanoGPT cannot have"));
      continue;
    }
    export_model("nanogpt", model.path(), back.path());
    StateDict theirs;
    for (auto& [key, tensor] : read_safetensors(stored_file(name)).tensors)
      theirs[key.substr(std::string("_orig_mod.").size())] = tensor;
    CHECK(same_weights(read_safetensors(back.path()).tensors, theirs));
    ImportedModel twice = imported(name, back.path());
    CHECK(same_weights(twice.checkpoint.weights, found.checkpoint.weights));
    CHECK(twice.checkpoint.description == found.checkpoint.description);
  }
}

TEST_CASE("import: Marian says what it says in torch", "[convert]") {
  TemporaryFile model;
  ImportedModel found = imported("marian", stored_file("marian"));
  save_checkpoint(model.path(), found.checkpoint);
  const Translator m(model.path());
  const Reference& ref = stored("convert");
  // Ours: <pad> 12, <s> (12 again), </s> 0, <unk> 1, then 2 ... 11.
  auto ours = [](const Tensor& theirs, Index begin) {
    std::vector<Index> ids = theirs.to_vector<Index>();
    for (Index& id : ids) id = id == 12 ? begin : id == 0 ? 2 : id == 1 ? 3 : id + 2;
    return from_vector(ids, theirs.shape());
  };
  Tensor logits = m.model()
                      ->teach(ours(ref.get("marian.src"), 0), ours(ref.get("marian.tgt_in"), 1))
                      .logits.value()
                      .to(DType::Float64);
  REQUIRE(logits.shape() == Shape{2, 5, 14});
  Tensor log_probs = log_softmax(logits, -1), expected = log_softmax(ref.get("marian.logits"), -1);
  for (Index id = 0; id < 13; ++id) {
    INFO(id);
    Index at = id == 12 ? 0 : id == 0 ? 2 : id == 1 ? 3 : id + 2;
    CHECK(distance(select(log_probs, -1, at), select(expected, -1, id)) < 1e-5);
  }
  CHECK(max(exp(select(log_probs, -1, 1))).item() == 0);
  CHECK(m.tokenizers().source->encode("2 11") == std::vector<std::int64_t>{4, 13});
}

TEST_CASE("import: the tokens of a file that has no tokenizer are their numbers", "[convert]") {
  TemporaryFile model;
  save_checkpoint(model.path(), imported("gpt2", stored_file("gpt2")).checkpoint);
  const TokenizerPtr gpt = TextGenerator(model.path()).tokenizer();
  CHECK(gpt->encode("0 12 5") == std::vector<std::int64_t>{4, 16, 9});
  save_checkpoint(model.path(), imported("torch", stored_file("torch_pre")).checkpoint);
  const TokenizerPair pair = Translator(model.path()).tokenizers();
  CHECK(pair.source->encode("4 12 13") == std::vector<std::int64_t>{4, 12, kUnk});
  CHECK(pair.target->decode(std::vector<std::int64_t>{1, 13, 4, 2}) == "13 4");
  save_checkpoint(model.path(), imported("nanogpt", stored_file("nanogpt")).checkpoint);
  CHECK(TextGenerator(model.path()).tokenizer()->encode_text("a\nk") ==
        std::vector<std::int64_t>{6, 4, 16});
}

TEST_CASE("import: tied weights are found by their bits", "[convert]") {
  TemporaryFile file;
  auto tie = [&](auto change) {
    return nlohmann::json::parse(imported("torch", changed(file, "torch_pre", change))
                                     .checkpoint.description.at("model"))
        .at("tie")
        .template get<std::string>();
  };
  CHECK(tie([](SafeTensors&) {}) == "none");
  CHECK(tie([](SafeTensors& f) {
          f.tensors["generator.weight"] = f.tensors["tgt_embed.weight"];
        }) == "decoder");
  CHECK(tie([](SafeTensors& f) { f.tensors.erase("generator.weight"); }) == "decoder");
}

TEST_CASE("import: wrappers of a model and of its parts, in any order", "[convert]") {
  TemporaryFile file;
  auto renamed = [&](const std::string& before, const std::string& wrapped) {
    return changed(file, "torch_pre", [&](SafeTensors& f) {
      for (StateDict bare = std::exchange(f.tensors, {}); auto& [name, tensor] : bare)
        f.tensors[name.starts_with(before) ? wrapped + name.substr(before.size()) : name] = tensor;
    });
  };
  const ImportedModel bare = imported("torch", stored_file("torch_pre"));
  for (const char* prefix : {"module._orig_mod.", "_orig_mod.module.", "module.module."})
    CHECK(same_weights(imported("torch", renamed("", prefix)).checkpoint.weights,
                       bare.checkpoint.weights));
  CHECK(same_weights(
      imported("torch", renamed("transformer.", "transformer._orig_mod.")).checkpoint.weights,
      bare.checkpoint.weights));
}

TEST_CASE("import: what does not fit is listed by its name in the file", "[convert]") {
  TemporaryFile file;
  auto refused = [&](const std::string& from, const std::string& name, auto change) {
    std::string path = changed(file, name, change);
    std::string message = message_of<FileError>([&] { imported(from, path); });
    CHECK(contains(message, path));
    return message;
  };
  auto erase = [](const char* key) { return [key](SafeTensors& f) { f.tensors.erase(key); }; };
  auto put = [](const char* key, Tensor value) {
    return [key, value](SafeTensors& f) { f.tensors[key] = value; };
  };
  using std::string;
  CHECK(contains(refused("torch", "torch_pre", erase("src_embed.weight")),
                 "missing: src_embed.weight"));
  CHECK(contains(refused("torch", "torch_pre", erase("transformer.decoder.layers.1.norm3.weight")),
                 "missing: transformer.decoder.layers.1.norm3.weight"));
  CHECK(contains(refused("torch", "torch_pre", erase("transformer.encoder.norm.bias")),
                 "missing: transformer.encoder.norm.bias; this kind of model has biases: with "
                 "bias=False, zeros"));
  CHECK(contains(refused("torch", "torch_pre", put("head.weight", zeros({2}))),
                 "unexpected: head.weight"));
  CHECK(contains(
      refused("torch", "torch_pre",
              put("transformer.decoder.layers.1.linear1.weight", zeros({3, 8}))),
      "of another shape: transformer.decoder.layers.1.linear1.weight (3, 8) instead of (12, 8)"));
  CHECK(contains(refused("torch", "torch_pre", put("generator.bias", zeros({3}))),
                 "of another shape: generator.bias (3,) instead of (14,)"));
  CHECK(contains(
      refused("torch", "torch_pre", put("positional_encoding.pos_embedding", zeros({5, 1, 8}))),
      "positional_encoding.pos_embedding is not the table of interleaved sines"));
  CHECK(contains(
      refused("torch", "torch_pre",
              put("transformer.encoder.layers.99999999999.linear1.weight", zeros({12, 8}))),
      "unexpected: transformer.encoder.layers.99999999999.linear1.weight"));
  CHECK(contains(refused("torch", "torch_pre", put("generator.bias", mul(ones({14}), NAN))),
                 "generator.bias holds numbers that are not finite"));
  CHECK(contains(refused("torch", "torch_pre", put("generator.bias", zeros({14}, DType::Int64))),
                 "of another shape: generator.bias, which is int64"));
  CHECK(contains(refused("nanogpt", "nanogpt", put("_orig_mod.lm_head.weight", zeros({13, 8}))),
                 "its lm_head.weight is not its wte.weight"));
  // Two names that the wrappers make one.
  auto both = [](const char* name) {
    return [name](SafeTensors& f) {
      f.tensors[std::string("module.") + name] = mul(f.tensors.at(name), 2.0);
    };
  };
  CHECK(contains(refused("torch", "torch_pre", both("generator.bias")),
                 "another name of the same weight hold different values"));
  CHECK(
      contains(refused("marian", "marian", both("model.encoder.layers.0.self_attn.q_proj.weight")),
               "another name of the same weight hold different values"));
  CHECK(contains(
      refused("nanogpt", "nanogpt",
              [](SafeTensors& f) {
                f.metadata["tokenizer"] =
                    R"({"format":"glim tokenizer","version":1,"kind":"char","tokens":["a"]})";
              }),
      "its tokenizer has 1 tokens beside the special ones, its wte.weight 13 rows"));
  CHECK(contains(refused("torch", "torch_pre", [](SafeTensors& f) { f.metadata["config"] = "[]"; }),
                 "the config in its metadata: is not a JSON object"));
  CHECK(contains(refused("torch", "torch_pre",
                         [](SafeTensors& f) { f.metadata["config"] = R"({"nhead":0})"; }),
                 "its 'nhead' is not a whole number from 1 on"));
  CHECK(contains(refused("torch", "torch_pre",
                         [](SafeTensors& f) { f.metadata["config"] = R"({"nhead":3})"; }),
                 "3 heads do not divide d_model 8"));
  CHECK(contains(refused("gpt2", "gpt2",
                         [](SafeTensors& f) {
                           f.metadata["config"] = R"({"n_head":2,"activation_function":"mish"})";
                         }),
                 "its activation 'mish' is not one that Glim has"));
  string unsaid = changed(file, "torch_pre", [](SafeTensors& f) { f.metadata.clear(); });
  CHECK(contains(message_of<ValueError>([&] { imported("torch", unsaid); }), "--heads: is needed"));
  TemporaryFile pickle("PK\x03\x04 of torch.save");
  CHECK(contains(message_of<FileError>([&] { imported("torch", pickle.path()); }),
                 "was written by torch.save; write it as safetensors"));
}

TEST_CASE("export: what the other program cannot have is said", "[convert]") {
  TemporaryFile model, out;
  auto refused = [&](const std::string& from, const std::string& to) {
    save_checkpoint(model.path(),
                    imported(from, stored_file(from == "torch" ? "torch_pre" : from)).checkpoint);
    return message_of<FileError>([&] { export_model(to, model.path(), out.path()); });
  };
  CHECK(contains(refused("nanogpt", "torch"),
                 "holds a model of kind 'gpt', --to torch takes one of kind "
                 "'transformer'; use --to nanogpt"));
  CHECK(contains(refused("torch", "nanogpt"), "use --to torch"));
}

TEST_CASE("The tables of names lead back", "[convert]") {
  for (const Format& format : formats())
    for (const NameRow& row : format.names) {
      if (row.ours.empty()) continue;
      auto fill = [](std::string name) {
        for (char& c : name) c = c == '#' ? '3' : c;
        return name.ends_with("*") ? name.substr(0, name.size() - 1) + "weight" : name;
      };
      INFO(format.name << " " << row.theirs);
      auto ours = our_name(format, fill(row.theirs));
      REQUIRE(ours);
      CHECK(ours->name == fill(row.ours));
      bool found = false;
      for (const Renamed& theirs : their_names(format, ours->name))
        found = found || our_name(format, theirs.name)->name == ours->name;
      CHECK(found);
    }
}

}  // namespace test_convert
