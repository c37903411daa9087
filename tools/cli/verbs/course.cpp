// glim course: exercises cut from the source, checked in a process of their own.
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/cli/verbs/verbs.hpp"
#include "tools/common/folder.hpp"
#include "tools/course/judge.hpp"

namespace glim {
namespace {

using namespace course;
namespace fs = std::filesystem;

struct CourseArguments {
  std::vector<std::string> words;
  std::string language = "numpy", folder = ".", format = "text", out;
  std::uint64_t seed = 0;
  int level = 1;
  bool solution = false;
};

void write_new(const fs::path& path, const std::string& text) {
  if (fs::exists(path))
    throw ValueError("course", path.string() + ": exists already, and is left as it is");
  write_file_atomically(path.string(), text);
  say(path.string());
}

void start(const CourseArguments& a, const Exercise& e) {
  const Language language = a.language == "cpp" ? Language::Cpp : Language::NumPy;
  const std::string marked = marked_text(e, language);
  if (marked.empty()) throw ValueError("course", e.name + " is not part of this build");
  make_folder(a.folder);
  write_new(fs::path(a.folder) / file_name(e, language),
            a.solution ? solution_of(marked) : stub_of(marked, language));
  const fs::path header = fs::path(a.folder) / "course.hpp";
  if (language == Language::Cpp && !fs::exists(header)) write_new(header, cpp_header());
  const fs::path page = fs::path(a.folder) / (e.name + ".md");
  if (const std::string_view text = course_file(e.name + ".md"); !text.empty() && !fs::exists(page))
    write_new(page, std::string(text));
}

void hint(const CourseArguments& a, const Exercise& e) {
  if (a.level < 3) return print((a.level == 1 ? e.look : e.term) + "\n");
  const bool cpp = a.language == "cpp" || file_in(e, a.folder).ends_with(".cpp");
  print(answers_of(marked_text(e, cpp ? Language::Cpp : Language::NumPy)));
}

nlohmann::ordered_json json_of(const Verdict& v) {
  constexpr const char* kStates[] = {"not begun", "wrong", "slow", "right"};
  return {{"number", v.exercise->number},
          {"exercise", v.exercise->name},
          {"state", kStates[static_cast<int>(v.state)]},
          {"right", v.right()},
          {"message", v.text()},
          {"mistake", v.mistake},
          {"worst", v.worst},
          {"seconds", v.seconds}};
}

void check_all(const CourseArguments& a, const std::vector<const Exercise*>& wanted) {
  std::string text;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  bool right = true;
  for (const Exercise* e : wanted) {
    const Verdict v = check(*e, a.folder, a.seed);
    if (v.file.empty() && wanted.size() == 1)
      throw ValueError("course", fmt::format("there is no {} in {}: glim course start {}",
                                             file_name(*e, Language::NumPy), a.folder, e->name));
    right = right && v.right();
    text += fmt::format("{:>2}  {:<16} {}\n", e->number, e->name, v.text());
    list.push_back(json_of(v));
  }
  if (a.format == "json") text = list.dump(1) + "\n";
  if (a.out.empty())
    print(text);
  else
    write_file_atomically(a.out, text);
  if (!right) throw Exit(1);
}

void run_course(const CourseArguments& a) {
  const std::string& action = a.words[0];
  std::vector<const Exercise*> all;
  for (const Exercise& e : exercises()) all.push_back(&e);
  if (a.words.size() > 2)
    throw UsageError("course " + action + " takes one exercise: leave out '" + a.words[2] + "'");
  if (action == "list") {
    std::string text;
    for (const Exercise* e : all)
      text += fmt::format("{:>2}  {:<16} {:<44} {}\n", e->number, e->name, e->title,
                          file_in(*e, a.folder).empty() ? "" : "begun");
    return print(text);
  }
  if (action == "progress" || (action == "check" && a.words.size() == 1)) return check_all(a, all);
  if (a.words.size() < 2)
    throw UsageError("course " + action + ": name an exercise; glim course list names them");
  const Exercise& e = exercise_of(a.words[1]);
  if (action == "start") return start(a, e);
  if (action == "hint") return hint(a, e);
  if (action == "check") return check_all(a, {&e});
  throw UsageError("course: '" + action + "' is not one of list, start, check, hint, progress");
}

}  // namespace

Command course_command() {
  auto a = std::make_shared<CourseArguments>();
  Command c("course", "exercises: write backward passes, and have the mistakes named");
  c.argument("action", &a->words,
             "list, start N, check [N], hint N or progress; N is a number or a name")
      .required = true;
  c.option("folder", &a->folder, "folder with the student's files");
  c.option("language", &a->language, "of the file that start writes").choices = {"numpy", "cpp"};
  c.option("solution", &a->solution, "start writes the solution");
  c.option("level", &a->level, "of a hint: what to look at, which term, the lines", {1, 3});
  c.option("seed", &a->seed, "draws the inputs of a check", kCount);
  c.option("format", &a->format, "of the results").choices = {"text", "json"};
  c.option("out", &a->out, "file for the results");
  c.run = [a](Command&) { run_course(*a); };
  return c;
}

}  // namespace glim
