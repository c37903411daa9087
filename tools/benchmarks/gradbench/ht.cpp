// Hand tracking: how far measured points are from the places that a hand's pose θ (26) gives them.
//
//   A_b = A_parent(b) B_b R_b(θ)      x_v = Σ_b w_vb A_b C_b p_v      e = measured - (R(θ_0..2) x + θ_3..5)
//
// B and C are given transforms (4, 4) of each bone b, R_b turns about x and z by angles of θ, and a vertex v at p_v moves
// with the bones by its weights w. A measured point belongs to a vertex, or to a place u in a triangle, which has two
// columns of the Jacobian for its own.
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

std::vector<Index> indices_of(const Json& list) { return list.get<std::vector<Index>>(); }
Tensor index_of(const std::vector<Index>& list) {
  return from_vector(list, {static_cast<Index>(list.size())});
}

struct Hand {
  Var theta, us;  // (26,) and (2, points), or undefined
  Tensor relative, inverse, measured;
  Tensor skin;    // (vertices, 4 bones): w_vb p_v. x is linear in the bones' transforms.
  Tensor angles;  // where in [θ, 0] each bone's two angles are
  std::vector<Tensor>
      parents;  // of the bones of each level of the tree, as places in the level above
  bool mirrored;

  explicit Hand(const Json& input) : theta(leaf_of(input.at("theta"))) {
    const Json &data = input.at("data"), &model = data.at("model");
    const std::vector<Index> parent_of = indices_of(model.at("parents"));
    const Tensor order = by_levels(parent_of);
    relative = index_select(tensor_of(model.at("base_relatives")), 0, order).value();
    inverse = index_select(tensor_of(model.at("inverse_base_absolutes")), 0, order).value();
    angles = reshape(index_select(angle_places(parent_of.size()), 0, order).value(), {-1});
    measured = tensor_of(data.at("points"));
    mirrored = model.at("is_mirrored");
    std::vector<Index> vertices = indices_of(data.at("correspondences"));
    if (!input.at("us").empty()) {
      us = Var::leaf(transpose(tensor_of(input.at("us"))).contiguous());
      std::vector<Index> corners;
      for (Index corner = 0; corner < 3; ++corner)
        for (Index triangle : vertices)
          corners.push_back(model.at("triangles").at(triangle).at(corner));
      vertices = corners;
    }
    auto chosen = [&](const char* name) {
      return index_select(tensor_of(model.at(name)), 0, index_of(vertices));
    };
    Var weights = index_select(chosen("weights"), 1, order), places = chosen("base_positions");
    skin = reshape(unsqueeze(weights, 2) * unsqueeze(places, 1), {weights.size(0), -1}).value();
  }

  // Bones from the root down. Fills `parents`.
  Tensor by_levels(const std::vector<Index>& parent_of) {
    std::vector<Index> order, above{-1};
    while (!above.empty()) {
      std::vector<Index> level, places;
      for (std::size_t bone = 0; bone < parent_of.size(); ++bone)
        if (auto p = std::find(above.begin(), above.end(), parent_of[bone]); p != above.end()) {
          level.push_back(static_cast<Index>(bone));
          places.push_back(p - above.begin());
        }
      order.insert(order.end(), level.begin(), level.end());
      if (!level.empty()) parents.push_back(index_of(places));
      above = std::move(level);
    }
    return index_of(order);
  }

  // After the wrist each finger has four bones: the second turns about x and z, the third and fourth about x.
  static Tensor angle_places(std::size_t bones) {
    std::vector<Index> place(2 * bones, 26);  // a zero
    for (Index finger = 0, next = 6; finger < 5; ++finger)
      for (Index angle : {4, 5, 6, 8}) place[8 * finger + angle] = next++;
    return from_vector(place, {static_cast<Index>(bones), 2});
  }

  // R_z R_x of each bone (bones, 4, 4)
  Var turns() const {
    Var zero = zeros({relative.size(0), 1}, DType::Float64),
        one = ones(zero.shape(), DType::Float64);
    Var angle = reshape(
        index_select(concatenate({theta, zeros({1}, DType::Float64)}, 0), 0, reshape(angles, {-1})),
        {-1, 2});
    Var c = cos(angle), s = sin(angle), cx = narrow(c, 1, 0, 1), cz = narrow(c, 1, 1, 1),
        sx = narrow(s, 1, 0, 1), sz = narrow(s, 1, 1, 1);
    return reshape(concatenate({cz, -(sz * cx), sz * sx, zero, sz, cz * cx, -(cz * sx), zero, zero,
                                sx, cx, zero, zero, zero, zero, one},
                               1),
                   {-1, 4, 4});
  }

  // Rodrigues: x R(r)ᵀ, R = cos α 1 + (1 - cos α) a aᵀ + sin α [a]×, r = α a
  static Var rotated(const Var& x, const Var& r) {
    Var angle = sqrt(sum(r * r));
    if (angle.item() < 1e-4) return x;  // as in GradBench
    static const Tensor cross =
        tensor({0, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0},
               {9, 3}, DType::Float64);
    Var a = unsqueeze(r / angle, 1), c = cos(angle);
    Var R = c * eye(3, DType::Float64) + (1 - c) * matmul(a, transpose(a)) +
            sin(angle) * reshape(matmul(cross, a), {3, 3});
    return matmul(x, transpose(R));
  }

  Var error() const {
    Var local = matmul(relative, turns());
    std::vector<Var> absolute;
    Index begin = 0;
    for (const Tensor& above : parents) {
      Var level = narrow(local, 0, begin, above.numel());
      absolute.push_back(absolute.empty() ? level
                                          : matmul(index_select(absolute.back(), 0, above), level));
      begin += above.numel();
    }
    Var transforms = narrow(matmul(concatenate(absolute, 0), inverse), 1, 0, 3);  // (bones, 3, 4)
    Var x = matmul(skin, reshape(transpose(transforms), {-1, 3}));
    if (mirrored) x = x * tensor({-1, 1, 1}, DType::Float64);
    x = rotated(x, narrow(theta, 0, 0, 3)) + narrow(theta, 0, 3, 3);
    if (us.defined()) {
      Var u = unsqueeze(select(us, 0, 0), 1), v = unsqueeze(select(us, 0, 1), 1);
      const Index n = measured.size(0);
      const std::vector<Var> corner = split(x, 0, {n, n, n});
      x = u * corner[0] + v * corner[1] + (1 - u - v) * corner[2];
    }
    return reshape(measured - x, {-1});
  }

  // Its columns, in forward mode.
  Tensor jacobian() const {
    Tape tape;
    Var e = error();
    std::vector<Var> columns;
    auto add = [&](const Var& x, const Vars& directions) {
      for (const Var& column : forward_products(tape, e, x, directions)) columns.push_back(column);
    };
    if (us.defined()) {
      Tensor first = zeros(us.shape(), DType::Float64), second = ones(us.shape(), DType::Float64);
      select(first, 0, 0).fill_(1);
      select(second, 0, 0).fill_(0);
      add(us, {first, second});
    }
    Vars basis;
    for (Index i = 0; i < theta.numel(); ++i)
      basis.push_back(select(eye(theta.numel(), DType::Float64), 0, i));
    add(theta, basis);
    return stack(columns, 1).value();
  }
};

}  // namespace

Functions ht() {
  auto objective = [](const Json& input) {
    return [h = Hand(input)] { return Tensors{h.error().value()}; };
  };
  auto jacobian = [](const Json& input) {
    return [h = Hand(input)] { return Tensors{h.jacobian()}; };
  };
  return {{"objective", objective, first}, {"jacobian", jacobian, first}};
}

}  // namespace glim::gradbench
