// The gradient checks of all ops, layers and models by number, for mutants.py.
//
//     cases list             NUMBER <tab> FAMILY, OP, NAME of each
//     cases reached FILE     runs each; FILE gets NUMBER, seconds, pass or FAIL, and the points it passed
//     cases run FILE         runs those whose numbers stand in FILE, until one fails: 1, and its report
//     cases names FILE       runs all of these: what the checker takes the mistake for, input by input
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "tools/gradients/op_specs.hpp"

extern "C" {  // of a mutated library (point.hpp); others have none
extern unsigned char glim_mutants_passed[] __attribute__((weak));
extern int glim_mutants_number __attribute__((weak));
}

namespace {

using namespace glim;

std::vector<Case> all_cases() {
  std::vector<Case> all = op_cases();
  for (auto more : {op_cases(DType::Float32), layer_cases(), model_cases()})
    for (Case& c : more) all.push_back(std::move(c));
  return all;
}

void reached(const std::vector<Case>& all, const char* path) {
  std::ofstream out(path);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (&glim_mutants_number)
      std::memset(glim_mutants_passed, 0, static_cast<std::size_t>(glim_mutants_number));
    CaseResult r = run(all[k]);
    out << k << '\t' << r.seconds << '\t' << (r.status == CaseStatus::Fail ? "FAIL" : "pass")
        << '\t';
    if (&glim_mutants_number)
      for (int i = 0; i < glim_mutants_number; ++i)
        if (glim_mutants_passed[i]) out << ' ' << i;
    out << '\n';
  }
}

int run_listed(const std::vector<Case>& all, const char* path) {
  std::ifstream in(path);
  for (std::size_t k = 0; in >> k;) {
    CaseResult r = run(all.at(k));
    if (r.status != CaseStatus::Fail) continue;
    std::cout << r.op << ", " << r.name << "\n" << r.detail << "\n";
    return 1;
  }
  return 0;
}

void name_listed(const std::vector<Case>& all, const char* path) {
  std::ifstream in(path);
  for (std::size_t k = 0; in >> k;) try {
      const GradcheckReport report = all.at(k).check();
      for (const GradcheckEntry& e : report.inputs)
        if (e.failed)
          std::cout << k << '\t' << all[k].op << ", " << all[k].name << '\t' << e.name << '\t'
                    << e.mistake.evidence << '\t' << e.mistake.name << '\n';
    } catch (const std::exception& e) {
      std::cout << k << '\t' << all[k].op << ", " << all[k].name << "\t\t0\tERROR\n";
    }
}

}  // namespace

int main(int count, char** words) {
  const std::string verb = count > 1 ? words[1] : "";
  const std::vector<Case> all = all_cases();
  if (verb == "list") {
    for (std::size_t k = 0; k < all.size(); ++k)
      std::cout << k << '\t' << all[k].family << ", " << all[k].op << ", " << all[k].name << '\n';
    return 0;
  }
  if (count != 3) {
    std::fprintf(stderr, "usage: cases list | reached FILE | run FILE | names FILE\n");
    return 2;
  }
  if (verb == "reached") reached(all, words[2]);
  if (verb == "run") return run_listed(all, words[2]);
  if (verb == "names") name_listed(all, words[2]);
}
