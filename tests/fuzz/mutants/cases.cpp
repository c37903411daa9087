// The gradient checks of all ops, layers and models by number, for mutants.py.
//
//     cases list             NUMBER <tab> FAMILY, OP, NAME of each
//     cases reached FILE K N runs K, K + N, ...; FILE gets NUMBER, seconds, pass or FAIL, and the points it passed
//     cases serve            for each line `MUTANT SECONDS run FILE`: a process of its own, in which the mutant
//                            is chosen, runs the checks whose numbers are in FILE until one fails, and prints
//                            its report; `names` in place of `run` runs all of them, and prints what the checker
//                            takes each mistake for. Then a line `= STATUS`, as of waitpid.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor/clock.hpp"
#include "tools/gradient_cases/op_specs.hpp"

extern "C" {  // of a mutated library (point.hpp); others have none
extern unsigned char glim_mutants_passed[] __attribute__((weak));
extern int glim_mutants_number __attribute__((weak));
extern int glim_mutant_chosen __attribute__((weak));
}

namespace {

using namespace glim;

std::vector<Case> all_cases() {
  std::vector<Case> all = op_cases();
  for (auto more : {op_cases(DType::Float32), layer_cases(), model_cases()})
    for (Case& c : more) all.push_back(std::move(c));
  return all;
}

void reached(const std::vector<Case>& all, const char* path, std::size_t first, std::size_t step) {
  std::ofstream out(path);
  for (std::size_t k = first; k < all.size(); k += step) {
    if (&glim_mutants_number)
      std::memset(glim_mutants_passed, 0, static_cast<std::size_t>(glim_mutants_number));
    const double start = seconds_now();
    CaseResult r = run(all[k]);
    out << k << '\t' << seconds_now() - start << '\t'
        << (r.status != CaseStatus::Pass ? "FAIL" : "pass") << '\t';
    if (&glim_mutants_number)
      for (int i = 0; i < glim_mutants_number; ++i)
        if (glim_mutants_passed[i]) out << ' ' << i;
    out << '\n';
  }
}

int run_listed(const std::vector<Case>& all, const std::string& path) {
  std::ifstream in(path);
  for (std::size_t k = 0; in >> k;) {
    CaseResult r = run(all.at(k));
    if (r.status == CaseStatus::Pass) continue;
    std::cout << r.op << ", " << r.name << "\n" << r.detail << "\n";
    return 1;
  }
  return 0;
}

void name_listed(const std::vector<Case>& all, const std::string& path) {
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

// The cases are put together once; a process takes a millisecond then.
void serve(const std::vector<Case>& all) {
  std::string verb, path;
  int mutant = 0;
  rlim_t seconds = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream(line) >> mutant >> seconds >> verb >> path;
    const pid_t child = fork();
    if (child == 0) {
      const rlimit limit{seconds, seconds}, none{0, 0};
      setrlimit(RLIMIT_CPU, &limit);
      setrlimit(RLIMIT_CORE, &none);
      if (&glim_mutant_chosen) glim_mutant_chosen = mutant;
      int failed = 0;
      if (verb == "run")
        failed = run_listed(all, path);
      else
        name_listed(all, path);
      std::cout.flush();
      _exit(failed);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::cout << "= " << status << std::endl;
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
  if (verb == "reached" && count == 5) {
    reached(all, words[2], std::stoul(words[3]), std::stoul(words[4]));
    return 0;
  }
  if (verb == "serve") {
    serve(all);
    return 0;
  }
  std::fprintf(stderr, "usage: cases list | reached FILE K N | serve\n");
  return 2;
}
