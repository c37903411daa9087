// Ops beside tests/reference/ops.safetensors: values, gradients, and gradients of the gradients.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tensor/io/safetensors.hpp"
#include "tests/autograd/common.hpp"
#include "tests/tensor/common.hpp"

namespace test_reference {

using namespace glim;
using Vars = std::vector<Var>;

namespace {

Tensor ids(std::initializer_list<std::int64_t> list) {
  return from_vector<std::int64_t>(list, {static_cast<Index>(list.size())});
}

const std::map<std::string, std::function<Var(const Vars&)>>& functions() {
  static const Tensor back = ids({-1, 0, -1}), rows = ids({2, 0, 0, 1});
  static const Tensor mask = from_vector<bool>({true, false, true, true, false, true}, {2, 3});
  static const std::map<std::string, std::function<Var(const Vars&)>> all = {
      {"power", [](const Vars& x) { return pow(x[0], x[1]); }},
      {"power_broadcast", [](const Vars& x) { return pow(x[0], x[1]); }},
      {"power_of_number", [](const Vars& x) { return pow(2.0, x[0]); }},
      {"power_at_0", [](const Vars& x) { return pow(x[0], x[1]); }},
      {"power_of_negative",
       [](const Vars& x) {
         return pow(x[0], tensor({3, 2, -1}, x[0].dtype()));
       }},
      {"expm1", [](const Vars& x) { return expm1(x[0]); }},
      {"softplus", [](const Vars& x) { return softplus(x[0]); }},
      {"softplus_3", [](const Vars& x) { return softplus(x[0], 3); }},
      {"elu", [](const Vars& x) { return elu(x[0]); }},
      {"elu_2", [](const Vars& x) { return elu(x[0], 2); }},
      {"leaky_relu", [](const Vars& x) { return leaky_relu(x[0]); }},
      {"relu_nan", [](const Vars& x) { return relu(x[0]); }},
      {"maximum_nan", [](const Vars& x) { return maximum(x[0], x[1]); }},
      {"cumprod", [](const Vars& x) { return cumprod(x[0], 1); }},
      {"cumprod_zeros", [](const Vars& x) { return cumprod(x[0], 0); }},
      {"logcumsumexp", [](const Vars& x) { return logcumsumexp(x[0], 1); }},
      {"logcumsumexp_far", [](const Vars& x) { return logcumsumexp(x[0], 1); }},
      {"cummax", [](const Vars& x) { return cummax(x[0], 1).values; }},
      {"cummin", [](const Vars& x) { return cummin(x[0], 1).values; }},
      {"pad",
       [](const Vars& x) {
         return pad(x[0], {{0, 1}, {2, -1}}, 0.5);
       }},
      {"index_ids", [](const Vars& x) { return pow(index(x[0], {rows}), 2); }},
      {"index_mask", [](const Vars& x) { return pow(index(x[0], {mask}), 2); }},
      {"index_two",
       [](const Vars& x) {
         return pow(index(x[0], {{}, ids({2, 0, 0}), back}), 2);
       }},
      {"index_apart",
       [](const Vars& x) {
         return pow(index(x[0], {ids({0, 0, 1}), {}, back}), 2);
       }},
      {"layer_norm",
       [](const Vars& x) {
         return layer_norm(x[0], {3, 4}, x[1], x[2]);
       }},
      {"rms_norm",
       [](const Vars& x) {
         return rms_norm(x[0], {3, 4}, x[1], 1e-5);
       }},
  };
  return all;
}

// Within the tolerance, relative to the largest finite element; NaN and infinities at the same places.
void compare(const std::string& what, const Tensor& found, const Tensor& expected) {
  INFO(what);
  REQUIRE(found.shape() == expected.shape());
  const std::vector<double> y = elements(found), e = elements(expected);
  double largest = 1;
  for (double v : e)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  const double tolerance = (found.dtype() == DType::Float32 ? 1e-5 : 1e-13) * largest;
  for (std::size_t i = 0; i < y.size(); ++i) {
    INFO(i << ": " << y[i] << ", not " << e[i]);
    CHECK((y[i] == e[i] || (std::isnan(y[i]) && std::isnan(e[i])) ||
           std::abs(y[i] - e[i]) <= tolerance));
  }
}

}  // namespace

TEST_CASE("ops have torch's values, gradients and gradients of gradients", "[reference]") {
  const SafeTensors file = read_safetensors(reference("ops.safetensors"));
  const auto configs = nlohmann::json::parse(file.metadata.at("case"))["cases"];
  REQUIRE(configs.size() == functions().size());
  for (DType dtype : {DType::Float64, DType::Float32})
    for (const auto& [name, f] : functions()) {
      INFO(name << ", " << name_of(dtype));
      auto get = [&, n = name](const std::string& key) {
        return file.tensors.at(n + "." + key).to(dtype);
      };
      const int inputs = configs[name]["inputs"];
      Vars xs, first, second;
      for (int k = 0; k < inputs; ++k) xs.push_back(Var::leaf(get("x" + std::to_string(k))));
      Tape tape;
      const Var y = f(xs);
      compare("y", y.value(), get("y"));
      const Vars dx = tape.grad(y, xs, get("dy"), {.create_graph = true});
      Var total(scalar(0, dtype));
      for (int k = 0; k < inputs; ++k) {
        const std::string of = std::to_string(k);
        Tensor expected = get("dx" + of);
        // Torch's gradient of an element that is -∞ is NaN. The element takes no part in the sum.
        if (name == "logcumsumexp_far")
          expected = where(equal(xs[0].value(), -INFINITY), scalar(0, dtype), expected);
        compare("dx" + of, dx[static_cast<std::size_t>(k)].value(), expected);
        if (configs[name]["twice"])
          total = total + sum(dx[static_cast<std::size_t>(k)] * get("v" + of));
      }
      if (!configs[name]["twice"] || !total.requires_grad()) continue;
      const Vars ddx = tape.grad(total, xs);
      for (int k = 0; k < inputs; ++k)
        compare("ddx" + std::to_string(k), ddx[static_cast<std::size_t>(k)].value(),
                get("ddx" + std::to_string(k)));
    }
}

TEST_CASE("cummax and cummin say where, the last of equals", "[reference]") {
  const SafeTensors file = read_safetensors(reference("ops.safetensors"));
  for (bool largest : {true, false}) {
    const std::string name = largest ? "cummax" : "cummin";
    const Var x(file.tensors.at(name + ".x0"));
    const OrderedVar y = largest ? cummax(x, 1) : cummin(x, -1);
    CHECK(same_bits(y.indices.contiguous(), file.tensors.at(name + ".indices")));
  }
}

}  // namespace test_reference
