// Reading tests/reference, and comparing with it.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autograd/op_form.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"
#include "tests/catch.hpp"

namespace glim {

// One file. Its cases are key prefixes ("linear.x", "linear.param.weight"), unless it is one case.
class Reference {
 public:
  explicit Reference(const std::string& name)
      : file_(read_safetensors(std::string(GLIM_REFERENCE) + "/" + name + ".safetensors")),
        cases_(nlohmann::json::parse(file_.metadata.at("case")).value("cases", nlohmann::json())) {}
  bool has(const std::string& key) const { return file_.tensors.count(key) > 0; }
  // Floating tensors are converted.
  Tensor get(const std::string& key, DType dtype = DType::Float64) const {
    const Tensor& t = file_.tensors.at(key);
    return is_floating(t.dtype()) ? t.to(dtype) : t;
  }
  const nlohmann::json& config(const std::string& name) const { return cases_.at(name); }
  std::vector<std::string> cases(const std::string& prefix) const {
    std::vector<std::string> names;
    for (auto& [name, config] : cases_.items())
      if (name.rfind(prefix, 0) == 0) names.push_back(name);
    return names;
  }
  // What follows `prefix` in the keys that begin with it.
  std::vector<std::string> keys(const std::string& prefix) const {
    std::vector<std::string> names;
    for (auto& [key, tensor] : file_.tensors)
      if (key.rfind(prefix, 0) == 0) names.push_back(key.substr(prefix.size()));
    return names;
  }

 private:
  SafeTensors file_;
  nlohmann::json cases_;
};

// That file, read once.
inline const Reference& stored(std::string_view name) {
  static std::map<std::string, Reference> files;
  return files.try_emplace(std::string(name), std::string(name)).first->second;
}

// The largest |a - b|/(1 + |b|): NaN counts as infinite, and so do shapes that differ.
inline double distance(const Tensor& a, const Tensor& b) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (a.shape() != b.shape()) return kFar;
  auto x = a.to(DType::Float64).to_vector<double>(), y = b.to(DType::Float64).to_vector<double>();
  double far = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    double d = std::abs(x[i] - y[i]) / (1 + std::abs(y[i]));
    if (!(d <= far)) far = std::isnan(d) ? kFar : d;
  }
  return far;
}
inline bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-12) {
  return distance(a, b) <= tolerance;
}

inline double tolerance_of(DType dtype) { return dtype == DType::Float64 ? 1e-11 : 2e-5; }

// Runs f in float32 and float64, fused and explicit.
inline void in_every_form(const std::function<void(DType)>& f) {
  for (DType dtype : {DType::Float64, DType::Float32})
    for (OpForm m : {OpForm::Fused, OpForm::Explicit}) {
      INFO(name_of(dtype) << (m == OpForm::Fused ? ", fused" : ", explicit"));
      UseForm use(m);
      f(dtype);
    }
}

}  // namespace glim
