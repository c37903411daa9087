// Bundle adjustment: how far from its measured place f (2) a camera with the rotation r, centre C, focal length a,
// principal point u and distortion k sees a point X, with a weight w,
//
//   P = rotated by r (X - C)      p = (P_0, P_1) / P_2      e = w (a p (1 + k_0 |p|² + k_1 |p|⁴) + u - f)
//
// and the weight's error 1 - w². Each observation has its own 15 numbers z = [r C a u k X w] and rows of the Jacobian, so
// that two backward passes give all. Observations are the last axis.
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

constexpr Index kParameters = 15;

Var cross(const Var& a, const Var& b) {
  auto turned = [](const Var& v, Index shift) {  // v_by, v_(by+1), v_(by+2)
    return concatenate({narrow(v, 0, shift, 3 - shift), narrow(v, 0, 0, shift)}, 0);
  };
  return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1);
}

// Rodrigues: cos θ x + sin θ/θ r × x + (1 - cos θ)/θ² (r·x) r, θ = |r|
Var rotated(const Var& r, const Var& x) {
  Var square = sum(r * r, {0}, true), angle = sqrt(square), c = cos(angle);
  return c * x + sin(angle) / angle * cross(r, x) + (1 - c) / square * sum(r * x, {0}, true) * r;
}

struct Bundle {
  Tensor measured;  // f of each observation
  Var z;
  explicit Bundle(const Json& input) {
    const Index p = input.at("p");
    auto all = [&](const char* name) {
      Tensor one = reshape(tensor_of(input.at(name)), {-1, 1});
      return broadcast_to(one, {one.size(0), p});
    };
    measured = all("feat").contiguous();
    z = Var::leaf(
        concatenate({all("cam"), all("x"), all("w")}, 0).value());  // of equal cameras and points
  }

  Var part(Index begin, Index length) const { return narrow(z, 0, begin, length); }
  Var weight() const { return part(14, 1); }
  Var reprojection() const {
    Var P = rotated(part(0, 3), part(11, 3) - part(3, 3)),
        a = narrow(P, 0, 0, 2) / narrow(P, 0, 2, 1);
    Var s = sum(a * a, {0}, true);
    return weight() *
           (part(6, 1) * a * (1 + part(9, 1) * s + part(10, 1) * s * s) + part(7, 2) - measured);
  }
  Var weight_error() const { return 1 - weight() * weight(); }

  Tensors jacobian() const {
    Tape tape;
    Var e = reprojection();
    std::vector<Var> rows;
    for (Index i = 0; i < 2; ++i)
      rows.push_back(tape.grad(sum(select(e, 0, i)), {z}, {}, {.retain = true})[0]);
    Var of_weight = select(tape.grad(sum(weight_error()), {z})[0], 0, kParameters - 1);
    return {permute(stack(rows, 0), {2, 0, 1}).value().contiguous(), of_weight.value()};
  }
};

Json errors(const Tensors& e, const Json& input) {
  return {
      {"reproj_error", {{"elements", lists_of(select(e[0], 1, 0))}, {"repeated", input.at("p")}}},
      {"w_err", {{"element", select(e[1], 1, 0).item()}, {"repeated", input.at("p")}}}};
}

// A sparse matrix by rows: two for each observation, then one for each weight. GradBench asks for 30 elements and the last.
Json sparse(const Tensors& values, const Json& input) {
  const Index n = input.at("n"), m = input.at("m"), p = input.at("p"), shown = 2 * kParameters;
  std::vector<double> numbers = reshape(select(values[0], 0, 0), {shown}).to_vector<double>();
  std::vector<Index> starts, columns;
  for (Index i = 0; i < shown; ++i) {
    starts.push_back(std::min(i, 2 * p) * kParameters + std::max<Index>(0, i - 2 * p));
    const Index k = i % kParameters;
    columns.push_back(k < 11 ? k : k < 14 ? 11 * n + k - 11 : 11 * n + 3 * m);
  }
  starts.push_back(31 * p);
  columns.push_back(11 * n + 3 * m + p - 1);
  numbers.push_back(select(values[1], 0, p - 1).item());
  return {{"rows", starts}, {"cols", columns}, {"vals", numbers}};
}

}  // namespace

Functions ba() {
  auto objective = [](const Json& input) {
    return [b = Bundle(input)] {
      return Tensors{b.reprojection().value(), b.weight_error().value()};
    };
  };
  auto jacobian = [](const Json& input) { return [b = Bundle(input)] { return b.jacobian(); }; };
  return {{"objective", objective, errors}, {"jacobian", jacobian, sparse}};
}

}  // namespace glim::gradbench
