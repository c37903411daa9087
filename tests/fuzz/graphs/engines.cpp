// Engines that are wrong, as observers, and what plants a fault.
#include <map>

#include "tests/fuzz/graphs/faults.hpp"

namespace glim::fuzz {
namespace {

thread_local Situation::Now now_;
const Fault* planted = nullptr;

// Remembers what came to each node since its gradient was last complete, and how often it was.
struct Engine : Observer {
  using Parts = std::vector<Flow>;
  // The gradient, from its parts; `round` counts backwards of this tape.
  virtual Var changed(Var dy, const Parts& parts, int round) = 0;

  void flow(const Flow& f) override { parts_[f.node].push_back(f); }
  Var change(int node, Var dy) override {
    const Parts parts = std::exchange(parts_[node], {});
    return changed(std::move(dy), parts, rounds_[node]++);
  }
  void nodes_removed(int size, bool) override {
    parts_.erase(parts_.lower_bound(size), parts_.end());
    rounds_.erase(rounds_.lower_bound(size), rounds_.end());
  }

 private:
  std::map<int, Parts> parts_;
  std::map<int, int> rounds_;
};

template <class F>
Fault engine(std::string what, F change) {
  struct Changing final : Engine {
    explicit Changing(F f) : function(std::move(f)) {}
    Var changed(Var dy, const Parts& parts, int round) override {
      return function(std::move(dy), parts, round);
    }
    F function;
  };
  return {"engine", std::move(what), "", {}, std::make_shared<Changing>(std::move(change))};
}

}  // namespace

std::vector<Fault> engine_faults() {
  using Parts = Engine::Parts;
  return {
      engine("of several contributions the last counts: = for +=",
             [](Var d, const Parts& p, int) { return p.size() > 1 ? Var(p.back().gradient) : d; }),
      engine("the third contribution is lost",
             [](Var d, const Parts& p, int) { return p.size() > 2 ? d - Var(p[2].gradient) : d; }),
      engine("an op that reads a value twice sends it once",
             [](Var d, const Parts& p, int) {
               for (std::size_t i = 1; i < p.size(); ++i)
                 if (p[i].sender == p[i - 1].sender) return d - Var(p[i].gradient);
               return d;
             }),
      engine("a second backward adds to the first",
             [](Var d, const Parts&, int round) { return round > 0 ? 2 * d : d; }),
      engine("a watch changes the last bit",
             [](Var d, const Parts&, int) {
               return Situation::now().looked_on ? (1 + 0x1p-50) * d : d;
             }),
      engine("a region's gradient is taken twice",
             [](Var d, const Parts& p, int) {
               return Situation::now().recomputed && p.size() == 2 ? 2 * d : d;
             }),
      engine("a gradient of several parts is averaged",
             [](Var d, const Parts& p, int) {
               return p.empty() ? d : d * (1 / static_cast<double>(p.size()));
             }),
      engine(
          "an input's gradient goes to the op's first input",
          [](Var d, const Parts& p, int) { return p.size() == 1 && p[0].input == 1 ? 0 * d : d; }),
      engine("a recorded backward counts double",
             [](Var d, const Parts&, int) { return Tape::current() ? 2 * d : d; }),
  };
}

std::vector<Fault> faults() {
  std::vector<Fault> all = op_faults();
  for (Fault& f : engine_faults()) all.push_back(std::move(f));
  return all;
}

Situation::Situation(Now now) : before_(std::exchange(now_, now)) {}
Situation::~Situation() { now_ = before_; }
const Situation::Now& Situation::now() { return now_; }

void plant(const Fault* fault) { planted = fault; }

Var run_step(const Step& step, const Vars& in) {
  if (planted && planted->run && planted->op == step.op) return planted->run(step, in);
  return step.run(step.module.get(), in);
}

// One observer serves all tapes: what it remembers of a tape is gone with the tape's nodes.
void observe_faults(Tape& tape) {
  if (planted && planted->engine) tape.observe(*planted->engine);
}

}  // namespace glim::fuzz
