#include "tools/course/runner_process.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sys/wait.h>

#include "tensor/error.hpp"
#include "tools/common/escape.hpp"

namespace glim::course {

namespace fs = std::filesystem;

std::string python() {
  const char* chosen = std::getenv("GLIM_PYTHON");
  return chosen ? chosen : "python3";
}

std::pair<std::string, int> output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {"", -1};
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  return {text, ::pclose(pipe)};
}

namespace {

// How a program that includes <glim/...> is compiled: against the build that this program is of, or what is installed.
std::string glim_flags() {
  std::error_code none;
  const fs::path tools = fs::read_symlink("/proc/self/exe", none).parent_path(),
                 library = tools.parent_path() / "libglim.a", headers = tools / "packaging";
  if (fs::exists(library) && fs::exists(headers / "glim"))
    return fmt::format("-I{} {}", shell_word(headers.string()), shell_word(library.string()));
  auto [flags, status] = output_of("pkg-config --cflags --libs glim");
  if (status != 0)
    throw ValueError("course",
                     "exercises in C++ need Glim's library, built (tools/build build) or "
                     "installed; those in NumPy do not");
  flags.erase(flags.find_last_not_of(" \n") + 1);
  return flags;
}

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

}  // namespace

Runner::Runner(const Exercise& e, const std::string& path, const std::string& parts)
    : path_(fs::absolute(path).string()) {
  if (!path.ends_with(".cpp")) return;
  folder_ = std::make_unique<TemporaryFolder>();
  const std::string file = fs::path(path).filename().string(),
                    main = (folder_->path / "main.cpp").string();
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
  std::ofstream(folder_->path / "course.hpp") << cpp_header();
  std::ofstream(main) << fmt::format("#define COURSE_FILE \"{}\"\n#define FUNCTIONS {}\n{}",
                                     in_cpp(file), functions, course_file("runner.cpp"));
  const char* compiler = std::getenv("CXX");
  const auto [text, status] = output_of(fmt::format(
      "ulimit -v 3000000; timeout -k 1 60 {} -std=c++20 -O1 -o {} -I{} -I{} -DWITHOUT_MAIN {} "
      "-include {} {} {} -fopenmp -fmax-errors=1",
      compiler ? compiler : "c++", shell_word((folder_->path / "program").string()),
      shell_word(folder_->path.string()), shell_word(parts), whole ? "-DCOURSE_WHOLE" : "",
      shell_word(path_), shell_word(main), glim_flags()));
  constexpr int kTooLong = 124, kNoProgram = 127;
  if (WEXITSTATUS(status) == kNoProgram)
    throw ValueError("course", "exercises in C++ need a compiler: apt-get install g++");
  if (WEXITSTATUS(status) == kTooLong) throw Mistaken(file + ": takes more than 60 s to compile");
  if (status != 0) throw Mistaken(compiler_error(text, file));
}

std::string Runner::command(const std::string& function, const std::string& given,
                            const std::string& own) const {
  if (folder_)
    return fmt::format("OMP_NUM_THREADS=1 exec {} {}",
                       shell_word((folder_->path / "program").string()), function);
  return fmt::format("OPENBLAS_NUM_THREADS=1 exec {} -B -c {} {} {}", shell_word(python()),
                     shell_word(std::string(course_file("runner.py"))), shell_word(path_),
                     function + (given.empty() ? "" : " " + shell_word(given) + " " + own));
}

std::string said(const std::string& problem, const std::string& file) {
  const std::string says = ", and says: ";
  if (const std::size_t at = problem.rfind(says); at != std::string::npos) {
    const std::string text = problem.substr(at + says.size());
    // The runner's own words, and the shell's; a student's are behind the name of a file.
    if (text.starts_with("NumPy is missing") ||
        (text.starts_with("sh: ") && text.ends_with("not found")))
      throw ValueError("course", "checks need Python and NumPy: apt-get install python3-numpy");
    return text;
  }
  auto has = [&](const char* words) { return problem.find(words) != std::string::npos; };
  if (has("no reply within")) return file + ": gives no reply";
  if (has("was ended by a signal"))
    return file + ": crashed or used too much" + problem.substr(problem.rfind(" ("));
  if (has("ended with status")) return file + ": ends the program";
  return file + ": " + problem.substr(problem.rfind(": ") + 2);
}

}  // namespace glim::course
