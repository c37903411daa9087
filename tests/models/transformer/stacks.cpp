// Encoder and decoder layers and stacks against torch's, with and without a last norm.
#include "models/pipeline/described.hpp"
#include "tests/models/transformer/common.hpp"

namespace test_stacks {

using namespace glim;

namespace {

const Reference& ref() {
  static const Reference file("stacks");
  return file;
}

LayerSizes sizes_of(const nlohmann::json& c) {
  LayerSizes s{.d_model = 4, .heads = 2, .d_ff = 6, .dropout = 0};
  s.norm = c.at("norm_first").get<bool>() ? NormPlacement::Pre : NormPlacement::Post;
  s.activation = c.value("activation", "relu") == "relu" ? Activation::Relu : Activation::Gelu;
  s.bias = c.value("bias", true);
  s.norm_eps = c.value("layer_norm_eps", 1e-5);
  if (c.contains("final_norm")) s.final_norm = c.at("final_norm").get<bool>();
  return s;
}

AttentionRequest request_of(const std::string& name, DType dtype, const std::string& side) {
  auto get = [&](const char* mask) {
    const std::string key = name + "." + side + mask;
    return ref().has(key) ? ref().get(key, dtype) : Tensor();
  };
  AttentionRequest r{get("key_keep"), get("keep"), Var(get("key_bias")), Var(get("bias"))};
  r.causal = ref().config(name).value(side + "causal", false);
  return r;
}

template <class M, class... Args>
void check_encoder(const std::string& prefix, std::size_t cases, Args... args) {
  CHECK(ref().cases(prefix).size() == cases);
  for (const std::string& name : ref().cases(prefix))
    in_every_form([&](DType dtype) {
      M module(args..., sizes_of(ref().config(name)));
      check_case(
          ref(), name, module, dtype,
          [&](const Var& x) { return module(x, request_of(name, dtype, "")); },
          model_tolerance(dtype));
    });
}

template <class M, class... Args>
void check_decoder(const std::string& prefix, std::size_t cases, Args... args) {
  CHECK(ref().cases(prefix).size() == cases);
  for (const std::string& name : ref().cases(prefix))
    in_every_form([&](DType dtype) {
      M module(args..., sizes_of(ref().config(name)));
      Var memory = Var::leaf(ref().get(name + ".memory", dtype));
      auto forward = [&](const Var& x) {
        auto out =
            module(x, memory, request_of(name, dtype, "tgt_"), request_of(name, dtype, "memory_"));
        if constexpr (requires { out.hidden; })
          return out.hidden;
        else
          return out.y;
      };
      check_case(ref(), name, module, dtype, forward, model_tolerance(dtype));
      CHECK(distance(memory.grad(), ref().get(name + ".dmemory")) <= model_tolerance(dtype));
    });
}

}  // namespace

TEST_CASE("encoder and decoder layers equal torch's", "[transformer][reference]") {
  check_encoder<EncoderLayer>("encoder_layer_", 10);
  check_decoder<DecoderLayer>("decoder_layer_", 10);
}

TEST_CASE("stacks equal torch's, with and without a last norm", "[transformer][reference]") {
  for (const char* norm : {"post", "pre"}) {
    check_encoder<Encoder>(std::string("encoder_") + norm, 2, 2);
    check_decoder<Decoder>(std::string("decoder_") + norm, 2, 2);
  }
}

TEST_CASE("a last norm follows pre-norm stacks alone, unless it is said", "[transformer]") {
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (std::optional<bool> said : {std::optional<bool>(), {false}, {true}}) {
      TransformerConfig c = small_transformer::small_config();
      c.norm = norm;
      c.final_norm = said;
      Transformer model(c);
      const bool last = said.value_or(norm == NormPlacement::Pre);
      CHECK(model.state_dict().contains("encoder.norm.weight") == last);
      CHECK(model.state_dict().contains("decoder.norm.weight") == last);
      // A file says the same.
      auto read = from_json<TransformerConfig>(to_json(c), "file");
      CHECK(read.final_norm == said);
    }
}

}  // namespace test_stacks
