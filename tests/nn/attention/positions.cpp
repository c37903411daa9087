// Positions: numbers, and facts that must hold exactly.
#include "nn/attention/positions.hpp"

#include <cmath>
#include <set>

#include "nn/linear.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_positions {

using namespace glim;

namespace {

constexpr DType kDouble = DType::Float64;

Tensor table_of(PositionalEncoding& pe, Index length, Index d, DType dtype = kDouble,
                Index offset = 0) {
  return select(pe(Var(zeros({1, length, d}, dtype)), offset).value(), 0, 0).contiguous();
}

}  // namespace

TEST_CASE("sinusoidal positions equal the reference", "[positional][reference]") {
  Reference ref("layers");
  int cases = 0;
  for (const std::string& name : ref.cases("positions_")) {
    if (name == "positions_far") continue;
    INFO(name);
    auto& c = ref.config(name);
    Index length = c["length"], d = c["d_model"];
    PositionalEncoding pe(Positions::Sinusoidal, d, 0, 100, c["base"]);
    CHECK(distance(table_of(pe, length, d), ref.get(name + ".y")) <= 1e-13);
    CHECK(distance(table_of(pe, length, d, DType::Float32), ref.get(name + ".y")) <= 1e-7);
    ++cases;
  }
  CHECK(cases == 4);
  // Far beyond the first table: it grows, and early rows stay what they were.
  PositionalEncoding pe(Positions::Sinusoidal, 8, 0);
  Tensor rows = ref.get("positions_far.rows"), far = ref.get("positions_far.y");
  Tensor early = table_of(pe, 10, 8);
  for (Index i = 0; i < rows.numel(); ++i) {
    Index p = static_cast<Index>(rows.at<std::int64_t>({i}));
    INFO("position " << p);
    CHECK(distance(table_of(pe, 1, 8, kDouble, p), narrow(far, 0, i, 1)) <= 1e-11);
  }
  CHECK(same_bits(table_of(pe, 10, 8), early));
}

TEST_CASE("the numbers written out in the literature", "[positional]") {
  PositionalEncoding pe(Positions::Sinusoidal, 4, 0, 8, 100);
  Tensor expected = from_vector<double>(
      {0, 1, 0, 1, 0.84147098, 0.54030231, 0.09983342, 0.99500417, 0.90929743, -0.41614684,
       0.19866933, 0.98006658, 0.14112001, -0.98999250, 0.29552021, 0.95533649},
      {4, 4});
  CHECK(distance(table_of(pe, 4, 4), expected) <= 5e-9);

  // A worked sum of embedding and position once changed its base in the last row: with base 10000
  // all the way, position 3 added to (0.4, 0.5, 0.6, 0.7) is the row below.
  PositionalEncoding usual(Positions::Sinusoidal, 4, 0);
  Tensor x = zeros({1, 4, 4}, kDouble);
  select(x, 1, 3).copy_(from_vector<double>({0.4, 0.5, 0.6, 0.7}, {1, 4}));
  Tensor y = narrow(select(usual(Var(x)).value(), 0, 0), 0, 3, 1);
  CHECK(distance(y, from_vector<double>({0.5411, -0.4900, 0.6300, 1.6996}, {1, 4})) <= 5e-5);
}

TEST_CASE("every position is unique", "[positional]") {
  Index d = 16, length = 5000;
  PositionalEncoding pe(Positions::Sinusoidal, d, 0, length);
  auto values = table_of(pe, length, d).to_vector<double>();
  std::set<std::vector<long>> rows;  // to five digits
  for (Index p = 0; p < length; ++p) {
    std::vector<long> row;
    for (Index c = 0; c < d; ++c)
      row.push_back(std::lround(1e5 * values[static_cast<std::size_t>(p * d + c)]));
    rows.insert(row);
  }
  CHECK(rows.size() == static_cast<std::size_t>(length));
}

TEST_CASE("PE(p + k) is one rotation of PE(p), whatever p", "[positional]") {
  Index d = 10, length = 60;
  PositionalEncoding pe(Positions::Sinusoidal, d, 0);
  Tensor table = table_of(pe, length, d);
  for (Index k : {1, 3, 17}) {
    // (sin a, cos a) -> (sin(a + w), cos(a + w)), w = k/base^(2i/d), in each pair of columns.
    Tensor rotation = zeros({d, d}, kDouble);
    for (Index i = 0; i < d; i += 2) {
      double w = static_cast<double>(k) *
                 std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(d));
      double* r = rotation.data<double>();
      r[i * d + i] = std::cos(w);
      r[i * d + i + 1] = std::sin(w);
      r[(i + 1) * d + i] = -std::sin(w);
      r[(i + 1) * d + i + 1] = std::cos(w);
    }
    // Row p of the left is the row vector PE(p)ᵀ turned: Rᵀ PE(p), with R stored by rows above.
    Tensor turned = matmul(narrow(table, 0, 0, length - k), transpose(rotation));
    CHECK(distance(turned, narrow(table, 0, k, length - k)) <= 1e-12);
    CHECK(distance(matmul(rotation, transpose(rotation)), eye(d, kDouble)) <= 1e-15);
  }
}

TEST_CASE("adding PE equals projecting the input beside a one-hot position", "[positional]") {
  // W x_p + PE(p) = [W | PEᵀ] (x_p, onehot(p))
  Index d_in = 5, d = 8, length = 6;
  PositionalEncoding pe(Positions::Sinusoidal, d, 0);
  Linear project(d_in, d, false);
  project.to(kDouble);
  Tensor x = normal({3, length, d_in}, 0, 1, {8, 1}, kDouble);
  Tensor added = pe(project(Var(x))).value();

  Tensor where_at = broadcast_to(unsqueeze(one_hot(arange(0, 6), length, kDouble), 0), {3, 6, 6});
  Tensor beside =
      concatenate(std::vector<Tensor>{x, where_at.contiguous()}, 2);  // (B, T, d_in + T)
  Tensor wide = concatenate(
      std::vector<Tensor>{project.weight.value(), transpose(table_of(pe, length, d))}, 1);
  CHECK(distance(matmul(beside, transpose(wide)), added) <= 1e-14);
}

TEST_CASE("positions run along the sequence, not along the batch", "[positional]") {
  PositionalEncoding sinusoidal(Positions::Sinusoidal, 6, 0);
  PositionalEncoding learned(Positions::Learned, 6, 0, 20);
  for (PositionalEncoding* pe : {&sinusoidal, &learned}) {
    Tensor y = (*pe)(Var(zeros({3, 4, 6}))).value();
    for (Index b = 1; b < 3; ++b)
      CHECK(same_bits(select(y, 0, b).contiguous(), select(y, 0, 0).contiguous()));
    CHECK(distance(select(y, 1, 0), select(y, 1, 1)) > 0.01);
    // Step by step gives what the whole sequence gives.
    for (Index t = 0; t < 4; ++t) {
      Tensor one = (*pe)(Var(zeros({3, 1, 6})), t).value();
      CHECK(same_bits(one, narrow(y, 1, t, 1).contiguous()));
    }
  }
}

TEST_CASE("the sinusoidal table is no parameter and is not saved", "[positional]") {
  PositionalEncoding pe(Positions::Sinusoidal, 6, 0.1, 10);
  CHECK(pe.named_parameters().empty());
  CHECK(pe.state_dict().empty());
  pe.eval();
  // Converted to float64, it is exact in float64 and not a rounded float32.
  pe.to(kDouble);
  Tensor y = table_of(pe, 4, 6);
  CHECK(y.at<double>({3, 0}) == std::sin(3.0));
  // An odd width ends in a sine.
  PositionalEncoding odd(Positions::Sinusoidal, 3, 0);
  y = table_of(odd, 2, 3);
  CHECK(y.at<double>({1, 2}) == std::sin(std::pow(10000.0, -2.0 / 3)));
}

TEST_CASE("dropout comes after the sum", "[positional]") {
  PositionalEncoding sinusoidal(Positions::Sinusoidal, 4, 0.5);
  PositionalEncoding learned(Positions::Learned, 4, 0.5, 50);
  PositionalEncoding none(Positions::None, 4, 0.5);
  for (PositionalEncoding* pe : {&sinusoidal, &learned, &none}) {
    seed(6);
    Tensor y = (*pe)(Var(full({2, 50, 4}, 3))).value();
    Tensor dropped = equal(y, 0);
    CHECK(sum(dropped).item() > 100);  // of 400 elements, none of which is 0 before
    CHECK(sum(dropped).item() < 300);
    Tensor kept = where(dropped, scalar(0), mul(y, 0.5));
    pe->eval();
    Tensor whole = (*pe)(Var(full({2, 50, 4}, 3))).value();
    CHECK(close(kept, where(dropped, scalar(0), whole), 1e-6));
  }
}

TEST_CASE("a table of positions may begin anywhere", "[positional]") {
  CHECK(same_bits(sinusoidal_positions(3, 4, 6), narrow(sinusoidal_positions(0, 7, 6), 0, 3, 4)));
}

TEST_CASE("learned positions receive gradients and end with their table", "[positional]") {
  PositionalEncoding pe(Positions::Learned, 4, 0, 5);
  CHECK(pe.weight.shape() == Shape{5, 4});
  Var x = Var::leaf(zeros({2, 3, 4}));
  Tape tape;
  Var y = pe(x, 1);
  CHECK(same_bits(select(y.value(), 0, 1).contiguous(),
                  narrow(pe.weight.value(), 0, 1, 3).contiguous()));
  tape.backward(sum(y));
  CHECK(pe.weight.grad().to_vector<float>() ==
        std::vector<float>{0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0});

  Scope scope("decoder.positions");
  std::string text = error_of<IndexError>([&] { pe(Var(zeros({1, 3, 4})), 3); });
  CHECK(contains(text, "a sequence of 3 from position 3"));
  CHECK(contains(text, "5 learned positions"));
  CHECK(contains(text, "in decoder.positions"));
}

TEST_CASE("what positions refuse", "[positional]") {
  PositionalEncoding sinusoidal(Positions::Sinusoidal, 4, 0);
  PositionalEncoding learned(Positions::Learned, 4, 0, 5);
  PositionalEncoding none(Positions::None, 4, 0);
  for (PositionalEncoding* pe : {&sinusoidal, &learned, &none}) {
    CHECK_THROWS_AS((*pe)(Var(zeros({2, 3, 5}))), ShapeError);
    CHECK_THROWS_AS((*pe)(Var(zeros({4}))), ShapeError);
    CHECK_THROWS_AS((*pe)(Var(zeros({1, 3, 4})), -1), ValueError);
  }
  CHECK_THROWS_AS(sinusoidal(Var(zeros({1, 3, 4}, DType::Int64))), DTypeError);
  CHECK_THROWS_AS(PositionalEncoding(Positions::Sinusoidal, 0), ValueError);
  CHECK_THROWS_AS(PositionalEncoding(Positions::Sinusoidal, 4, 0, 10, 0), ValueError);
  CHECK_THROWS_AS(PositionalEncoding(Positions::Learned, 4, 0, -1), ShapeError);
}

}  // namespace test_positions
