// glim course: exercises cut from the source, checked in a process of their own.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/ascii.hpp"
#include "tools/common/folder.hpp"
#include "tools/course/handout.hpp"
#include "tools/course/report.hpp"

namespace glim {
namespace course {
namespace {

namespace fs = std::filesystem;

struct CourseArguments {
  std::vector<std::string> words;
  Handout handout;
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
  const std::string text(course_file(e.name + ".md"));
  if (text.empty() || fs::exists(page)) return;
  write_new(page, text);
  const std::size_t end = text.find(".svg)"), begin = text.rfind('(', end) + 1;
  if (end == std::string::npos) return;
  const std::string name = text.substr(begin, end + 4 - begin);
  if (!fs::exists(fs::path(a.folder) / name))
    write_new(fs::path(a.folder) / name, std::string(course_file(name)));
}

void hint(const CourseArguments& a, const Exercise& e) {
  if (a.level < 3) return print((a.level == 1 ? e.look : e.term) + "\n");
  const bool cpp = a.language == "cpp" || file_in(e, a.folder).ends_with(".cpp");
  print(answers_of(marked_text(e, cpp ? Language::Cpp : Language::NumPy)));
}

void write(const CourseArguments& a, const std::string& text) {
  if (a.out.empty()) return print(text);
  write_file_atomically(a.out, text);
  say(a.out);
}

// A check that cannot be made is no verdict about the student: it writes none, and ends with another status.
constexpr int kNotChecked = 3;

std::vector<Verdict> check_all(const std::vector<const Exercise*>& exercises,
                               const std::string& folder, std::uint64_t seed) {
  std::vector<Verdict> all;
  try {
    for (const Exercise* e : exercises) all.push_back(check(*e, folder, seed));
    return all;
  } catch (const Error& e) {
    report_error(e.one_line());
  } catch (const std::bad_alloc&) {
    report_error("out of memory");
  }
  throw Exit(kNotChecked);
}

void run_check(const CourseArguments& a, const std::vector<const Exercise*>& exercises) {
  const std::vector<Verdict> verdicts = check_all(exercises, a.folder, a.seed);
  write(a, a.format == "json"         ? to_json(verdicts)
           : a.format == "junit"      ? to_junit(verdicts)
           : a.format == "gradescope" ? to_gradescope(verdicts)
                                      : to_text(verdicts));
  if (a.words[0] == "check" && !std::ranges::all_of(verdicts, &Verdict::right)) throw Exit(1);
}

// Names in the order of this key have "anna9" before "anna10".
std::string natural_key(const fs::path& folder) {
  std::string key, digits;
  for (const char c : folder.filename().string() + '\0') {
    if (is_digit(c)) {
      digits += c;
      continue;
    }
    if (!digits.empty())
      key += std::string(20 - std::min<std::size_t>(digits.size(), 20), '0') + digits;
    digits.clear();
    key += c;
  }
  return key;
}

void run_class(const CourseArguments& a, const std::vector<const Exercise*>& all) {
  if (a.format != "text" && a.format != "json")
    throw UsageError("course class: --format text or json");
  std::vector<fs::path> folders;
  if (!fs::is_directory(a.words[1])) throw FileError("course", a.words[1] + ": no such folder");
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(a.words[1]))
    if (entry.symlink_status(none).type() == fs::file_type::directory &&
        !entry.path().filename().string().starts_with('.'))
      folders.push_back(entry.path());
  if (folders.empty())
    throw ValueError("course", a.words[1] + ": has no folder; a class has one for each student");
  std::ranges::sort(folders, {}, natural_key);
  std::vector<Submission> submissions;
  for (const fs::path& folder : folders)
    submissions.push_back({folder.filename().string(), check_all(all, folder.string(), a.seed)});
  write(a, a.format == "json" ? to_json(submissions) : to_text(submissions));
}

void run_handout(const CourseArguments& a) {
  Handout h = a.handout;
  for (const auto& [value, option] : {std::pair{&h.model, "--model"}, {&h.sentence, "--sentence"}})
    if (value->empty()) throw UsageError(std::string("course handout: give ") + option);
  h.folder = a.out.empty() ? "handout" : a.out;
  write_handout(h);
  const bool pdf = fs::exists(fs::path(h.folder) / "handout.pdf");  // pdflatex was there
  say(h.folder + ": handout." + (pdf ? "pdf" : "html") + ", page/inspect.html and deck.html");
}

void run_course(const CourseArguments& a) {
  const std::string& action = a.words[0];
  const bool alone = action == "list" || action == "progress" || action == "handout",
             named = action == "start" || action == "hint" || action == "class";
  if (action == "gradescope" || action == "nbgrader" || action == "otter")
    throw UsageError("course " + action + ": the Python package makes it: python3 -m glim.course " +
                     action + (action == "gradescope" ? " WHEEL" : " EXERCISE"));
  if (!alone && !named && action != "check")
    throw UsageError("course: '" + action +
                     "' is not one of list, start, check, hint, progress, class, handout");
  const std::size_t most = alone ? 1 : 2;
  if (a.words.size() > most)
    throw UsageError("course " + action +
                     (alone ? " takes no exercise: leave out '" : " takes one: leave out '") +
                     a.words[most] + "'");
  if (named && a.words.size() < 2)
    throw UsageError("course " + action +
                     (action == "class" ? ": name a folder"
                                        : ": name an exercise; glim course list names them"));
  if (action == "handout") return run_handout(a);
  if (action != "start" && action != "class" && !fs::is_directory(a.folder))
    throw FileError("--folder", a.folder + ": no such folder");
  std::vector<const Exercise*> all;
  for (const Exercise& e : exercises()) all.push_back(&e);
  if (action == "class") return run_class(a, all);
  if (action == "list") {
    for (const Exercise* e : all)
      print(fmt::format("{:>2}  {:<16} {:<36} {}\n", e->number, e->name, e->title,
                        file_in(*e, a.folder).empty() ? "not begun" : "begun"));
    return;
  }
  if (a.words.size() < 2) return run_check(a, all);
  const Exercise& e = exercise_of(a.words[1]);
  if (action == "start") return start(a, e);
  if (action == "hint") return hint(a, e);
  run_check(a, {&e});
}

}  // namespace
}  // namespace course

Command course_command() {
  auto a = std::make_shared<course::CourseArguments>();
  Command c("course", "exercises: write backward passes, and have the mistakes named");
  c.computes = false;
  c.argument(
       "action", &a->words,
       "list, start N, check [N], hint N, progress, class FOLDER or handout; N is a number or a "
       "name")
      .required = true;
  c.option("folder", &a->folder, "folder with the student's files");
  c.option("language", &a->language, "of the file that start writes").choices = {"numpy", "cpp"};
  c.option("solution", &a->solution, "start writes the solution");
  c.option("level", &a->level, "of a hint: what to look at, which term, the lines", {1, 3});
  c.option("seed", &a->seed, "draws the inputs of a check", kCount);
  c.option("format", &a->format, "of the results").choices = {"text", "json", "junit",
                                                              "gradescope"};
  c.option("out", &a->out, "file for the results, or folder of the hand-out");
  c.option("model", &a->handout.model, "of a hand-out: a model's folder");
  c.option("sentence", &a->handout.sentence, "of a hand-out: the sentence to read");
  c.option("translation", &a->handout.translation, "of it, if it is not the model's own");
  c.run = [a](Command&) { course::run_course(*a); };
  return c;
}

}  // namespace glim
