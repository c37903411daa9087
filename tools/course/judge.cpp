#include "tools/course/judge.hpp"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "autograd/gradcheck/analytic.hpp"
#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"
#include "tensor/random.hpp"
#include "tools/common/ascii.hpp"
#include "tools/common/escape.hpp"
#include "tools/course/adam_check.hpp"
#include "tools/course/runner_process.hpp"
#include "tools/foreign/program.hpp"

namespace glim::course {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The runners have shorter limits of their own, in processor time, and say where a function hangs.
constexpr double kSecondsToReply = 30, kSecondsToTrain = 120, kSecondsToName = 10;
constexpr Index kEqual = 4, kLarge = 9;            // all sizes are 4; one size is 9
constexpr double kSlow = 10, kSlowSeconds = 2e-3;  // times the solution, and that much longer

// The receipt of a model that copies every sentence (copy_task.py).
constexpr const char* kReceipt = "f4ae9bfa06a1edbe";

// The element furthest from what is expected, if it is too far: "dx[1, 0] is 0.7, expected 0.2". `of_largest`: relative to
// the largest element of its array.
std::string worst_of(const std::vector<std::string>& names, const Tensors& is,
                     const Tensors& expected, bool of_largest = false) {
  double most = 1e-6;
  std::string text;
  for (std::size_t k = 0; k < expected.size() && k < is.size(); ++k) {
    if (!expected[k].defined() || !is[k].defined() || is[k].shape() != expected[k].shape())
      continue;
    const auto a = is[k].to(DType::Float64).to_vector<double>(),
               b = expected[k].to_vector<double>();
    const double least = of_largest && !b.empty() ? max(abs(expected[k])).item() : 1;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double off = std::abs(a[i] - b[i]) / std::max({1.0, least, std::abs(b[i])});
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

// `mistake` may quote the student's exception, of any bytes.
Verdict wrong(const std::string& mistake, const std::string& worst = "") {
  return {.state = State::Wrong, .mistake = visible(mistake), .worst = worst};
}

Verdict right() { return {.state = State::Right}; }

double time_of(const Runner& runner, const ExerciseFunction& f) {
  const auto inputs = drawn_inputs(f, extents_of(f, Sizes::Large), 0);
  foreign::Program program = runner.program(f.name, kSecondsToReply);
  program.function(inputs);
  Tensors x;
  for (const GradcheckInput& input : inputs) x.push_back(input.value);
  const Tensor y = reference(f).value(x)[0];
  const Tensor dy = normal(y.shape(), 0, 1, {1, 0}, DType::Float64);
  return program.reply("time", x, {dy}).value("seconds", 0.0);
}

// The student's copy_task_backward: its gradients beside those of the given assembly of the student's other files, then
// whether it learns. In NumPy it is put into the given program.
Verdict check_copy_task(const Exercise& e, const Runner& runner, const std::string& path,
                        std::uint64_t seed) {
  const Language language = runner.compiled() ? Language::Cpp : Language::NumPy;
  const std::string marked = marked_text(e, language), draw = std::to_string(seed),
                    stub = runner.compiled() ? "" : stub_of(marked, language);
  const Tensors dy{scalar(0.75, DType::Float64)};
  foreign::Program program = runner.program(e.name, kSecondsToTrain, draw, stub);
  Tensors x;
  std::vector<std::string> names;
  for (const GradcheckInput& input : program.inputs()) {
    x.push_back(input.value);
    names.push_back("d" + input.name);
  }
  const Tensors y = program.function().value(x), dx = program.function().gradient(x, dy);
  const TemporaryFolder folder;
  const fs::path solution = folder.path / file_name(e, language);
  std::ofstream(solution) << solution_of(marked);
  const Runner model(e, runner.compiled() ? solution.string() : path,
                     fs::path(path).parent_path().string());
  const std::string frame = runner.compiled() ? "" : solution_of(marked);
  foreign::Program original = model.program(e.name, kSecondsToTrain, draw, frame, "own");
  original.inputs();
  if (const std::string worst = worst_of({"y"}, y, original.function().value(x)); !worst.empty())
    return wrong(e.name + " was changed: it computes something else", worst);
  const Tensors expected = original.function().gradient(x, dy);
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
  foreign::Program whole = solved.program(e.name, kSecondsToTrain, draw, frame, "own");
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
  foreign::Program program = runner.program(f.name, kSecondsToReply);
  std::vector<GradcheckInput> names;
  for (const Input& input : f.inputs) names.emplace_back(input.name, Tensor());
  const Called student = program.function(names).value;
  const Found found = f.name == "warm_up" ? check_warm_up(student) : check_adam(student, seed);
  return found.mistake.empty() ? right() : wrong(found.mistake, found.worst);
}

Verdict check_speed(const Exercise& e, const ExerciseFunction& f, const Runner& runner) {
  double baseline = 0;
  {
    const TemporaryFolder folder;
    const fs::path solution = folder.path / file_name(e, Language::NumPy);
    std::ofstream(solution) << solution_of(marked_text(e, Language::NumPy));
    baseline = time_of(Runner(e, solution.string()), f);
  }
  Verdict v = right();
  const double theirs = time_of(runner, f);
  if (theirs > kSlow * baseline && theirs > baseline + kSlowSeconds) {
    v.state = State::Slow;
    v.times = theirs / baseline;
  }
  return v;
}

// The name of a mistake that, made in the solution, gives the student's results at two points (mistakes.py).
std::string named_by_trying(const Exercise& e, const ExerciseFunction& f, const Callbacks& student,
                            std::uint64_t seed) {
  std::string calls;
  for (const std::uint64_t draw : {seed, seed + 1}) {
    Tensors x;
    for (const GradcheckInput& input : drawn_inputs(f, extents_of(f, Sizes::Checked), draw))
      x.push_back(input.value);
    const Tensor y = reference(f).value(x)[0];
    const Tensor dy = normal(y.shape(), 0, 1, {draw, 1000}, DType::Float64);
    std::vector<std::string> arguments{foreign::json_of(dy)}, results;
    for (const Tensor& one : x) arguments.push_back(foreign::json_of(one));
    for (const Tensor& one : student.gradient(x, {dy}))
      if (one.defined()) results.push_back(foreign::json_of(one));
    calls += fmt::format("{}{{\"arguments\": [{}], \"results\": [{}]}}", calls.empty() ? "" : ", ",
                         fmt::join(arguments, ", "), fmt::join(results, ", "));
  }
  const TemporaryFolder folder;
  const fs::path request = folder.path / "request.json", script = folder.path / "mistakes.py";
  std::ofstream(script, std::ios::binary) << course_file("mistakes.py");
  std::ofstream(request) << fmt::format(
      "{{\"solution\": {}, \"function\": \"{}_backward\", \"calls\": [{}]}}",
      Json(solution_of(marked_text(e, Language::NumPy))).dump(), f.name, calls);
  std::string text;
  try {
    text = output_of(shell_command({}, {python(), "-B", script.string()}) + " <" +
                         command_word(request.string()),
                     kSecondsToName)
               .first;
  } catch (const foreign::ProgramError&) {  // it takes too long
    return "";
  }
  const Json names = Json::parse(text, nullptr, false);
  for (const Json& one : names.is_array() ? names : Json::array())
    if (one.is_object()) return one.value("name", "");
  return "";
}

// Both results beside Glim's at one point. Undefined kinds of inputs have no gradient.
struct Compared {
  std::string changed{}, shape{}, worst{};  // of y; of a gradient; of the worst element of one
  bool right() const { return changed.empty() && shape.empty() && worst.empty(); }
  std::string text() const { return !changed.empty() ? changed : !shape.empty() ? shape : worst; }
};

Compared compared_at(const ExerciseFunction& f, const Callbacks& student,
                     const std::vector<GradcheckInput>& inputs, std::uint64_t seed,
                     bool of_largest = false) {
  const Callbacks glim = reference(f);
  Tensors x;
  std::vector<std::string> names;
  for (const GradcheckInput& input : inputs) {
    x.push_back(input.value);
    names.push_back("d" + input.name);
  }
  const Tensors y = student.value(x), expected = glim.value(x);
  Compared c;
  if (y.size() != 1)
    c.changed = "it returns several values";
  else if (y[0].shape() != expected[0].shape())
    c.changed = fmt::format("its result has shape {}, expected {}", to_string(y[0].shape()),
                            to_string(expected[0].shape()));
  else
    c.changed = worst_of({"y"}, y, expected, of_largest);
  if (!c.changed.empty()) return c;
  const Tensors dy{normal(expected[0].shape(), 0, 1, {seed, 1000}, DType::Float64)};
  const Tensors dx = student.gradient(x, dy), right = glim.gradient(x, dy);
  for (std::size_t k = 0; k < dx.size() && c.shape.empty(); ++k)
    if (dx[k].defined() && right[k].defined() && dx[k].shape() != right[k].shape())
      c.shape = fmt::format("{} has shape {}, expected {}", names[k], to_string(dx[k].shape()),
                            to_string(right[k].shape()));
  c.worst = worst_of(names, dx, right, of_largest);
  return c;
}

// Other places in the process that has been checked: other values, other extents for each letter (one more, 1 and a large
// one), the same for all, and large values. Returns the mistake, or an empty text.
std::string wrong_elsewhere(const ExerciseFunction& f, const Runner& runner,
                            const Callbacks& student, std::uint64_t seed) {
  struct Place {
    std::string where;
    std::vector<GradcheckInput> inputs;
    std::string size{};  // for another size: "right for B = 2"
  };
  const Extents checked = extents_of(f, Sizes::Checked);
  std::vector<Place> places{{"other values", drawn_inputs(f, checked, seed + 1)}};
  Extents equal = checked;
  for (const Size& s : f.sizes) equal = resized(equal, s.letter, kEqual);
  for (const Size& s : f.sizes) {
    std::vector<Index> others{s.checked + 1, 1};
    if (others[0] < kLarge) others.push_back(kLarge);
    for (const Index extent : others)
      if (const Extents one = resized(checked, s.letter, extent); one != checked)
        places.push_back(
            {fmt::format("{} = {}", s.letter, one.at(s.letter)), drawn_inputs(f, one, seed + 2),
             fmt::format("{}right for {} = {}",
                         extent == s.checked + 1 ? "a size is written as a number: " : "", s.letter,
                         s.checked)});
  }
  places.push_back({fmt::format("sizes that are all {}", kEqual), drawn_inputs(f, equal, seed + 2),
                    "right for sizes that differ"});
  if (f.large_values > 0)
    places.push_back({fmt::format("values around {}, of which exp alone is infinite",
                                  number_text(f.large_values)),
                      drawn_inputs(f, checked, seed + 3, f.large_values)});
  for (const Place& place : places) {
    std::string is;
    try {
      is = compared_at(f, student, place.inputs, seed, true).text();
    } catch (const foreign::ProgramError& error) {
      is = said(error, f.name);
    }
    if (is.empty()) continue;
    // A process of its own has kept nothing.
    bool right_alone = false;
    try {
      foreign::Program alone = runner.program(f.name, kSecondsToReply);
      right_alone = compared_at(f, alone.function(place.inputs), place.inputs, seed, true).right();
    } catch (const foreign::ProgramError&) {
    }
    if (right_alone)
      return fmt::format(
          "it keeps something of an earlier call: right for {} in a process of its own, and wrong "
          "after another call; {}",
          place.where, is);
    if (!place.size.empty())
      return fmt::format("{}, wrong for {}; {}", place.size, place.where, is);
    return fmt::format("right for the first values, wrong for {}; {}", place.where, is);
  }
  return "";
}

Verdict check_function_of(const Exercise& e, const ExerciseFunction& f, const Runner& runner,
                          std::uint64_t seed) {
  const auto inputs = drawn_inputs(f, extents_of(f, Sizes::Checked), seed);
  foreign::Program program = runner.program(f.name, kSecondsToReply);
  Callbacks student = program.function(inputs);
  student.refuses_misfits = false;  // wrong_elsewhere knows which sizes belong together
  if (!runner.compiled())
    student.rewritten = [&](const Tensors& x, const Tensors& dy) {
      return program.gradient(x, dy, "rewritten");
    };
  const Compared comparison = compared_at(f, student, inputs, seed);
  if (!comparison.changed.empty())
    return wrong(f.name + " was changed: it computes something else", comparison.changed);
  GradcheckOptions options;
  options.name = f.name;
  options.seed = seed;
  // A gradient that equals Glim's has no mistake to name, so one direction is enough.
  if (comparison.right()) options.mode = GradcheckOptions::Mode::Projection;
  const FunctionReport report = check_function(student, inputs, options);
  const std::string prefix = e.functions.size() > 1 ? f.name + ": " : "";
  const bool elsewhere = report.mistake == report.check("elsewhere").detail;
  if (comparison.right() && (report || elsewhere)) {
    const std::string mistake = wrong_elsewhere(f, runner, student, seed);
    if (!mistake.empty()) return wrong(prefix + mistake);
    if (report) return runner.compiled() ? right() : check_speed(e, f, runner);
  }
  std::string mistake = report.mistake;
  const bool vague = mistake.empty() || mistake.starts_with("a factor that belongs to");
  if (vague && comparison.shape.empty() && report.check("form").verdict == CheckVerdict::Passed &&
      !comparison.worst.empty())
    if (const std::string name = named_by_trying(e, f, student, seed); !name.empty())
      mistake = name;
  // A gradient of another shape has no elements to compare: those of the others are not what is wrong.
  return wrong(prefix + (mistake.empty() ? "wrong numbers" : mistake),
               comparison.shape.empty() ? comparison.worst : "");
}

}  // namespace

std::string file_in(const Exercise& e, const std::string& folder) {
  std::error_code none;
  for (const Language language : {Language::NumPy, Language::Cpp})
    if (const fs::path path = fs::path(folder) / file_name(e, language);
        fs::symlink_status(path, none).type() != fs::file_type::not_found)
      return path.string();
  return "";
}

namespace {

// A file of that name in another spelling, or up to two folders down: "hw1/softmax.py", "Softmax (1).py". Empty: none.
std::string similar_file(const Exercise& e, const std::string& folder) {
  std::error_code none;
  int entries = 0;
  for (fs::recursive_directory_iterator i(folder, none), end; i != end && ++entries < 1000;
       i.increment(none)) {
    if (none) break;
    if (i.depth() == 2) i.disable_recursion_pending();
    const std::string name = lower(i->path().filename().string());
    const std::string extension = fs::path(name).extension().string();
    if (name.find(e.name) != name.npos && !name.starts_with("._") &&
        (extension == ".py" || extension == ".cpp" || extension == ".ipynb"))
      return i->path().lexically_relative(folder).string();
  }
  return "";
}

}  // namespace

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
    const std::string expected = file_name(e, Language::NumPy);
    v.similar = similar_file(e, folder);
    v.mistake =
        v.similar.empty()
            ? fmt::format("there is no {} (glim course start {})", expected, e.name)
            : fmt::format("there is no {}, but {}: hand it in under that name, in no folder",
                          expected, visible(v.similar));
    return v;
  }
  const std::string path = v.file, file = fs::path(path).filename().string();
  v = right();
  std::optional<Runner> runner;
  try {
    std::error_code none;
    if (!fs::is_regular_file(path, none)) throw Mistaken(file + ": is not a file");
    if (std::ifstream in{fs::path(path)}; !in.is_open() || (in.peek(), in.bad()))
      throw MachineError(path + ": cannot be read");
    runner.emplace(e, path);
    for (const ExerciseFunction& f : e.functions) {
      const Verdict one = e.name == "copy_task" ? check_copy_task(e, *runner, path, seed)
                          : e.by_hand()         ? check_by_values(f, *runner, seed)
                                                : check_function_of(e, f, *runner, seed);
      if (v.state == State::Right || !one.right()) v = one;
      if (!v.right()) break;
    }
  } catch (const Mistaken& m) {
    v = wrong(m.text);
  } catch (const foreign::ProgramError& error) {
    v = wrong(said(error, file));
    if (v.mistake.ends_with(": not written yet")) v.state = State::NotBegun;
  }
  v.exercise = &e;
  v.file = path;
  if (runner) v.printed = runner->printed();
  v.seconds = seconds_now() - begin;
  return v;
}

}  // namespace glim::course
