#include "tools/course/judge.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/print.hpp"
#include "tensor/random.hpp"
#include "tools/course/adam_check.hpp"
#include "tools/foreign/program.hpp"

namespace glim::course {
namespace {

namespace fs = std::filesystem;

constexpr double kSecondsToReply = 8;              // the runner's own limit is shorter
constexpr double kSlow = 10, kSlowSeconds = 2e-3;  // times the solution, and that much longer

// Of a model that copies every sentence (copy_task.py).
constexpr const char* kReceipt = "f4ae9bfa06a1edbe";

struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "glim-course-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw FileError("course", "no temporary folder can be made");
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

std::string in_shell(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// What a command prints, and its status.
std::pair<std::string, int> output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {"", -1};
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  return {text, ::pclose(pipe)};
}

// How a program that includes <glim/...> is compiled: against the build that this program is of, or what is installed.
std::string glim_flags() {
  std::error_code none;
  const fs::path tools = fs::read_symlink("/proc/self/exe", none).parent_path(),
                 library = tools.parent_path() / "libglim.a", headers = tools / "packaging";
  if (fs::exists(library) && fs::exists(headers / "glim"))
    return fmt::format("-I{} {}", in_shell(headers.string()), in_shell(library.string()));
  auto [flags, status] = output_of("pkg-config --cflags --libs glim");
  if (status != 0)
    throw ValueError("course",
                     "exercises in C++ need Glim's library, built (tools/build build) or "
                     "installed; those in NumPy do not");
  flags.erase(flags.find_last_not_of(" \n") + 1);
  return flags;
}

struct Mistaken : std::exception {
  explicit Mistaken(std::string what) : text(std::move(what)) {}
  std::string text;
};

// "softmax.cpp, line 12: expected ';' before ..."
std::string compiler_error(const std::string& output, const std::string& file) {
  std::size_t at = output.find("error: ");
  if (at == std::string::npos) return file + ": does not compile";
  const std::size_t from = output.rfind('\n', at) + 1;
  std::string line = output.substr(from, output.find('\n', at) - from);
  if (const std::size_t none = line.find("has not been declared"); none != std::string::npos)
    if (const std::size_t name = line.find("::");
        name != std::string::npos && line.find(file) == std::string::npos)
      return file + ": there is no function " +
             line.substr(name + 2, line.find("\u2019") - name - 2);
  const std::size_t name = line.find(file + ":");
  const std::string number = name == std::string::npos ? "" : line.substr(name + file.size() + 1);
  return fmt::format("{}{}: {}", file,
                     number.empty() ? "" : ", line " + number.substr(0, number.find(':')),
                     line.substr(line.find("error: ") + 7));
}

// What runs the functions of a file.
class Runner {
 public:
  Runner(const Exercise& e, const std::string& path) : path_(fs::absolute(path).string()) {
    if (!path.ends_with(".cpp")) return;
    folder_ = std::make_unique<TemporaryFolder>();
    const std::string file = fs::path(path).filename().string(),
                      main = (folder_->path / "main.cpp").string();
    std::string functions;
    for (const ExerciseFunction& f : e.functions)
      functions += fmt::format("{{\"{0}\", {{call(::{0}), {1}}}}},", f.name,
                               e.by_hand() ? "{}" : "call(::" + f.name + "_backward)");
    std::ofstream(folder_->path / "course.hpp") << cpp_header();
    std::ofstream(main) << fmt::format(
        "#include \"{}\"\n#define COURSE_FILE \"{}\"\n#define FUNCTIONS {}\n{}", path_, file,
        functions, course_file("runner.cpp"));
    const char* compiler = std::getenv("CXX");
    const auto [text, status] = output_of(
        fmt::format("{} -std=c++20 -O1 -o {} -I{} {} {} -fopenmp -fmax-errors=1",
                    compiler ? compiler : "c++", in_shell((folder_->path / "program").string()),
                    in_shell(folder_->path.string()), in_shell(main), glim_flags()));
    if (text.find("not found") != std::string::npos && text.find("error: ") == std::string::npos)
      throw ValueError("course", "exercises in C++ need a compiler: apt-get install g++");
    if (status != 0) throw Mistaken(compiler_error(text, file));
  }
  // `given` is a program in which the student's function is put, or which has its `own`.
  std::string command(const std::string& function, const std::string& given = "",
                      const std::string& own = "") const {
    if (folder_)
      return fmt::format("OMP_NUM_THREADS=1 exec {} {}",
                         in_shell((folder_->path / "program").string()), function);
    const char* python = std::getenv("GLIM_PYTHON");
    return fmt::format("OPENBLAS_NUM_THREADS=1 exec {} -B -c {} {} {}",
                       in_shell(python ? python : "python3"),
                       in_shell(std::string(course_file("runner.py"))), in_shell(path_),
                       function + (given.empty() ? "" : " " + in_shell(given) + " " + own));
  }
  bool compiled() const { return folder_ != nullptr; }

 private:
  std::string path_;
  std::unique_ptr<TemporaryFolder> folder_;
};

// What the runner says, of an error of Program.
std::string said(const std::string& problem, const std::string& file) {
  const std::string says = ", and says: ";
  if (const std::size_t at = problem.rfind(says); at != std::string::npos) {
    const std::string text = problem.substr(at + says.size());
    if (text.find("NumPy is missing") == 0 || text.find("not found") != std::string::npos)
      throw ValueError("course", "checks need Python and NumPy: apt-get install python3-numpy");
    return text;
  }
  auto has = [&](const char* words) { return problem.find(words) != std::string::npos; };
  if (has("no reply within"))
    return file + ": has not ended after 30 s: does it wait for something?";
  if (has("was ended by a signal"))
    return file + ": crashed or used too much" + problem.substr(problem.rfind(" ("));
  if (has("ended with status")) return file + ": ends the program";
  return file + ": " + problem.substr(problem.rfind(": ") + 2);
}

std::string in_brackets(const Shape& index) {
  std::string text;
  for (Index i : index) text += (text.empty() ? "[" : ", ") + std::to_string(i);
  return text + "]";
}

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
      text =
          fmt::format("{}{} is {}, expected {}", names[k], index.rank() ? in_brackets(index) : "",
                      number_text(a[i], 4), number_text(b[i], 4));
    }
  }
  return text;
}

Verdict wrong(const std::string& mistake, const std::string& worst = "") {
  Verdict v;
  v.state = State::Wrong;
  v.mistake = mistake;
  v.worst = worst;
  return v;
}

Verdict right() {
  Verdict v;
  v.state = State::Right;
  return v;
}

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

// The student's copy_task_backward in the given program: its gradients, then whether it learns.
Verdict check_copy_task(const Exercise& e, const Runner& runner, std::uint64_t seed) {
  if (runner.compiled()) throw Mistaken("this exercise is in NumPy alone");
  const std::string marked = marked_text(e, Language::NumPy),
                    function = fmt::format("{} {}", e.name, seed);
  Tensors x, dx, expected;
  std::vector<std::string> names;
  const Tensors dy{scalar(0.75, DType::Float64)};
  foreign::Program program(runner.command(function, stub_of(marked, Language::NumPy)),
                           kSecondsToReply);
  for (const GradcheckInput& input : program.inputs()) {
    x.push_back(input.value);
    names.push_back("d" + input.name);
  }
  program.function().value(x);
  dx = program.function().gradient(x, dy);
  {
    foreign::Program own(runner.command(function, solution_of(marked), "own"), kSecondsToReply);
    own.inputs();
    own.function().value(x);
    expected = own.function().gradient(x, dy);
  }
  for (std::size_t k = names.size(); k-- > 0;) {  // as backward goes
    if (!expected[k].defined()) continue;
    if (dx[k].shape() != expected[k].shape())
      return wrong(fmt::format("{} has shape {}, expected {}", names[k], to_string(dx[k].shape()),
                               to_string(expected[k].shape())));
    if (const std::string worst = worst_of({names[k]}, {dx[k]}, {expected[k]}); !worst.empty())
      return wrong("the first wrong gradient on the way back is " + names[k], worst);
  }
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
  FunctionOptions options;
  options.name = f.name;
  options.seed = seed;
  const FunctionReport report = check_function(student, inputs, options);
  if (report && worst.empty()) return runner.compiled() ? right() : check_speed(e, f, runner);
  return wrong((e.functions.size() > 1 ? f.name + ": " : "") +
                   (report.mistake.empty() ? "wrong numbers" : report.mistake),
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
      return fmt::format("right, but slow: {:.0f} times the time of the solution", times);
    case State::NotBegun:
      return "not begun" + (mistake.empty() ? "" : ": " + mistake);
    default:
      return "wrong: " + mistake + (worst.empty() ? "" : "; " + worst);
  }
}

Verdict check(const Exercise& e, const std::string& folder, std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
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
    const Runner runner(e, path);
    for (const ExerciseFunction& f : e.functions) {
      const Verdict one = e.name == "copy_task" ? check_copy_task(e, runner, seed)
                          : e.by_hand()         ? check_by_values(f, runner, seed)
                                                : check_function_of(e, f, runner, seed);
      if (v.state == State::Right) v = one;
      if (!one.right()) {
        v = one;
        break;
      }
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
  v.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return v;
}

}  // namespace glim::course
