#include "tools/course/judge.hpp"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/print.hpp"
#include "tensor/random.hpp"
#include "tools/common/escape.hpp"
#include "tools/course/adam_check.hpp"
#include "tools/course/runner_process.hpp"
#include "tools/foreign/program.hpp"

namespace glim::course {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The runners have shorter limits of their own, in processor time, and say where a function hangs.
constexpr double kSecondsToReply = 30, kSecondsToTrain = 120;
constexpr double kSlow = 10, kSlowSeconds = 2e-3;  // times the solution, and that much longer

// Of a model that copies every sentence (copy_task.py).
constexpr const char* kReceipt = "f4ae9bfa06a1edbe";

// The element furthest from what is expected, if it is too far: "dx[1, 0] is 0.7, expected 0.2".
std::string worst_of(const std::vector<std::string>& names, const Tensors& is,
                     const Tensors& expected) {
  double most = 1e-6;
  std::string text;
  for (std::size_t k = 0; k < expected.size() && k < is.size(); ++k) {
    if (!expected[k].defined() || !is[k].defined() || is[k].shape() != expected[k].shape())
      continue;
    const auto a = is[k].to(DType::Float64).to_vector<double>(),
               b = expected[k].to_vector<double>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double off = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
      if (off <= most) continue;  // of NaN it is not
      most = std::isnan(off) ? std::numeric_limits<double>::infinity() : off;
      const Shape index = detail::unravel(expected[k].shape(), static_cast<Index>(i));
      text = fmt::format("{}{} is {}, expected {}", names[k],
                         index.rank() ? fmt::format("[{}]", fmt::join(index, ", ")) : "",
                         number_text(a[i], 4), number_text(b[i], 4));
    }
  }
  return text;
}

Verdict wrong(const std::string& mistake, const std::string& worst = "") {
  return {.state = State::Wrong, .mistake = mistake, .worst = worst};
}

Verdict right() { return {.state = State::Right}; }

double time_of(const Runner& runner, const ExerciseFunction& f) {
  const auto inputs = drawn_inputs(f, Sizes::Large, 0);
  foreign::Program program(runner.command(f.name), kSecondsToReply);
  program.function(inputs);
  Tensors x;
  for (const GradcheckInput& input : inputs) x.push_back(input.value);
  const Tensor y = reference(f, Sizes::Large, 0).value(x)[0];
  const Tensor dy = normal(y.shape(), 0, 1, {1, 0}, DType::Float64);
  return program.reply("time", x, {dy}).value("seconds", 0.0);
}

// The student's copy_task_backward: its gradients beside those of the given assembly of the student's other files, then
// whether it learns. In NumPy it is put into the given program.
Verdict check_copy_task(const Exercise& e, const Runner& runner, const std::string& path,
                        std::uint64_t seed) {
  const Language language = runner.compiled() ? Language::Cpp : Language::NumPy;
  const std::string marked = marked_text(e, language),
                    function = fmt::format("{} {}", e.name, seed),
                    stub = runner.compiled() ? "" : stub_of(marked, language);
  const Tensors dy{scalar(0.75, DType::Float64)};
  foreign::Program program(runner.command(function, stub), kSecondsToTrain);
  Tensors x;
  std::vector<std::string> names;
  for (const GradcheckInput& input : program.inputs()) {
    x.push_back(input.value);
    names.push_back("d" + input.name);
  }
  const Tensors y = program.function().value(x), dx = program.function().gradient(x, dy);
  const TemporaryFolder folder;
  const std::string solution = (folder.path / file_name(e, language)).string();
  std::ofstream(solution) << solution_of(marked);
  const Runner given(e, runner.compiled() ? solution : path, fs::path(path).parent_path().string());
  foreign::Program own(given.command(function, runner.compiled() ? "" : solution_of(marked), "own"),
                       kSecondsToTrain);
  own.inputs();
  if (const std::string worst = worst_of({"y"}, y, own.function().value(x)); !worst.empty())
    return wrong(e.name + " was changed: it computes something else", worst);
  const Tensors expected = own.function().gradient(x, dy);
  for (std::size_t k = names.size(); k-- > 1;) {  // as backward goes
    if (dx[k].shape() != expected[k].shape())
      return wrong(fmt::format("{} has shape {}, expected {}", names[k], to_string(dx[k].shape()),
                               to_string(expected[k].shape())));
    if (const std::string worst = worst_of({names[k]}, {dx[k]}, {expected[k]}); !worst.empty())
      return wrong("the first wrong gradient on the way back is " + names[k], worst);
  }
  // Adam hides a part whose gradient has a wrong scale, so that the model would learn all the same.
  const TemporaryFolder parts;
  for (const Exercise& part : exercises())
    std::ofstream(parts.path / file_name(part, language))
        << solution_of(marked_text(part, language));
  const Runner solved(e, (parts.path / file_name(e, language)).string());
  foreign::Program whole(
      solved.command(function, runner.compiled() ? "" : solution_of(marked), "own"),
      kSecondsToTrain);
  whole.inputs();
  names[0] = "y";
  for (const auto& [is, should] :
       {std::pair{y, whole.function().value(x)}, {dx, whole.function().gradient(x, dy)}})
    if (const std::string worst = worst_of(names, is, should); !worst.empty())
      return wrong("your assembly is right, but an earlier file is not: check the others", worst);
  Verdict v = right();
  v.receipt = program.reply("train").value("receipt", "");
  if (v.receipt == kReceipt) return v;
  return wrong(
      "the gradients are right, but it does not learn to copy: are your other files right?");
}

Verdict check_by_values(const ExerciseFunction& f, const Runner& runner, std::uint64_t seed) {
  foreign::Program program(runner.command(f.name), kSecondsToReply);
  std::vector<GradcheckInput> names;
  for (const Input& input : f.inputs) names.emplace_back(input.name, Tensor());
  const Called student = program.function(names).value;
  const Found found = f.name == "warm_up" ? check_warm_up(student) : check_adam(student, seed);
  return found.mistake.empty() ? right() : wrong(found.mistake, found.worst);
}

Verdict check_speed(const Exercise& e, const ExerciseFunction& f, const Runner& runner) {
  double own = 0;
  {
    const TemporaryFolder folder;
    const std::string solution = (folder.path / file_name(e, Language::NumPy)).string();
    std::ofstream(solution) << solution_of(marked_text(e, Language::NumPy));
    own = time_of(Runner(e, solution), f);
  }
  Verdict v = right();
  const double theirs = time_of(runner, f);
  if (theirs > kSlow * own && theirs > own + kSlowSeconds) {
    v.state = State::Slow;
    v.times = theirs / own;
  }
  return v;
}

// The name of a mistake that, made in the solution, gives the student's results at two points (mistakes.py).
std::string named_by_trying(const Exercise& e, const ExerciseFunction& f, const Function& student,
                            std::uint64_t seed) {
  Json calls = Json::array();
  for (const std::uint64_t at : {seed, seed + 1}) {
    Tensors x;
    for (const GradcheckInput& input : drawn_inputs(f, Sizes::Checked, at))
      x.push_back(input.value);
    const Tensor y = reference(f, Sizes::Checked, at).value(x)[0];
    const Tensor dy = normal(y.shape(), 0, 1, {at, 1000}, DType::Float64);
    Json arguments = Json::array({foreign::json_of(dy)}), results = Json::array();
    for (const Tensor& one : x) arguments.push_back(foreign::json_of(one));
    for (const Tensor& one : student.gradient(x, {dy}))
      if (one.defined()) results.push_back(foreign::json_of(one));
    calls.push_back({{"arguments", arguments}, {"results", results}});
  }
  const TemporaryFolder folder;
  const std::string request = (folder.path / "request.json").string();
  std::ofstream(request) << Json{{"solution", solution_of(marked_text(e, Language::NumPy))},
                                 {"function", f.name + "_backward"},
                                 {"calls", calls}};
  const auto [text, status] = output_of(
      fmt::format("timeout 10 {} -B -c {} <{}", shell_word(python()),
                  shell_word(std::string(course_file("mistakes.py"))), shell_word(request)));
  const Json names = Json::parse(text, nullptr, false);
  for (const Json& one : names.is_array() ? names : Json::array())
    if (one.is_object()) return one.value("name", "");
  return "";
}

Verdict check_function_of(const Exercise& e, const ExerciseFunction& f, const Runner& runner,
                          std::uint64_t seed) {
  const auto inputs = drawn_inputs(f, Sizes::Checked, seed);
  const Function glim = reference(f, Sizes::Checked, seed);
  Tensors x;
  std::vector<std::string> names;
  for (const GradcheckInput& input : inputs) {
    x.push_back(input.value);
    names.push_back("d" + input.name);
  }
  foreign::Program program(runner.command(f.name), kSecondsToReply);
  const Function student = program.function(inputs);
  const Tensors y = student.value(x), expected = glim.value(x);
  if (y.size() != 1) return wrong(f.name + " was changed: it returns several values");
  if (y[0].shape() != expected[0].shape())
    return wrong(fmt::format("{} was changed: its result has shape {}, expected {}", f.name,
                             to_string(y[0].shape()), to_string(expected[0].shape())));
  if (const std::string worst = worst_of({"y"}, y, expected); !worst.empty())
    return wrong(f.name + " was changed: it computes something else", worst);
  const Tensors dy{normal(expected[0].shape(), 0, 1, {seed, 1000}, DType::Float64)};
  const std::string worst = worst_of(names, student.gradient(x, dy), glim.gradient(x, dy));
  GradcheckOptions options;
  options.name = f.name;
  options.seed = seed;
  const FunctionReport report = check_function(student, inputs, options);
  if (report && worst.empty()) return runner.compiled() ? right() : check_speed(e, f, runner);
  std::string mistake = report.mistake;
  const bool vague = mistake.empty() || mistake.starts_with("a factor that belongs to");
  if (vague && report.check("form").verdict == CheckVerdict::Passed && !worst.empty())
    if (const std::string name = named_by_trying(e, f, student, seed); !name.empty())
      mistake = name;
  return wrong(
      (e.functions.size() > 1 ? f.name + ": " : "") + (mistake.empty() ? "wrong numbers" : mistake),
      worst);
}

}  // namespace

std::string file_in(const Exercise& e, const std::string& folder) {
  for (const Language language : {Language::NumPy, Language::Cpp})
    if (const fs::path path = fs::path(folder) / file_name(e, language); fs::exists(path))
      return path.string();
  return "";
}

std::string Verdict::text() const {
  switch (state) {
    case State::Right:
      return receipt.empty() ? "right" : "right; receipt " + receipt;
    case State::Slow:
      return fmt::format("right, but slow on larger arrays: {:.0f} times the solution's time",
                         times);
    case State::NotBegun:
      return "not begun" + (mistake.empty() ? "" : ": " + mistake);
    default:
      return "wrong: " + mistake + (worst.empty() ? "" : "; " + worst);
  }
}

Verdict check(const Exercise& e, const std::string& folder, std::uint64_t seed) {
  const double begin = seconds_now();
  Verdict v;
  v.exercise = &e;
  v.file = file_in(e, folder);
  if (v.file.empty()) {
    v.mistake =
        fmt::format("there is no {} (glim course start {})", file_name(e, Language::NumPy), e.name);
    return v;
  }
  const std::string path = v.file, file = fs::path(path).filename().string();
  v = right();
  try {
    if (!fs::is_regular_file(path)) throw Mistaken(file + ": is not a file");
    const Runner runner(e, path);
    for (const ExerciseFunction& f : e.functions) {
      const Verdict one = e.name == "copy_task" ? check_copy_task(e, runner, path, seed)
                          : e.by_hand()         ? check_by_values(f, runner, seed)
                                                : check_function_of(e, f, runner, seed);
      if (v.state == State::Right || !one.right()) v = one;
      if (!v.right()) break;
    }
  } catch (const Mistaken& m) {
    v = wrong(m.text);
  } catch (const ValueError& error) {
    if (error.op() != "--program") throw;
    v = wrong(said(error.problem(), file));
    if (v.mistake.ends_with(": not written yet")) v.state = State::NotBegun;
  }
  v.exercise = &e;
  v.file = path;
  v.seconds = seconds_now() - begin;
  return v;
}

}  // namespace glim::course
