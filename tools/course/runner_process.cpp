#include "tools/course/runner_process.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/system/process.hpp"
#include "tools/common/escape.hpp"

namespace glim::course {

namespace fs = std::filesystem;

std::string python() { return environment("GLIM_PYTHON").value_or("python3"); }

std::pair<std::string, int> output_of(const std::string& command, double seconds) {
  return foreign::Child(command + " 2>&1").finish(seconds);
}

namespace {

constexpr double kSecondsToCompile = 60;
constexpr int kNoProgram = 127;      // the status of a shell that finds none
constexpr double kBusySeconds = 20;  // of processor time: SECONDS_IN_ALL of runner.py

// Flags for <glim/...>: of the build or the installation of this program, or from pkg-config.
std::string glim_flags() {
  const fs::path bin = fs::path(program_path()).parent_path();
  for (const auto& [library, headers] : {std::pair{bin / "../libglim.a", bin / "packaging"},
                                         {bin / "../lib/libglim.a", bin / "../include"}})
    if (fs::exists(library) && fs::exists(headers / "glim"))
      return fmt::format("-I{} {}", shell_word(headers.string()), shell_word(library.string()));
  auto [flags, status] = output_of("pkg-config --cflags --libs glim");
  if (status != 0)
    throw MachineError(
        "exercises in C++ need Glim's library, built (tools/build build) or installed "
        "(tools/install); those in NumPy do not");
  flags.erase(flags.find_last_not_of(" \n") + 1);
  return flags;
}

// "softmax.cpp, line 12: expected ';' before ..."
std::string compiler_error(const std::string& output, const std::string& file) {
  std::size_t error = output.find("error: ");
  if (error == std::string::npos) return file + ": does not compile";
  const std::size_t begin = output.rfind('\n', error) + 1;
  std::string line = output.substr(begin, output.find('\n', error) - begin);
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

// Compiles a file into `folder`. Returns the mistake, or an empty text.
std::string compile(const Exercise& e, const std::string& path, const std::string& parts,
                    const fs::path& folder) {
  const std::string file = fs::path(path).filename().string(),
                    main = (folder / "main.cpp").string();
  std::string functions;
  for (const ExerciseFunction& f : e.functions)
    functions += fmt::format("{{\"{0}\", {{call(::{0}), {1}}}}},", f.name,
                             e.by_hand() ? "{}" : "call(::" + f.name + "_backward)");
  const bool whole = e.name == "copy_task";
  if (whole)
    functions =
        "{\"copy_task\", {[](const Tensors& x) -> Tensors { return {::copy_task(x[0], "
        "{x.begin() + 1, x.end()})}; }, [](const Tensors& x) { return "
        "::copy_task_backward(x[0], x[1], {x.begin() + 2, x.end()}); }}}";
  std::ofstream(folder / "course.hpp") << cpp_header();
  std::ofstream(main) << fmt::format("#define COURSE_FILE \"{}\"\n#define FUNCTIONS {}\n{}",
                                     in_cpp(file), functions, course_file("runner.cpp"));
  const char* compiler = std::getenv("CXX");
  try {
    const auto [text, status] = output_of(
        fmt::format("ulimit -v 3000000; {} -std=c++20 -O1 -o {} -I{} -I{} -DWITHOUT_MAIN {} "
                    "-include {} {} {} -fopenmp -fmax-errors=1",
                    compiler ? compiler : "c++", shell_word((folder / "program").string()),
                    shell_word(folder.string()), shell_word(parts), whole ? "-DCOURSE_WHOLE" : "",
                    shell_word(path), shell_word(main), glim_flags()),
        kSecondsToCompile);
    if (status == kNoProgram)
      throw MachineError("exercises in C++ need a compiler: apt-get install g++");
    return status == 0 ? "" : compiler_error(text, file);
  } catch (const foreign::ProgramError& error) {
    if (error.cause.kind == foreign::ProgramError::Kind::NotStarted) throw;
    return fmt::format("{}: takes more than {} s to compile", file, kSecondsToCompile);
  }
}

}  // namespace

std::string Runner::printed() const {
  constexpr std::size_t kLines = 10, kColumns = 120;
  std::string shown;
  std::istringstream lines(printed_.read());
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (count == kLines) return shown + "\n...";
    line = visible(line);
    if (display_width(line) > kColumns) line = fit_columns(line, kColumns);
    shown += (count ? "\n" : "") + line;
  }
  return shown;
}

Runner::Runner(const Exercise& e, const std::string& path, const std::string& parts)
    : path_(fs::absolute(path).string()), compiled_(path.ends_with(".cpp")) {
  if (!compiled_) {
    std::ofstream(folder_.path / "runner.py", std::ios::binary) << course_file("runner.py");
    return;
  }
  if (!can_confine_programs())
    throw MachineError("exercises in C++ are checked on Linux; those in NumPy here, too");
  const std::string mistake = compile(e, path_, parts, folder_.path);
  if (mistake.empty()) return;
  // Is it the file, or the compiler on this machine?
  const TemporaryFolder folder;
  const Exercise& first = exercises()[0];
  const std::string solution = (folder.path / file_name(first, Language::Cpp)).string();
  std::ofstream(solution) << solution_of(marked_text(first, Language::Cpp));
  if (const std::string error = compile(first, solution, ".", folder.path); !error.empty())
    throw MachineError("not even the solution compiles on this machine: " + error);
  throw Mistaken(mistake);
}

foreign::Program Runner::program(const std::string& function, double seconds,
                                 const std::string& seed, const std::string& frame,
                                 const std::string& mode) const {
  const std::string prints = printed_.name();
  if (compiled_)
    return {shell_command({{"COURSE_PRINTS", prints}, {"OMP_NUM_THREADS", "1"}},
                          {(folder_.path / "program").string(), function, seed}),
            seconds, true};
  std::vector<std::string> words{python(), "-B", (folder_.path / "runner.py").string(), path_,
                                 function};
  if (!frame.empty()) {
    const fs::path file = folder_.path / "frame.py";
    std::ofstream(file, std::ios::binary) << frame;
    words.insert(words.end(), {seed, file.string(), mode});
  }
  return {shell_command({{"COURSE_PRINTS", prints}, {"OPENBLAS_NUM_THREADS", "1"}}, words), seconds,
          true};
}

std::string said(const foreign::ProgramError& error, const std::string& file) {
  using Ending = foreign::ProgramError::Kind;
  const foreign::ProgramError::Cause& cause = error.cause;
  // Nothing in the file has run.
  if (cause.kind == Ending::NotStarted && cause.ending.status == kNoProgram)
    throw MachineError("checks need Python and NumPy: apt-get install python3-numpy");
  if (cause.kind == Ending::NotStarted)
    throw MachineError("the checks do not run on this machine: " +
                       (cause.says.empty() ? cause.problem : cause.says));
  if (!cause.says.empty()) return cause.says;
  // A file that uses too much is ended by the runner's own limits, unless it counts as busy for all of them.
  if (cause.ending.killed && cause.ending.seconds < kBusySeconds)
    throw MachineError("the check was killed from outside (is there too little memory?)");
  if (cause.kind == Ending::Silent) return file + ": gives no reply";
  if (cause.kind == Ending::Signalled)
    return fmt::format("{}: crashed or used too much ({})", file, cause.ending.signal_name);
  if (cause.kind == Ending::Ended) return file + ": ends the program";
  return file + ": " + cause.problem;
}

}  // namespace glim::course
