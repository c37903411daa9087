// Every op against its specification, in every variation.
#include "tools/gradient_cases/op_specs.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "autograd/op.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tools/gradient_cases/spec.hpp"

namespace test_op_specs {

using namespace glim;

namespace {

struct Tally {
  Index cases = 0, compared = 0, derivatives = 0, undecidable = 0;
  double excess = 0;
};

Tally run_all(const std::vector<Case>& cases) {
  Tally all;
  for (std::size_t i = 0; i < cases.size(); i += kEvery) {
    const Case& c = cases[i];
    CaseResult r = run(c);
    INFO(r.op + ", " + r.name);
    INFO(r.detail);
    CHECK(r.status == CaseStatus::Pass);
    if (!r.kinks) CHECK(r.undecidable == 0);
    ++all.cases;
    all.compared += r.checked > 0;
    all.derivatives += r.checked;
    all.undecidable += r.undecidable;
    all.excess = std::max(all.excess, r.excess);
  }
  return all;
}

void print(const char* dtype, const Tally& t) {
  std::printf(
      "%s: %lld cases, %lld of them gradient checks of %lld derivatives in all, "
      "%lld undecidable; largest error %.2f of its tolerance\n",
      dtype, static_cast<long long>(t.cases), static_cast<long long>(t.compared),
      static_cast<long long>(t.derivatives), static_cast<long long>(t.undecidable), t.excess);
}

}  // namespace

TEST_CASE("every op passes its gradient checks in float64", "[op_specs]") {
  Tally t = run_all(op_cases());
  print("float64", t);
  CHECK(t.compared >= 500 / static_cast<Index>(kEvery));
  CHECK(t.undecidable > 0);  // the kinks that are there on purpose were met
}

TEST_CASE("every op passes its gradient checks in float32", "[op_specs]") {
  Tally t = run_all(op_cases(DType::Float32));
  print("float32", t);
  CHECK(t.compared >= 100 / static_cast<Index>(kEvery));
}

TEST_CASE("a whole small Transformer passes its gradient checks", "[op_specs][models][slow]") {
  Tally t = run_all(model_cases());
  print("models", t);
  CHECK(t.compared >= 100 / static_cast<Index>(kEvery));
}

TEST_CASE("an op without a value for an operand is an error, not a crash", "[op_specs]") {
  for (const specs::Family& family : specs::families())
    for (const specs::Spec& spec : family.specs) {
      INFO(spec.op + ", " + spec.name);
      specs::Vars operands;
      for (const Tensor& x : spec.inputs(1)) operands.emplace_back(x);
      CHECK_THROWS_AS(spec.f(specs::Vars(operands.size())), Error);
      for (std::size_t k = 0; k < operands.size(); ++k) {  // a bias, say, may be left out
        specs::Vars some = operands;
        some[k] = Var();
        bool refused = false, defined = false;
        try {
          defined = spec.f(some).defined();
        } catch (const Error&) {
          refused = true;
        }
        CHECK(refused != defined);
      }
    }
}

TEST_CASE("every op that can be recorded has a specification", "[op_specs]") {
  std::set<std::string, std::less<>> specified;
  for (const specs::Family& family : specs::families())
    for (const specs::Spec& s : family.specs) specified.insert(s.op);
  for (std::string_view op : registered_ops()) {
    INFO(op);
    CHECK(specified.contains(op));
  }
  CHECK(registered_ops().size() >= 40);
}

TEST_CASE("cases have names of their own, and tolerances as promised", "[op_specs]") {
  std::map<std::string, int> seen;
  for (const Case& c : op_cases()) ++seen[c.op + ", " + c.name];
  for (auto& [name, times] : seen) {
    INFO(name);
    CHECK(times == 1);
  }
  for (const Case& c : op_cases()) {
    if (c.name != "one shape, contiguous") continue;
    GradcheckReport report = c.check();
    CHECK(report.options.atol == 1e-7);
    CHECK(report.options.rtol == 1e-5);
    CHECK(report.in_float64);
  }
}

TEST_CASE("run() turns exceptions and failures into results", "[op_specs]") {
  CaseResult thrown =
      run({"f", "op", "throws", []() -> GradcheckReport { throw ValueError("op", "on purpose"); }});
  CHECK(thrown.status == CaseStatus::Fail);
  CHECK(thrown.detail == "op: on purpose");
  CHECK(name_of(thrown.status) == "FAIL");
  CaseResult problem = run({"f", "op", "problem", [] {
                              GradcheckReport report;
                              report.problem = "is wrong";
                              return report;
                            }});
  CHECK(problem.status == CaseStatus::Fail);
}

}  // namespace test_op_specs
