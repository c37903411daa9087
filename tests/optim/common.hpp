// Shared by the tests of optimizers: the reference's parameters, gradients and optimizers.
#pragma once

#include <memory>

#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace glim {

inline constexpr Index kSteps = 12;

inline const Reference& optim() { return stored("optim"); }

// The reference's two parameters.
struct TwoParams {
  explicit TwoParams(DType dtype)
      : w(Var::leaf(optim().get("param.w", dtype).clone(), "w")),
        b(Var::leaf(optim().get("param.b", dtype).clone(), "b")) {}
  NamedParameters list() const { return {{"w", w}, {"b", b}}; }
  void set_gradients(Index step) const {
    for (auto& [name, var] : list())
      var.leaf().grad =
          select(optim().get("grads." + name, var.dtype()), 0, step).contiguous().clone();
  }
  Var w, b;
};

inline std::unique_ptr<Optimizer> optimizer_for(const nlohmann::json& c,
                                                const NamedParameters& list) {
  if (c["optimiser"] == "SGD")
    return std::make_unique<Sgd>(list, SgdOptions{.rate = c["lr"],
                                                  .momentum = c["momentum"],
                                                  .dampening = c["dampening"],
                                                  .weight_decay = c["weight_decay"],
                                                  .nesterov = c["nesterov"]});
  AdamOptions o{.rate = c.value("lr", 1e-3),
                .beta1 = c["betas"][0],
                .beta2 = c["betas"][1],
                .eps = c["eps"],
                .weight_decay = c.value("weight_decay", 0.0)};
  if (c["optimiser"] == "AdamW") return std::make_unique<AdamW>(list, o);
  return std::make_unique<Adam>(list, o);
}

inline const std::vector<std::string> kCases = {
    "sgd",           "sgd_momentum", "sgd_nesterov", "sgd_weight_decay",
    "sgd_dampening", "sgd_all",      "adam",         "adam_transformer",
    "adam_l2",       "adamw",        "adamw_decay",  "adam_noam"};

}  // namespace glim
