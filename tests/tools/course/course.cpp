// Each exercise: its solution is right, its stub is not written, and mistakes are named. Without Python and NumPy
// some cases test nothing; course.sh says so.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tools/course/report.hpp"

namespace test_course {

using namespace glim;
using namespace glim::course;
namespace fs = std::filesystem;

namespace {

bool has_numpy() {
  return std::system("${GLIM_PYTHON:-python3} -c 'import numpy' 2>/dev/null") == 0;
}

struct Folder {
  Folder() {
    static int count = 0;
    path = fs::temp_directory_path() /
           ("test-course-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const Exercise& e, const std::string& text) const {
    std::ofstream(path / file_name(e, Language::NumPy)) << text;
  }
  fs::path path;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Verdict verdict_of(const std::string& name, const std::string& from, const std::string& to) {
  const Exercise& e = exercise_of(name);
  const Folder folder;
  folder.write(e, replaced(solution_of(marked_text(e, Language::NumPy)), from, to));
  return check(e, folder.path.string(), 0);
}

}  // namespace

TEST_CASE("There are twelve exercises, each with a title and hints") {
  REQUIRE(exercises().size() == 12);
  for (const Exercise& e : exercises()) {
    CHECK(!e.title.empty());
    CHECK(!e.look.empty());
    CHECK(!e.term.empty());
    CHECK(&exercise_of(std::to_string(e.number)) == &e);
    CHECK(&exercise_of(e.name) == &e);
  }
  CHECK_THROWS_AS(exercise_of("softmaxx"), ValueError);
  CHECK_THROWS_AS(exercise_of("13"), ValueError);
}

TEST_CASE("A stub has the forward pass and no line of the answers") {
  for (const Exercise& e : exercises())
    for (const Language language : {Language::NumPy, Language::Cpp}) {
      const std::string marked = marked_text(e, language);
      if (marked.empty()) continue;
      const std::string stub = stub_of(marked, language), answers = answers_of(marked);
      CAPTURE(e.name, stub);
      CHECK(!answers.empty());
      CHECK(solution_of(marked).find(answers.substr(0, answers.find('\n'))) != std::string::npos);
      CHECK(stub.find(answers) == std::string::npos);
      CHECK(stub.find(language == Language::Cpp ? "throw" : "raise NotImplementedError") !=
            std::string::npos);
      for (const std::string& text : {stub, solution_of(marked)}) {
        CHECK(text.find("# answer") == std::string::npos);
        CHECK(text.find("// answer") == std::string::npos);
        CHECK(text.find("# end") == std::string::npos);
      }
    }
}

TEST_CASE("Programs take all sizes from their inputs") {
  for (const Exercise& e : exercises()) {
    if (e.by_hand()) continue;
    for (const ExerciseFunction& f : e.functions)
      for (const Language language : {Language::NumPy, Language::Cpp})
        for (const Size& s : f.sizes) {
          const std::string text = marked_text(e, language), size = std::to_string(s.recorded);
          if (s.recorded < 10) continue;
          CAPTURE(e.name, size, text);
          CHECK(text.find(size + ",") == std::string::npos);
          CHECK(text.find(size + ")") == std::string::npos);
        }
  }
}

TEST_CASE("Inputs are drawn by the seed") {
  const ExerciseFunction& f = exercise_of("masks").functions[0];
  const Extents of = extents_of(f, Sizes::Checked);
  const auto a = drawn_inputs(f, of, 1), b = drawn_inputs(f, of, 1), c = drawn_inputs(f, of, 2);
  for (std::size_t k = 0; k < a.size(); ++k) {
    CHECK(same_bits(a[k].value, b[k].value));
    CHECK(!same_bits(a[k].value, c[k].value));
  }
}

TEST_CASE("Mistakes are named, with the worst element and both values") {
  if (!has_numpy()) return;
  Verdict v = verdict_of("softmax", "(dy - (dy * y).sum(1, keepdims=True))", "dy");
  CHECK(v.state == State::Wrong);
  CHECK(v.mistake.starts_with("a term missing"));
  CHECK(v.worst.starts_with("dx["));
  CHECK(v.worst.find("expected") != std::string::npos);
  v = verdict_of("sums", "dy.sum((0, 1))", "dy");
  CHECK(v.mistake.starts_with("a broadcast not summed"));
  v = verdict_of("linear", "dx = dy @ weight", "dx = -dy @ weight");
  CHECK(v.state == State::Wrong);
  v = verdict_of("residual", "dx = dy + ", "dx = ");
  CHECK(v.mistake.starts_with("pre_norm: "));
  v = verdict_of("softmax", "return e /", "return 2 * e /");
  CHECK(v.mistake == "softmax was changed: it computes something else");
  CHECK(v.worst.starts_with("y["));
}

TEST_CASE("A loop is right, and slow") {
  if (!has_numpy()) return;
  const Verdict v =
      verdict_of("softmax", "    dx = y",
                 "    for i in range(x.shape[0]):\n"
                 "        for j in range(x.shape[1]):\n"
                 "            sum(float(dy[i, k] * y[i, k]) for k in range(x.shape[1]))\n"
                 "    dx = y");
  CHECK(v.state == State::Slow);
  CHECK(v.times > 10);
  CHECK(v.right());
}

TEST_CASE("Reports have every verdict") {
  Verdict right, wrong;
  right.exercise = &exercise_of("sums");
  right.state = State::Right;
  wrong.exercise = &exercise_of("softmax");
  wrong.state = State::Wrong;
  wrong.file = "softmax.py";
  wrong.mistake = "softmax.py, line 7: <\"&\xff>";
  wrong.printed = "(3, 5)\n0.5";
  const std::vector<Verdict> both{right, wrong};
  CHECK(to_json(both).find("\"score\": 0") != std::string::npos);
  CHECK(to_gradescope(both).find("\"status\": \"failed\"") != std::string::npos);
  CHECK(to_junit(both).find("failures=\"1\"") != std::string::npos);
  CHECK(to_junit(both).find("<\"&") == std::string::npos);
  CHECK(to_text(both).ends_with("\n    prints  (3, 5)\n    prints  0.5\n"));
  CHECK(to_json(both).find("(3, 5)\\n0.5") != std::string::npos);
  CHECK(to_gradescope(both).find("prints  (3, 5)\\nprints  0.5") != std::string::npos);
  const std::string table = to_text(std::vector<Submission>{{"ada", both}, {"李", both}});
  CHECK(table.starts_with("2 students: + right, ~ slow, x wrong, . not begun\n\n     1  2  3 "));
  CHECK(table.find("\nada  +  x\n李   +  x\n") != std::string::npos);
  CHECK(table.find("2  wrong: <\"&\xff>  (all 2)\n") != std::string::npos);
}

}  // namespace test_course
