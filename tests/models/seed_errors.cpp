// Seven slips in the tutorials this project started from, and a claim about masks. Each test computes the formula, computes
// the slip beside it, and shows what the slip does.
#include "tests/models/seed_errors.hpp"

#include <cmath>
#include <map>

#include "autograd/op_form.hpp"
#include "nn/attention/mask.hpp"
#include "nn/attention/self.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"

namespace test_seed_errors {

using namespace glim;
using namespace glim::seed_errors;

namespace {

double largest(const Tensor& x) { return max(abs(x)).item(); }
double furthest(const Tensor& a, const Tensor& b) { return largest(sub(a, b)); }

}  // namespace

TEST_CASE("1: the scale 1/√d_k is before the softmax", "[seeds]") {
  seed(1);
  SelfAttention attention(2, 4, 5);
  attention.to(DType::Float64);
  Var x(random({4, 3, 2}, 1));
  AttentionResult right = attention(x, AttentionMask{}, true);
  CHECK(right.context.shape() == Shape{4, 3, 5});
  Tensor q = attention.query(x).value(), k = attention.key(x).value();
  Tensor scores = matmul(Var(q), Var(transpose(k))).value();
  CHECK(furthest(right.probs.value(), softmax(mul(scores, 0.5))) < 1e-14);
  CHECK(furthest(sum(right.probs.value(), {-1}), ones({4, 3}, DType::Float64)) < 1e-14);
  // The slip: rows of "probabilities" that sum to 1/√d_k, and shrink the context with them.
  Tensor slip = mul(softmax(scores), 0.5);
  CHECK(furthest(sum(slip, {-1}), full({4, 3}, 0.5, DType::Float64)) < 1e-14);
}

TEST_CASE("2: a padded query is no reason for a softmax over nothing", "[seeds]") {
  Tensor ids = reshape(tensor({5, 6, 0, 0}, DType::Int64), {1, 4});
  // The slip blanks the rows of padded queries: nothing is left in rows 2 and 3.
  Tensor rows = reshape(not_equal(ids, 0.0), {1, 1, 4, 1});
  Tensor slip = logical_and(rows, causal_keep(4));
  CHECK_FALSE(any(select(slip, 2, 2)).item());
  // Keys are masked instead, and every real query keeps one at least.
  Tensor keep = decoder_keep(ids, 0);
  CHECK(all(any(keep, {-1})).item() == 1);
  // And even over nothing there is no NaN, in either form.
  for (OpForm m : {OpForm::Fused, OpForm::Explicit}) {
    UseForm use(m);
    Var x = Var::leaf(random({1, 1, 4, 6}, 2));
    Tape tape;
    AttentionResult a = scaled_dot_product_attention(x, x, x, {slip, {}});
    tape.backward(a.context, random({1, 1, 4, 6}, 3));
    CHECK(largest(narrow(a.context.value(), 2, 2, 2)) == 0);
    CHECK(all_finite(x.grad()));
    CHECK(largest(narrow(x.grad(), 2, 2, 2)) == 0);
  }
}

TEST_CASE("3: positions run along the sequence, not along the batch", "[seeds]") {
  PositionalEncoding positions(Positions::Sinusoidal, 8, 0.0);
  positions.to(DType::Float64);
  Tensor y = positions(Var(zeros({3, 5, 8}, DType::Float64))).value();
  Tensor table = sinusoidal_positions(0, 5, 8, 10000, DType::Float64);
  for (Index b = 0; b < 3; ++b) CHECK(furthest(select(y, 0, b), table) == 0);
  // The slip adds row b of the table to the whole of sentence b: positions cannot be told apart.
  Tensor slip =
      broadcast_to(unsqueeze(sinusoidal_positions(0, 3, 8, 10000, DType::Float64), 1), {3, 5, 8});
  CHECK(furthest(select(slip, 1, 0), select(slip, 1, 4)) == 0);
  CHECK(furthest(select(y, 1, 0), select(y, 1, 4)) > 0.5);
}

TEST_CASE("4: the decoder attends to the encoder's output", "[seeds]") {
  Overwritten m;
  CHECK(furthest(m.right(m.one), m.right(m.other)) > 1e-3);
  // The slip reads the decoder's own input as memory: the source has no influence at all.
  CHECK(furthest(m.slip(m.one), m.slip(m.other)) == 0);
}

TEST_CASE("5: the worked example of embedding plus position keeps one base", "[seeds]") {
  Tensor x = reshape(
      tensor({0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.4, 0.5, 0.3, 0.4, 0.5, 0.6, 0.4, 0.5, 0.6, 0.7},
             DType::Float64),
      {4, 4});
  Tensor y = add(x, sinusoidal_positions(0, 4, 4, 10000, DType::Float64));
  Tensor last = tensor({0.5411, -0.4900, 0.6300, 1.6996}, DType::Float64);
  CHECK(furthest(select(y, 0, 3), last) < 5e-5);
  // The slip: base 100 in the last row only.
  Tensor slip = add(x, sinusoidal_positions(0, 4, 4, 100, DType::Float64));
  CHECK(furthest(select(slip, 0, 3), tensor({0.541, -0.490, 0.896, 1.655}, DType::Float64)) < 1e-3);
  CHECK(furthest(select(slip, 0, 3), last) > 0.2);
}

TEST_CASE("6: k micro-batches accumulate to the gradient of the joined batch", "[seeds]") {
  Tensor joined = accumulated({{0, 6}}, true);
  Tensor in_parts = accumulated({{0, 1}, {1, 2}, {3, 3}}, true);
  CHECK(furthest(joined, in_parts) < 1e-15);
  // The slip: each micro-batch's mean is added up, so that k of them weigh about k times as much.
  Tensor slip = accumulated({{0, 1}, {1, 2}, {3, 3}}, false);
  CHECK(std::sqrt(dot(slip, slip)) > 2 * std::sqrt(dot(joined, joined)));
}

TEST_CASE("smoothed targets sum to 1, with a class for padding and without", "[seeds]") {
  // At uniform logits the smoothed cross-entropy is Σq · ln V.
  for (Index pad : {0, -100}) {
    for (OpForm m : {OpForm::Fused, OpForm::Explicit}) {
      UseForm use(m);
      Measures sums = label_smoothing_loss(Var(zeros({1, 5}, DType::Float64)),
                                           tensor({3}, DType::Int64), 0.1, pad)
                          .sums;
      CHECK(sums.smoothed_ce == Approx(std::log(5.0)).epsilon(1e-12));
    }
  }
}

TEST_CASE("7: a masked score is gone before the softmax, not multiplied by 0", "[seeds]") {
  Tensor scores = some_scores(), keep = some_keep();
  Tensor right = masked_softmax(Var(scores), keep).value();
  CHECK(largest(where(keep, scalar(0, DType::Float64), right)) == 0);
  CHECK(furthest(sum(right, {-1}), ones({3}, DType::Float64)) < 1e-15);
  // The slip: e^0 = 1 keeps a share for what should not be seen.
  Tensor slip = softmax(mul(scores, keep.to(DType::Float64)));
  CHECK(min(where(keep, ones({}, DType::Float64), slip)).item() > 0.01);
}

TEST_CASE("why 1/√d_k: without it the softmax saturates and its gradient fades", "[seeds][scale]") {
  // Vaswani et al. 2017, footnote 4: q·k of independent entries of variance 1 has variance d_k.
  constexpr Index kRows = 2000, kKeys = 16;
  struct Row {
    double saturated, gradient;  // share of rows with a probability above 0.99; mean norm
  };
  std::map<Index, Row> scaled, plain;
  for (Index dk : {4, 64, 1024}) {
    Tensor q = random({kRows, 1, dk}, 10 + static_cast<std::uint64_t>(dk));
    Tensor k = random({kRows, kKeys, dk}, 5000 + static_cast<std::uint64_t>(dk));
    Tensor scores = reshape(matmul(Var(q), Var(transpose(k))).value(), {kRows, kKeys});
    CHECK(var(scores).item() == Approx(static_cast<double>(dk)).epsilon(0.1));
    Tensor upstream = random({kRows, kKeys}, 9);
    auto measure = [&](double scale) {
      Var s = Var::leaf(mul(scores, scale));
      Tape tape;
      Var probs = softmax(s);
      tape.backward(probs, upstream);
      Tensor sure = greater(max(probs.value(), {1}), 0.99).to(DType::Float64);
      Tensor norms = sqrt(sum(mul(s.grad(), s.grad()), {1}));
      return Row{mean(sure).item(), mean(norms).item()};
    };
    scaled[dk] = measure(1 / std::sqrt(static_cast<double>(dk)));
    plain[dk] = measure(1);
  }
  for (auto& [dk, row] : scaled) {  // whatever d_k
    CHECK(row.saturated < 0.01);
    CHECK(row.gradient > 0.25);
  }
  CHECK(plain[4].saturated < plain[64].saturated);
  CHECK(plain[1024].saturated > 0.75);
  CHECK(plain[64].gradient < 0.6 * scaled[64].gradient);
  CHECK(plain[1024].gradient < 0.2 * scaled[1024].gradient);
}

TEST_CASE("8: a number added to scores leaks, and leaves NaN in half precision", "[seeds]") {
  CHECK(rounded_to(-1e9, Precision::Half) == -INFINITY);
  CHECK(rounded_to(65519.0, Precision::Half) == 65504);
  CHECK(rounded_to(-1000.3, Precision::Half) == -1000.5);
  CHECK(rounded_to(1.0 / 3, Precision::Half) == 0.333251953125);
  // ln(1e7 - 1) = 16.118 below the number itself.
  CHECK(gap_of_leak(-1000, 1e-7) == Approx(1000 - 16.118).epsilon(1e-6));
  const std::vector<double> scores{0, 984};
  CHECK(added_mask(scores, {true, false}, -1000, Precision::Float32).at<double>({0, 1}) > 1e-7);
  CHECK(added_mask(scores, {true, false}, -1e9, Precision::Float32).at<double>({0, 1}) == 0);
  CHECK(added_mask({1, 2}, {false, false}, -1e9, Precision::Float32).at<double>({0, 1}) == 0.5);
  CHECK(std::isnan(added_mask({1, 2}, {false, false}, -1e9, Precision::Half).at<double>({0, 1})));
  // Glim, for any gap and either form: no share, and no gradient to the masked score.
  for (OpForm how : {OpForm::Fused, OpForm::Explicit}) {
    UseForm use(how);
    Var x = Var::leaf(from_vector<double>({0, 1e30}, {1, 2}));
    Tape tape;
    Var p = masked_softmax(x, reshape(tensor({1, 0}, DType::Bool), {1, 2}));
    CHECK(p.value().at<double>({0, 1}) == 0);
    tape.backward(p, from_vector<double>({0, 1}, {1, 2}));
    CHECK(x.grad().at<double>({0, 1}) == 0);
  }
}

}  // namespace test_seed_errors
