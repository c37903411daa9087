// Faults that are planted into random graphs, to test the graphs: wrong rules, kernels, views and engines.
//
// The product has none of them. A wrong rule, kernel or view is an op beside the right one that takes the place of every
// step of a kind. A wrong engine is an observer that changes what arrives at nodes, as a real one would.
#pragma once

#include "autograd/tape.hpp"
#include "tests/fuzz/graphs/graph.hpp"

namespace glim::fuzz {

// Some faults show only in a situation: the work of this thread on the graph.
class Situation {
 public:
  struct Now {
    bool looked_on = false, recomputed = false;
  };
  explicit Situation(Now now);
  ~Situation();
  Situation(const Situation&) = delete;
  Situation& operator=(const Situation&) = delete;
  static const Now& now();

 private:
  Now before_;
};

struct Fault {
  std::string where, what;  // "rule", "tanh: 1 + y²"
  std::string op;           // the steps that it takes the place of: "tanh"; empty for an engine's
  std::function<Var(const Step& right, const Vars& in)> run = {};
  std::shared_ptr<Observer> engine = nullptr;
};

std::vector<Fault> faults();     // all of them
std::vector<Fault> op_faults();  // of rules, kernels and views
std::vector<Fault> engine_faults();

void plant(const Fault* fault);  // from now on; null takes it out
Var run_step(const Step& step, const Vars& in);
void observe_faults(Tape& tape);

}  // namespace glim::fuzz
