#include "tools/course/report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/utf8.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/escape.hpp"

namespace glim::course {
namespace {

using Json = nlohmann::ordered_json;

// Text of a student may be no UTF-8.
std::string dumped(const Json& j) { return in_json(j, 1) + "\n"; }

std::string_view name_of(State s) {
  constexpr std::string_view kNames[] = {"not begun", "wrong", "slow", "right"};
  return kNames[static_cast<int>(s)];
}

Json json_of(const Verdict& v) {
  return {{"number", v.exercise->number},
          {"exercise", v.exercise->name},
          {"state", name_of(v.state)},
          {"score", v.right() ? 1 : 0},
          {"max_score", 1},
          {"message", v.text()},
          {"mistake", v.mistake},
          {"worst", v.worst},
          {"printed", v.printed},
          {"seconds", v.seconds}};
}

}  // namespace

// The verdict, and below it what the file has printed.
std::string with_prints(const Verdict& v, const std::string& before) {
  std::string text = v.text(), lines = v.printed;
  if (lines.empty()) return text;
  for (std::size_t end = 0; (end = lines.find('\n', end)) != lines.npos; end += before.size() + 1)
    lines.insert(end + 1, before);
  return text + "\n" + before + lines;
}

std::string to_text(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& v : verdicts)
    text += fmt::format("{:>2}  {:<16} {}\n", v.exercise->number, v.exercise->name,
                        with_prints(v, "    prints  "));
  return text;
}

std::string to_json(const std::vector<Verdict>& verdicts) {
  Json list = Json::array();
  for (const Verdict& v : verdicts) list.push_back(json_of(v));
  return dumped({{"exercises", list}});
}

std::string to_junit(const std::vector<Verdict>& verdicts) {
  std::string cases;
  double seconds = 0;
  for (const Verdict& v : verdicts) {
    seconds += v.seconds;
    cases += fmt::format("  <testcase classname=\"course\" name=\"{}\" time=\"{:.3f}\">",
                         v.exercise->name, v.seconds);
    const std::string message = in_xml(v.text());
    cases += v.right() ? "<system-out>" + message + "</system-out>"
                       : "<failure message=\"" + message + "\"/>";
    cases += "</testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"glim course\" "
      "tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" skipped=\"0\" "
      "time=\"{:.3f}\">\n{}</testsuite>\n</testsuites>\n",
      verdicts.size(),
      std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return !v.right(); }),
      seconds, cases);
}

std::string to_gradescope(const std::vector<Verdict>& verdicts) {
  Json tests = Json::array();
  double seconds = 0;
  for (const Verdict& v : verdicts) {
    seconds += v.seconds;
    tests.push_back({{"name", v.exercise->title},
                     {"number", std::to_string(v.exercise->number)},
                     {"score", v.right() ? 1 : 0},
                     {"max_score", 1},
                     {"status", v.right() ? "passed" : "failed"},
                     {"output", with_prints(v, "prints  ")},
                     {"visibility", "visible"}});
  }
  return dumped({{"execution_time", seconds}, {"stdout_visibility", "hidden"}, {"tests", tests}});
}

std::string to_text(const std::vector<Submission>& submissions) {
  std::string text =
      counted(submissions.size(), "student") + ": + right, ~ slow, x wrong, . not begun\n\n";
  std::size_t longest = 0;
  for (const Submission& s : submissions) longest = std::max(longest, display_width(s.student));
  text += std::string(longest, ' ');
  for (const Exercise& e : exercises()) text += fmt::format(" {:>2}", e.number);
  for (const Submission& s : submissions) {
    text += "\n" + fit_columns(s.student, longest);
    for (const Exercise& e : exercises())
      for (const Verdict& v : s.verdicts)
        if (v.exercise == &e) text += fmt::format(" {:>2}", ".x~+"[static_cast<int>(v.state)]);
  }
  text += "\n\n";
  for (const Exercise& e : exercises()) {
    std::map<std::string, std::vector<std::string>> names;
    for (const Submission& s : submissions)
      for (const Verdict& v : s.verdicts)
        if (v.exercise == &e && !(v.file + v.similar).empty()) {
          // Without "softmax.py, line 7: ".
          const bool placed = v.mistake.starts_with(e.name + ".");
          const std::string mistake = v.mistake.substr(placed ? v.mistake.find(": ") + 2 : 0);
          names[v.state == State::Slow ? "right, but slow"
                : v.state == State::Wrong
                    ? "wrong: " + mistake
                    : std::string(name_of(v.state)) +
                          (v.similar.empty() ? "" : ": there is " + visible(v.similar))]
              .push_back(s.student);
        }
    std::vector<std::pair<std::string, std::vector<std::string>>> rows(names.begin(), names.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return a.second.size() > b.second.size();
    });
    for (const auto& [what, who] : rows)
      text += fmt::format("{:>2}  {:<16} {:>4}  {}  ({})\n", e.number, e.name, who.size(), what,
                          who.size() > 1 && who.size() == submissions.size()
                              ? fmt::format("all {}", who.size())
                              : fmt::format("{}", fmt::join(who, ", ")));
  }
  return text;
}

std::string to_json(const std::vector<Submission>& submissions) {
  Json list = Json::array();
  for (const Submission& s : submissions) {
    Json verdicts = Json::array();
    for (const Verdict& v : s.verdicts) verdicts.push_back(json_of(v));
    list.push_back({{"student", s.student}, {"exercises", verdicts}});
  }
  return dumped({{"students", list}});
}

}  // namespace glim::course
