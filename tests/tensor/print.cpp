#include "tensor/print.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_print {

using namespace glim;

namespace {

Tensor reference_array(const nlohmann::json& entry) {
  Shape shape = entry["shape"].get<std::vector<Index>>();
  std::string dtype = entry["dtype"];
  if (entry.contains("ramp")) {
    double start = entry["ramp"]["start"], step = entry["ramp"]["step"];
    Tensor i = arange(0, static_cast<double>(numel_of(shape)), 1, DType::Float64);
    return reshape(add(mul(i, step), start).to(dtype_named(dtype)), shape);
  }
  if (dtype == "int64") {
    std::vector<Index> v;
    for (const std::string s : entry["values"]) v.push_back(std::stoll(s));
    return from_vector(v, shape);
  }
  std::vector<double> v;
  for (const std::string s : entry["values"]) v.push_back(std::strtod(s.c_str(), nullptr));
  return from_vector(v, shape).to(dtype_named(dtype));
}

}  // namespace

TEST_CASE("arrays print as NumPy printed them", "[print]") {
  auto file = nlohmann::json::parse(std::ifstream(reference("numpy_print.json")));
  int seen = 0;
  for (const auto& entry : file["arrays"]) {
    INFO(entry["name"].get<std::string>());
    CHECK(to_string(reference_array(entry)) == entry["text"].get<std::string>());
    ++seen;
  }
  CHECK(seen > 60);
}

TEST_CASE("a float32 prints in exponent form from 1e6 on, a float64 from 1e8 on", "[print]") {
  CHECK(to_string(tensor({999999, 1})) == "[9.99999e+05 1.00000e+00]");  // a ratio above 1000
  CHECK(to_string(tensor({999999})) == "[999999.]");
  CHECK(to_string(tensor({1e6})) == "[1.e+06]");
  CHECK(to_string(tensor({1e7}, DType::Float64)) == "[10000000.]");
  CHECK(to_string(tensor({1e8}, DType::Float64)) == "[1.e+08]");
}

TEST_CASE("a view prints like its copy", "[print]") {
  Tensor x = reshape(arange(0, 2400, 1, DType::Float32), {20, 30, 4});
  for (const Tensor& v : {transpose(x, 0, 2), slice(x, 1, 3, 30, 4), select(x, 2, 1),
                          broadcast_to(slice(x, 0, 0, 1), {50, 30, 4}), permute(x, {1, 2, 0})})
    CHECK(to_string(v) == to_string(v.clone()));
}

TEST_CASE("options change digits, summary and line width", "[print]") {
  Tensor x = div(arange(0, 6, 1, DType::Float64), scalar(7, DType::Float64));
  CHECK(to_string(x, {.precision = 2}) == "[0.   0.14 0.29 0.43 0.57 0.71]");
  CHECK(to_string(x, {.precision = 2, .threshold = 5, .edgeitems = 1}) == "[0.   ... 0.71]");
  CHECK(to_string(x, {.precision = 2, .linewidth = 20}) == "[0.   0.14 0.29\n 0.43 0.57 0.71]");
}

TEST_CASE("a stream takes tensors", "[print]") {
  std::ostringstream out;
  out << tensor({1, 2}) << Tensor();
  CHECK(out.str() == "[1. 2.]undefined");
}

}  // namespace test_print
