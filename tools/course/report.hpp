// Verdicts as text and in the formats of others.
#pragma once

#include "tools/course/judge.hpp"

namespace glim::course {

std::string to_text(const std::vector<Verdict>& verdicts);
std::string to_json(const std::vector<Verdict>& verdicts);
std::string to_junit(const std::vector<Verdict>& verdicts);
// https://gradescope-autograders.readthedocs.io/en/latest/specs: results.json
std::string to_gradescope(const std::vector<Verdict>& verdicts);

// A class: students and exercises, then each mistake with those who made it.
struct Submission {
  std::string student;
  std::vector<Verdict> verdicts;
};
std::string to_text(const std::vector<Submission>& submissions);
std::string to_json(const std::vector<Submission>& submissions);

}  // namespace glim::course
