// The encoder-only models against PyTorch, and against facts that must hold exactly.
#include "models/bert/bert.hpp"

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/models/common.hpp"

namespace test_bert {

using namespace glim;

namespace {

BertConfig small(NormPlacement norm = NormPlacement::Post) {
  auto c = sized<BertConfig>(12, 8, 2, 20, 2);
  c.max_len = 5;
  c.norm = norm;
  return c;
}

}  // namespace

TEST_CASE("BERT: logits, loss and gradients equal PyTorch's by name", "[bert][reference]") {
  Reference ref("language");
  for (NormPlacement norm : {NormPlacement::Post, NormPlacement::Pre}) {
    std::string placed = norm == NormPlacement::Pre ? "_pre" : "_post";
    in_every_form([&](DType dtype) {
      MaskedLanguageModel masked(small(norm));
      std::string name = "masked" + placed;
      check_model(
          ref, name, masked, dtype,
          [&] { return masked(ref.get(name + ".ids"), ref.get(name + ".chosen")); },
          "bert.embed.weight");
      for (Pooling pooling : {Pooling::First, Pooling::Mean}) {
        SequenceClassifier classifier(small(norm), 3, pooling);
        std::string own =
            (pooling == Pooling::First ? "classifier_first" : "classifier_mean") + placed;
        check_model(ref, own, classifier, dtype, [&] { return classifier(ref.get(own + ".ids")); });
      }
    });
  }
}

TEST_CASE("BERT: padding changes nothing", "[bert]") {
  for (Pooling pooling : {Pooling::First, Pooling::Mean}) {
    seed(2);
    SequenceClassifier model(small(), 3, pooling);
    model.to(DType::Float64);
    Tensor padded = reshape(tensor({1, 5, 9, 2, 0}, DType::Int64), {1, 5});
    CHECK(close(model(padded).value(), model(narrow(padded, 1, 0, 4)).value()));
    // And every other token counts, earlier and later ones.
    for (Index at : {0, 1, 2, 3}) {
      Tensor other = padded.clone();
      other.data<Index>()[at] = 7;
      CHECK_FALSE(close(model(other).value(), model(padded).value(), 1e-9));
    }
  }
}

TEST_CASE("BERT: pre-trained weights load by name into a classifier", "[bert]") {
  seed(3);
  MaskedLanguageModel trained(small());
  SequenceClassifier classifier(small(), 2, Pooling::Mean);
  StateDict shared, own = classifier.state_dict();
  for (auto& [name, value] : trained.state_dict())
    if (name.rfind("bert.", 0) == 0) shared[name] = value;
  CHECK(shared.size() == own.size() - 2);
  classifier.load_state_dict(shared, false);
  Tensor ids = random_integers({2, 5}, 1, 11, {1, 1});
  CHECK(same_bits(classifier.bert(ids).value(), trained.bert(ids).value()));
}

TEST_CASE("BERT: what cannot be is refused", "[bert]") {
  BertConfig c = small();
  c.heads = 3;
  CHECK_THROWS_WITH(Bert(c), "attention: 3 heads do not divide d_model 8");
  c = small();
  c.vocab = 1;
  CHECK_THROWS_AS(Bert(c), ValueError);
  c = small();
  c.dropout = 1.5;
  CHECK_THROWS_AS(MaskedLanguageModel(c), ValueError);
  CHECK_THROWS_AS(SequenceClassifier(small(), 1, Pooling::Mean), ValueError);
  SequenceClassifier model(small(), 2, Pooling::Mean);
  CHECK_THROWS_AS(model(full({1, 2}, 12, DType::Int64)), IndexError);
  CHECK_THROWS_AS(model(ones({1, 6}, DType::Int64)), IndexError);
  CHECK_THROWS_AS(model(ones({4}, DType::Int64)), ShapeError);
  CHECK_THROWS_AS(masked_mean(Var(zeros({2, 3, 4})), ones({2, 4}, DType::Bool)), ShapeError);
  // A sentence of padding alone has the mean 0, not NaN.
  CHECK(
      close(masked_mean(Var(ones({1, 3, 4})), zeros({1, 3}, DType::Bool)).value(), zeros({1, 4})));
}

}  // namespace test_bert
