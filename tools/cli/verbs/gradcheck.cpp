// glim gradcheck: every op, layer and model that has a specification (tools/gradient_cases), as a table.
//
// Undecidable derivatives are at kinks. Some of low precision are right to five digits, and the table is followed by
// the reason why they cannot be held to more (gradcheck.hpp). A case fails on a wrong derivative or an exception. It is
// undecided if it has no derivative other than 0 that was found right, which is not a pass.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/escape.hpp"
#include "tools/foreign/program.hpp"
#include "tools/gradient_cases/op_specs.hpp"

namespace glim {
namespace {

struct FamilyRow {
  Index cases = 0, derivatives = 0, undecidable = 0, low = 0, failed = 0, undecided = 0;
  double worst = 0, excess = 0;
  decltype(CaseResult::by_decade) by_decade{};
};

void add(FamilyRow& row, const CaseResult& r) {
  ++row.cases;
  row.derivatives += r.checked;
  row.undecidable += r.undecidable;
  row.low += r.low_precision;
  row.failed += r.status == CaseStatus::Fail;
  row.undecided += r.status == CaseStatus::Undecided;
  for (std::size_t k = 0; k < row.by_decade.size(); ++k) row.by_decade[k] += r.by_decade[k];
  row.worst = std::max(row.worst, r.worst);
  row.excess = std::max(row.excess, r.excess);
}

nlohmann::ordered_json row_json(const FamilyRow& r) {
  return {{"cases", r.cases},       {"derivatives", r.derivatives}, {"undecidable", r.undecidable},
          {"low_precision", r.low}, {"failed", r.failed},           {"undecided", r.undecided},
          {"worst", r.worst},       {"of_tolerance", r.excess},     {"by_decade", r.by_decade}};
}

// How many of the right derivatives have an error of this size, relative to them.
void print_errors(const FamilyRow& all) {
  print("\nerrors of the right ones, over their size:\n");
  for (std::size_t k = 0; k < all.by_decade.size(); ++k)
    if (const Index n = all.by_decade[k])
      print(fmt::format("  {:<22} {:>9}  {:5.2f} %\n",
                        k + 1 == all.by_decade.size() ? fmt::format("below 1e-{}", k)
                                                      : fmt::format("1e-{} to 1e-{}", k + 1, k),
                        n, 100.0 * static_cast<double>(n) / static_cast<double>(all.derivatives)));
}

void run_gradcheck(const std::string& only, bool in_float32, bool precise, bool json) {
  if (precise && in_float32) throw ValueError("--precise", "needs float64: float32 has 7 digits");
  GradcheckOptions::all_precise = precise;
  FamilyRow total;
  std::vector<CaseResult> failures, low_cases;
  std::map<std::pair<std::string, std::string>, FamilyRow> rows;
  std::vector<Case> cases = op_cases(in_float32 ? DType::Float32 : DType::Float64);
  if (!in_float32)  // layers and models are defined in float64
    for (auto list : {layer_cases, model_cases})
      for (Case& c : list()) cases.push_back(std::move(c));
  for (const Case& c : cases) {
    if (!only.empty() && (c.family + " " + c.op).find(only) == std::string::npos) continue;
    CaseResult r = glim::run(c);
    add(rows[{c.family, c.op}], r);
    add(total, r);
    if (r.status != CaseStatus::Pass) failures.push_back(r);
    if (r.low_precision) low_cases.push_back(r);
  }
  if (total.cases == 0) throw ValueError("--only", "no case matches \"" + only + "\"");
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array(), failed = list, few_digits = list;
    for (const auto& [name, row] : rows) {
      list.push_back({{"family", name.first}, {"op", name.second}});
      list.back().update(row_json(row));
    }
    for (const CaseResult& f : failures)
      failed.push_back({{"family", f.family},
                        {"op", f.op},
                        {"case", f.name},
                        {"undecided", f.status == CaseStatus::Undecided},
                        {"detail", f.detail}});
    for (const CaseResult& r : low_cases)
      few_digits.push_back({{"family", r.family},
                            {"op", r.op},
                            {"case", r.name},
                            {"low_precision", r.low_precision},
                            {"because", r.why}});
    print_json({{"ops", list},
                {"all", row_json(total)},
                {"failures", failed},
                {"low_precision_cases", few_digits}});
    if (!failures.empty()) throw Exit(1);
    return;
  }
  const char* format = "{:<16} {:<30} {:>6} {:>12} {:>12}{} {:>10} {:>8}  {}\n";
  auto low = [&](const std::string& text) { return precise ? fmt::format(" {:>13}", text) : ""; };
  print(fmt::format(fmt::runtime(format), "family", "op", "cases", "derivatives", "undecidable",
                    low("low precision"), "worst", "of tol.", ""));
  auto line = [&](const std::string& family, const std::string& op, const FamilyRow& r) {
    print(fmt::format(fmt::runtime(format), family, op, r.cases, r.derivatives, r.undecidable,
                      low(std::to_string(r.low)), fmt::format("{:.1e}", r.worst),
                      fmt::format("{:.3f}", r.excess),
                      r.failed      ? fmt::format("FAIL ({})", r.failed)
                      : r.undecided ? fmt::format("UNDECIDED ({})", r.undecided)
                                    : "pass"));
  };
  for (const auto& [name, row] : rows) line(name.first, name.second, row);
  line("all", "", total);
  if (precise) print_errors(total);
  if (!low_cases.empty()) print("\nto five digits alone:\n");
  for (const CaseResult& r : low_cases)
    print(fmt::format("  {} of {} {}, {}: {}\n", r.low_precision, r.family, r.op, r.name, r.why));
  for (const CaseResult& f : failures)
    print(fmt::format("\n{} {} {}, {}\n{}\n", name_of(f.status), f.family, f.op, f.name, f.detail));
  if (!failures.empty()) throw Exit(1);
}

// The whole Jacobian is checked where it is not larger.
constexpr Index kWholeJacobian = Index{1} << 14;

// A case for each check. One that leaves the report undecided is a failure, too.
std::string to_junit(const FunctionReport& report) {
  std::string cases;
  int failures = 0, skipped = 0;
  for (const FunctionCheck& c : report.checks) {
    const bool fails = c.verdict == CheckVerdict::Failed || c.doubt ||
                       (c.name == "differences" && c.verdict != CheckVerdict::Passed);
    const bool passes = c.verdict == CheckVerdict::Passed;
    failures += fails, skipped += !fails && !passes;
    const std::string detail = in_xml(c.name == "differences" && fails ? report.text() : c.detail);
    cases += fmt::format(
        "  <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", in_xml(report.function), c.name,
        passes && !fails
            ? "<system-out>" + detail + "</system-out>"
            : fmt::format("<{} message=\"{}\"/>", fails ? "failure" : "skipped", detail));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"glim "
      "gradcheck\" "
      "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n{}</testsuite>\n</testsuites>\n",
      report.checks.size(), failures, skipped, cases);
}

struct ProgramOptions {
  std::string command, name;
  double timeout = 60, atol = 0, rtol = 0;
  bool junit = false, second_order = false;
};

void check_program(const ProgramOptions& o, bool precise, bool json) {
  const std::string& command = o.command;
  if (command.find_first_not_of(" \t\n") == command.npos)
    throw ValueError("--program", "the command is empty");
  foreign::Program program(command, o.timeout);
  std::vector<GradcheckInput> inputs = program.inputs();
  if (std::none_of(inputs.begin(), inputs.end(), [](const GradcheckInput& x) {
        return is_floating(x.value.dtype()) && x.value.numel() > 0;
      }))
    throw ValueError("--program", "no input has real numbers; 1.0 is one, and 1 is an integer");
  const Callbacks f = o.second_order ? program.second_order(inputs) : program.function();
  Tensors x;
  Index elements = 0, outputs = 0;
  for (const GradcheckInput& input : inputs) {
    x.push_back(input.value);
    if (is_floating(input.value.dtype())) elements += input.value.numel();
  }
  for (const Tensor& y : f.value(x)) outputs += y.numel();
  GradcheckOptions options;
  options.name = o.name.empty() ? command : o.name;
  options.atol = o.atol, options.rtol = o.rtol;
  if (elements * outputs > kWholeJacobian) options.mode = GradcheckOptions::Mode::Projection;
  options.precise = precise;
  const FunctionReport report = check_function(f, inputs, options);
  if (json)
    print_json(nlohmann::ordered_json::parse(report.to_json()));
  else if (o.junit)
    print(to_junit(report));
  else
    print(report.text() + "\n");
  if (!report) throw Exit(1);
}

}  // namespace

Command gradcheck_command() {
  Command c("gradcheck", "check the gradients of every op, layer and model, as a table");
  auto only = std::make_shared<std::string>();
  auto in_float32 = std::make_shared<bool>(false), precise = std::make_shared<bool>(false);
  auto json = std::make_shared<bool>(false);
  auto o = std::make_shared<ProgramOptions>();
  c.option(
      "program", &o->command,
      "check the function and the gradient of this command (tools/foreign/program.md) instead");
  c.option("name", &o->name, "of the program in the report; else its command");
  c.option("timeout", &o->timeout, "seconds that the program has for each reply", kAboveZero);
  c.option("atol", &o->atol, "the error that each of the program's derivatives may have (1e-7)",
           kAboveZero);
  c.option("rtol", &o->rtol, "the same, relative to the derivative (1e-5)", kAboveZero);
  c.option("second-order", &o->second_order,
           "check the program's gradient of its gradient, by its call \"second_order\"");
  c.option("junit", &o->junit, "print the checks of the program as JUnit's XML");
  c.option("only", only.get(), "cases whose family or op contains this");
  c.option("float32", in_float32.get(), "check the ops in float32, against float64");
  c.option("precise", precise.get(),
           "to 10 digits, by differences of eighth order, or 5 where no step is that precise");
  c.option("json", json.get(), "print one JSON object instead of the table");
  c.run = [=](Command& command) {
    const bool of_program = command.given("program");
    constexpr std::pair<const char*, bool> kOfProgram[]{
        {"only", false}, {"float32", false}, {"name", true},  {"timeout", true},
        {"atol", true},  {"rtol", true},     {"junit", true}, {"second-order", true}};
    for (const auto& [name, of_the_program] : kOfProgram)
      if (command.given(name) && of_program != of_the_program)
        throw UsageError(std::string("--") + name + " is " +
                         (of_program ? "not for --program" : "for --program alone"));
    if (*json && o->junit) throw UsageError("--json and --junit: choose one");
    if (of_program)
      check_program(*o, *precise, *json);
    else
      run_gradcheck(*only, *in_float32, *precise, *json);
  };
  return c;
}

}  // namespace glim
