// The convolutional sequence-to-sequence model against PyTorch, and against facts that must hold.
#include "models/conv/conv_seq2seq.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_conv_seq2seq {

using namespace glim;

namespace {

ConvSeq2SeqConfig small(Index kernel = 3) {
  auto c = sized_convolution<ConvSeq2SeqConfig>(11, 9, 6, kernel);
  c.max_len = 8;
  return c;
}

const Tensor kSource = ids({3, 4, 5, 10, 2, 6, 7, 2, 0, 0}, {2, 5});
const Tensor kTarget = ids({1, 3, 4, 5, 1, 6, 8, 0}, {2, 4});

// Weights large enough that outputs differ, in float64 and eval().
void spread_out(ConvSeq2Seq& model) {
  evaluate_in_float64(model);
  spread(model);
}

}  // namespace

TEST_CASE("ConvS2S: logits, loss and gradients equal PyTorch's by name",
          "[conv_seq2seq][reference]") {
  Reference ref("vision_models");
  in_every_form([&](DType dtype) {
    ConvSeq2Seq model(small());
    check_model(ref, "conv_seq2seq", model, dtype, [&] {
      return model.teach(ref.get("conv_seq2seq.src"), ref.get("conv_seq2seq.tgt_in")).logits;
    });
  });
}

TEST_CASE("ConvS2S: cached decoding equals decoding the whole prefix", "[conv_seq2seq][cache]") {
  for (Index kernel : {1, 2, 3, 5}) {
    seed(3);
    ConvSeq2SeqConfig c = small(kernel);
    c.max_len = 30;
    c.dropout = 0.3;  // off in eval
    ConvSeq2Seq model(c);
    CHECK_THROWS_AS(model.decoder_for(kSource), StateError);
    spread_out(model);
    check_cached(model, kSource, 9, 20, 1e-12);
  }
}

TEST_CASE("ConvS2S: padding reaches nothing, and nothing comes from the future", "[conv_seq2seq]") {
  for (Index kernel : {2, 3, 5}) {
    seed(4);
    ConvSeq2Seq model(small(kernel));
    spread_out(model);
    Tensor together = model.teach(kSource, kTarget).logits.value();
    Tensor alone = narrow(narrow(kSource, 0, 1, 1), 1, 0, 3);  // 6 7 2 without padding
    Tensor apart = model.teach(alone, narrow(narrow(kTarget, 0, 1, 1), 1, 0, 3)).logits.value();
    CHECK(close(narrow(narrow(together, 0, 1, 1), 1, 0, 3), apart, 1e-12));
    Tensor later = kTarget.clone();
    later.data<Index>()[3] = 7;
    Tensor changed = model.teach(kSource, later).logits.value();
    CHECK(same_bits(narrow(select(changed, 0, 0), 0, 0, 3).contiguous(),
                    narrow(select(together, 0, 0), 0, 0, 3).contiguous()));
    CHECK(distance(select(select(changed, 0, 0), 0, 3), select(select(together, 0, 0), 0, 3)) >
          1e-6);
    // Masked positions have exactly zero gradient.
    model.train();
    Tape tape;
    tape.backward(sum(model.teach(kSource, kTarget).logits));
    CHECK(max(abs(select(model.src_embed.weight.grad(), 0, 0))).item() == 0);
    CHECK(max(abs(select(model.src_positions.weight.grad(), 0, 5))).item() == 0);
    CHECK(max(abs(select(model.src_embed.weight.grad(), 0, 7))).item() > 0);
  }
}

TEST_CASE("ConvS2S: how far a position sees", "[conv_seq2seq]") {
  // Two decoder layers of kernel 3: the last 2·2 targets before this one, and no further.
  seed(5);
  ConvSeq2Seq model(small(3));
  spread_out(model);
  Tensor target = ids({1, 3, 4, 5, 6, 7, 8}, {1, 7});
  Tensor source = narrow(kSource, 0, 0, 1);
  Tensor before = select(model.teach(source, target).logits.value(), 1, 6);
  for (Index i = 0; i < 7; ++i) {
    Tensor other = target.clone();
    other.data<Index>()[i] = 2;
    double change = distance(select(model.teach(source, other).logits.value(), 1, 6), before);
    INFO(i);
    if (i < 2)
      CHECK(change == 0);
    else
      CHECK(change > 1e-9);
  }
}

TEST_CASE("ConvS2S: two passes of scheduled sampling, and logits left to the loss",
          "[conv_seq2seq]") {
  seed(7);
  ConvSeq2Seq model(small());
  spread_out(model);
  TeachOptions all;
  all.sampling = 1;
  Tensor said = argmax(model.teach(kSource, kTarget).logits.value(), -1);
  Tensor read = kTarget.clone();  // every token but <s> and padding is what pass one said
  for (Index b = 0; b < 2; ++b)
    for (Index t = 1; t < 4; ++t)
      if (kTarget.at<Index>({b, t}) != 0 && said.at<Index>({b, t - 1}) != 0)
        read.data<Index>()[b * 4 + t] = said.at<Index>({b, t - 1});
  Var sampled = model.teach(kSource, kTarget, all).logits;
  CHECK(same_bits(sampled.value(), model.teach(kSource, read).logits.value()));
  TeachOptions later;
  later.defer_logits = true;
  TeacherForced taught = model.teach(kSource, kTarget, later);
  REQUIRE(taught.head != nullptr);
  CHECK(close(linear(taught.hidden, taught.head->weight, taught.head->bias).value(),
              model.teach(kSource, kTarget).logits.value(), 1e-14));
}

TEST_CASE("ConvS2S: what is refused", "[conv_seq2seq]") {
  auto refused = [](auto change) {
    ConvSeq2SeqConfig c = small();
    change(c);
    CHECK_THROWS_AS(ConvSeq2Seq(c), ValueError);
  };
  refused([](ConvSeq2SeqConfig& c) { c.kernel = 0; });
  refused([](ConvSeq2SeqConfig& c) { c.src_vocab = 0; });
  refused([](ConvSeq2SeqConfig& c) { c.decoder_layers = 0; });
  refused([](ConvSeq2SeqConfig& c) { c.dropout = 1.5; });
  ConvSeq2Seq model(small());
  CHECK_THROWS_AS(model.teach(ids({3, 99}, {1, 2}), ids({1}, {1, 1})), IndexError);
  CHECK_THROWS_AS(model.teach(ids({3, 4}, {2}), ids({1}, {1, 1})), ShapeError);
  CHECK_THROWS_AS(model.teach(full({1, 9}, 3, DType::Int64), ids({1}, {1, 1})), IndexError);
  // A source of padding alone: nothing to attend to, no NaN.
  model.eval();
  CHECK(all_finite(model.teach(ids({0, 0}, {1, 2}), ids({1, 3}, {1, 2})).logits.value()));
}

}  // namespace test_conv_seq2seq
