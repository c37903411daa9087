// The Transformer against PyTorch, and against facts that must hold exactly.
#include <cmath>

#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "nn/attention/mask.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/transformer/common.hpp"

namespace test_transformer {

using namespace glim;
using namespace glim::small_transformer;

namespace {

TransformerConfig reference_config(const std::string& name) {
  auto c = sized<TransformerConfig>(13, 16, 4, 32, 2);
  c.norm = name.find("pre") == 0 ? NormPlacement::Pre : NormPlacement::Post;
  c.tie = name.find("_tied") != std::string::npos ? Tie::All : Tie::None;
  return c;
}

// ‖a - b‖ / ‖b‖, or ‖a - b‖ where b is zero but for rounding.
double relative_difference(const Tensor& a, const Tensor& b) {
  Tensor x = a.to(DType::Float64), y = b.to(DType::Float64);
  REQUIRE(x.shape() == y.shape());
  double size = norm_of(y);
  return norm_of(sub(x, y)) / (size > 1e-12 ? size : 1);
}

}  // namespace

TEST_CASE("loss and gradients equal PyTorch's by name", "[transformer][reference]") {
  for (const char* name : {"pre_tied", "pre_untied", "post_tied", "post_untied"}) {
    Reference ref("transformer_" + std::string(name));
    in_every_form([&](DType dtype) {
      INFO(name << " " << name_of(dtype));
      double tolerance = model_tolerance(dtype);
      Transformer model(reference_config(name));
      load_case(ref, "", model, dtype, "src_embed.weight");

      Tape tape;
      Var memory = model.encode(ref.get("src"));
      Var logits = model.generate(model.decode(ref.get("tgt_in"), memory, ref.get("src")).hidden);
      CHECK(relative_difference(memory.value(), ref.get("memory")) < tolerance);
      CHECK(relative_difference(logits.value(), ref.get("logits")) < tolerance);
      auto [total, sums] = label_smoothing_loss(reshape(logits, {-1, 13}),
                                                reshape(ref.get("tgt_out"), {-1}), 0.1, 0);
      auto tokens = static_cast<double>(sums.tokens);
      CHECK(tokens == ref.get("tokens").item());
      Var loss = mul(total, 1 / tokens);
      auto near = [&](const char* key) { return Approx(ref.get(key).item()).epsilon(tolerance); };
      CHECK(loss.item() == near("loss"));
      CHECK(sums.kl / tokens == near("loss"));
      CHECK(sums.nll / tokens == near("loss_cross_entropy"));
      CHECK(sums.smoothed_ce / tokens == near("loss_smoothed_cross_entropy"));
      tape.backward(loss);
      check_gradients(ref, "", model, tolerance, relative_difference);
    });
  }
}

TEST_CASE("without positions the encoder does not know the order", "[transformer][positions]") {
  const Tensor sentence = ids({3, 4, 5, 6, 7}, {1, 5}), other = ids({7, 4, 6, 3, 5}, {1, 5}),
               order = ids({4, 1, 3, 0, 2}, {5});
  for (Positions positions : {Positions::None, Positions::Sinusoidal, Positions::Learned,
                              Positions::Rotary, Positions::Alibi}) {
    INFO(kNames<Positions>.print(positions));
    seed(4);
    TransformerConfig c = small_config();
    c.positions = positions;
    Transformer model(c);
    evaluate_in_float64(model);
    const Tensor one = index_select(model.encode(sentence).value(), 1, order),
                 two = model.encode(other).value();
    CHECK((norm_of(sub(one, two)) < 1e-12) == (positions == Positions::None));
  }
}

TEST_CASE("the sinusoids have the base asked for", "[transformer][positions]") {
  TransformerConfig c = small_config();
  c.position_base = 100;
  Transformer model(c);
  evaluate_in_float64(model);
  const Tensor nothing = zeros({1, 4, 16}, DType::Float64),
               table = sinusoidal_positions(0, 4, 16, 100, DType::Float64);
  for (auto* p : {&model.src_positions, &model.tgt_positions})
    CHECK(same_bits(select((*p)(Var(nothing)).value(), 0, 0), table));
}

TEST_CASE("initial embeddings have the deviation asked for", "[transformer]") {
  TransformerConfig c = small_config();
  c.src_vocab = c.tgt_vocab = 2000;
  c.d_model = 64;
  c.heads = 4;
  auto weights = [&](double deviation, Tie tie) {
    seed(9);
    c.embedding_init = deviation;
    c.tie = tie;
    Transformer model(c);
    StateDict all;
    for (auto& [name, p] : model.named_parameters()) all[name] = p.value().clone();
    return all;
  };
  StateDict xavier = weights(0, Tie::None), apart = weights(0.125, Tie::None),
            tied = weights(0.125, Tie::All);
  for (auto& [name, tensor] : apart) {
    INFO(name);
    bool table = name == "src_embed.weight" || name == "tgt_embed.weight";
    CHECK(same_bits(tensor, xavier.at(name)) == !table);
    // 128,000 draws: the deviation is known to 0.2 %
    if (table) CHECK(norm_of(tensor) / std::sqrt(2000 * 64.0) == Approx(0.125).epsilon(0.01));
  }
  CHECK(norm_of(tied.at("src_embed.weight")) / std::sqrt(2000 * 64.0) ==
        Approx(0.125).epsilon(0.01));
  for (double wrong :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_AS(weights(wrong, Tie::None), ValueError);
}

TEST_CASE("layers that backward runs again have the same gradients and keep less",
          "[transformer][checkpoint]") {
  struct Run {
    StateDict gradients;
    double loss;
    std::int64_t kept;  // bytes between forward and backward
  };
  for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post})
    for (bool attention : {false, true}) {
      auto run = [&](Recompute recompute) {
        seed(10);
        TransformerConfig c = small_config();
        c.norm = norm;
        c.dropout = 0.3;
        c.recompute = recompute;
        Transformer model(c);
        model.train();
        std::int64_t before = allocator_stats().allocated_bytes;
        Tape tape;
        TeachOptions options;
        options.need_attention = attention;
        TeacherForced taught = model.teach(kSource, kTarget, options);
        Var loss = sum(mul(taught.logits, taught.logits));
        for (const Var& a : taught.attention) loss = add(loss, sum(mul(a, a)));
        Run r;
        r.loss = loss.value().item();
        r.kept = allocator_stats().allocated_bytes - before;
        tape.backward(loss);
        for (auto& [name, p] : model.named_parameters()) r.gradients[name] = p.grad().clone();
        return r;
      };
      Run all = run(Recompute::None), encoder = run(Recompute::Encoder), none = run(Recompute::All);
      for (const Run* r : {&encoder, &none}) {
        CHECK(r->loss == all.loss);
        for (auto& [name, g] : all.gradients) {
          INFO(name);
          CHECK(same_bits(r->gradients.at(name), g));
        }
      }
      CHECK(encoder.kept < all.kept);
      if (attention)  // a decoder whose attention was asked for is kept
        CHECK(none.kept == encoder.kept);
      else
        CHECK(none.kept < encoder.kept);
    }
}

TEST_CASE("a sentence's translation does not depend on its batch's padding", "[transformer]") {
  seed(4);
  Transformer model(small_config());
  evaluate_in_float64(model);
  Tensor alone = narrow(narrow(kSource, 0, 1, 1), 1, 0, 2);  // 8 9 without padding
  Tensor together = narrow(select(model(kSource, kTarget).value(), 0, 1), 0, 0, 2);
  Tensor apart = narrow(select(model(alone, narrow(kTarget, 0, 1, 1)).value(), 0, 0), 0, 0, 2);
  CHECK(norm_of(sub(together, apart)) < 1e-12);
}

TEST_CASE("no position sees a later one", "[transformer]") {
  seed(5);
  Transformer model(small_config());
  evaluate_in_float64(model);
  Tensor later = changed(kTarget, 3, 9);
  Tensor a = model(kSource, kTarget).value(), b = model(kSource, later).value();
  CHECK(same_bits(narrow(a, 1, 0, 3), narrow(b, 1, 0, 3)));
  CHECK_FALSE(same_bits(select(select(a, 0, 0), 0, 3), select(select(b, 0, 0), 0, 3)));
}

TEST_CASE("the decoder attends to the encoder", "[transformer][seeds]") {
  // Seed 3's model overwrote the encoder's output before the decoder read it.
  seed(6);
  Transformer model(small_config());
  evaluate_in_float64(model);
  Tensor other = changed(kSource, 0, 10);
  CHECK(norm_of(sub(model(kSource, kTarget).value(), model(other, kTarget).value())) > 1e-3);
}

TEST_CASE("the first loss is near ln V", "[transformer]") {
  // Logits start with variance D·2/(D + V) at most, which adds half of it to ln V.
  seed(8);
  TransformerConfig c = small_config();
  c.tgt_vocab = 400;
  Transformer model(c);
  Tensor targets = random_integers({4 * 32}, 3, 400, {1, 1});
  Var logits =
      model(random_integers({4, 32}, 3, 11, {1, 2}), random_integers({4, 32}, 3, 400, {1, 3}));
  Measures sums = label_smoothing_loss(reshape(logits, {-1, 400}), targets, 0, 0).sums;
  CHECK(std::abs(sums.nll / 128 - std::log(400.0)) < 0.1);
}

TEST_CASE("every parameter receives a gradient", "[transformer]") {
  for (Tie tie : {Tie::None, Tie::Decoder, Tie::All}) {
    for (NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post}) {
      seed(7);
      TransformerConfig c = small_config();
      c.tgt_vocab = c.src_vocab;
      c.tie = tie;
      c.norm = norm;
      c.positions = Positions::Learned;
      c.max_len = 5;
      Transformer model(c);
      model.to(DType::Float64);
      Tape tape;
      Var logits = reshape(model(kSource, kTarget), {-1, c.tgt_vocab});
      Tensor targets = ids({3, 4, 5, 2, 6, 2, 0, 0}, {8});
      auto [loss, sums] = label_smoothing_loss(logits, targets, 0.1, 0);
      tape.backward(loss);
      CHECK(sums.tokens == 6);
      CHECK(std::isfinite(sums.nll));
      for (auto& [name, p] : model.named_parameters()) {
        INFO(name);
        REQUIRE(p.grad().defined());
        // The key projection's bias has no influence: softmax ignores what is added to a row.
        if (name.find("in_proj_bias") != std::string::npos) {
          CHECK(norm_of(narrow(p.grad(), 0, 16, 16)) < 1e-14);
          CHECK(norm_of(narrow(p.grad(), 0, 0, 16)) > 0);
        } else {
          CHECK(norm_of(p.grad()) > 0);
        }
      }
      auto names = model.named_parameters();
      CHECK((tie == Tie::All) == std::none_of(names.begin(), names.end(), [](auto& n) {
              return n.first == "tgt_embed.weight";
            }));
    }
  }
}

TEST_CASE("scope paths and parameters share their names", "[transformer]") {
  Transformer model(small_config());
  UseForm use(OpForm::Explicit);
  Tape tape;
  Watch probs(tape, "*.probs");
  Var loss = sum(model(kSource, kTarget));
  tape.backward(loss);
  std::vector<std::string> paths;
  for (const Watched& w : probs.values()) {
    paths.push_back(w.path);
    CHECK(w.grad.defined());
    // Each row of probabilities sums to 1, or is empty.
    CHECK(norm_of(sub(sum(w.value, {-1}), ones({2, 2, w.value.size(2)}))) < 1e-5);
  }
  CHECK(paths == std::vector<std::string>{
                     "encoder.layers.0.self_attn.probs", "encoder.layers.1.self_attn.probs",
                     "decoder.layers.0.self_attn.probs", "decoder.layers.0.multihead_attn.probs",
                     "decoder.layers.1.self_attn.probs", "decoder.layers.1.multihead_attn.probs"});
}

TEST_CASE("a model that cannot be is refused", "[transformer]") {
  TransformerConfig c = small_config();
  c.heads = 3;
  CHECK_THROWS_WITH(Transformer(c), "attention: 3 heads do not divide d_model 16");
  c = small_config();
  c.tie = Tie::All;
  CHECK_THROWS_AS(Transformer(c), ValueError);
  c = small_config();
  c.dropout = 1.5;
  CHECK_THROWS_AS(Transformer(c), ValueError);
  Transformer model(small_config());
  CHECK_THROWS_AS(model.decoder_for(kSource), StateError);
  CHECK_THROWS_AS(model(ids({99}, {1, 1}), ids({1}, {1, 1})), IndexError);
}

}  // namespace test_transformer
