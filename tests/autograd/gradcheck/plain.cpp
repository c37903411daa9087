// The 40 lines to copy find every wrong gradient that the checker is tested with.
#include "autograd/gradcheck/plain.hpp"

#include "tests/autograd/gradcheck/wrong/wrong.hpp"
#include "tests/catch.hpp"

namespace test_plain {

using namespace glim;
using namespace glim::wrongs;

TEST_CASE("the plain checker passes right ops and finds wrong ones", "[gradcheck]") {
  for (const WrongOp& op : wrong_ops()) {
    INFO(op.name);
    std::vector<Tensor> x;
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
      x.push_back(uniform(op.inputs[k], 0.3, 2, {3, k}, DType::Float64));
    for (std::size_t k = 0; k < x.size(); ++k)
      CHECK(plain::compare([&](const Vars& v) { return planted(op, nullptr, v); }, x, k) <= 1);
    for (const WrongGradient& w : op.wrong) {
      INFO(w.mistake);
      CHECK(plain::compare([&](const Vars& v) { return planted(op, &w, v); }, x, w.input) > 1);
    }
  }
  // NaN is no agreement.
  auto nan = [](const Vars& v) { return log(v[0]); };
  CHECK(plain::compare(nan, {full({2}, -1, DType::Float64)}, 0) > 1);
  // Nor is an infinite difference: x - h is 0.
  auto pole = [](const Vars& v) { return 1 / v[0]; };
  CHECK(plain::compare(pole, {full({1}, 5e-6, DType::Float64)}, 0) > 1);
}

}  // namespace test_plain
