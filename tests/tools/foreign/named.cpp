// Wrong backwards behind callbacks: which are caught, and which are named.
#include <cstdlib>
#include <iostream>
#include <set>

#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tests/autograd/gradcheck/wrong/wrong.hpp"
#include "tests/catch.hpp"
#include "tools/foreign/function.hpp"

namespace glim::foreign_named {
namespace {

using wrongs::At;
using wrongs::Vars;
using wrongs::WrongGradient;
using wrongs::WrongOp;

Vars constants(const Tensors& x) { return {x.begin(), x.end()}; }

Function function(const WrongOp& op, const WrongGradient* wrong) {
  return {[&op](const Tensors& x) -> Tensors { return {op.forward(constants(x)).value()}; },
          [&op, wrong](const Tensors& x, const Tensors& dy) {
            const At a{Var(dy[0]), constants(x), op.forward(constants(x))};
            Tensors d;
            for (std::size_t k = 0; k < op.right.size(); ++k)
              d.push_back((wrong && k == wrong->input ? wrong->dx : op.right[k])(a).value());
            return d;
          }};
}

std::vector<GradcheckInput> inputs(const WrongOp& op) {
  std::vector<GradcheckInput> all;
  for (const Shape& shape : op.inputs)
    all.emplace_back(uniform(shape, 0.3, 2, {5, all.size()}, DType::Float64));
  return all;
}

}  // namespace

TEST_CASE("wrong backwards behind callbacks are caught and named") {
  const bool print = std::getenv("GLIM_PRINT");
  int all = 0, named = 0, misnamed = 0, silent = 0;
  for (const WrongOp& op : wrongs::wrong_ops()) {
    const FunctionReport right = check_function(function(op, nullptr), inputs(op));
    INFO(op.name << "\n" << right.text());
    CHECK(right);
    for (const WrongGradient& wrong : op.wrong) {
      const FunctionReport report = check_function(function(op, &wrong), inputs(op));
      INFO(op.name << ", " << wrong.mistake << "\n" << report.text());
      CHECK_FALSE(report);
      ++all;
      const std::string_view looks = wrong.looks;
      const bool by_dy = contains(looks, "dy ignored") || contains(looks, "used not linearly");
      const bool rightly = by_dy ? contains(report.mistake, report.check("linear").detail)
                                 : !looks.empty() && contains(report.mistake, looks);
      silent += report.mistake.empty();
      named += rightly;
      misnamed += !rightly && !looks.empty() && !report.mistake.empty();
      if (print && !rightly)
        std::cout << op.name << ", " << wrong.mistake << ": wanted [" << looks << "], is ["
                  << report.mistake << "]\n";
    }
  }
  CHECK(named * 100 >= all * 84);
  CHECK(misnamed * 100 <= all * 2);
  if (print)
    std::cout << all << " wrong, " << named << " named rightly, " << misnamed << " wrongly, "
              << silent << " not named\n";
}

}  // namespace glim::foreign_named
