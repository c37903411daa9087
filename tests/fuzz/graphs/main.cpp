// graphs [--graphs N] [--seed S] [--steps K]    checks N random graphs (check.hpp); of every fourth the gradient's
//                                               gradient, of every sixth in float32, of every 64th with large values
//        [--from M]                             ... from the M-th on, to go on or to see one again
// graphs --ops        how often the graphs record each op; each is recorded
// graphs --planted    plants every fault (faults.hpp): how many graphs until it is found, in how many ops;
//                     --every N: each N-th fault
// graphs --program    a graph of all kinds as a program in C++; its sum is in the last line
//
// A graph that is wrong is made smaller and printed as a program.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "autograd/formula.hpp"
#include "autograd/tape.hpp"
#include "tensor/parallel.hpp"
#include "tests/fuzz/graphs/catalogue.hpp"
#include "tests/fuzz/graphs/check.hpp"
#include "tests/fuzz/graphs/faults.hpp"
#include "tests/fuzz/graphs/make.hpp"

namespace glim::fuzz {
namespace {

struct Asked {
  std::uint64_t graphs = 1000, from = 0, seed = 1, steps = 12, every = 1;
};
struct Drawn {
  Graph graph;
  Checks checks;
};

Drawn draw(const Asked& asked, std::uint64_t i) {
  std::mt19937_64 random(asked.seed * 0x9e3779b97f4a7c15u + i);
  GraphSize size{.steps = static_cast<int>(asked.steps)};
  Checks checks{.bits = i % 3 == 0,
                .second_order = i % 4 == 0,
                .precise = i % 4 == 1,
                .float32 = i % 6 == 0,
                .threads = i % 16 == 3};
  if (i % 64 == 63) {  // threads share the work of large values alone
    size.elements = 40000;
    size.steps = 5;
    checks = {.differences = false, .threads = true};
  }
  return {random_graph(random, size), checks};
}

struct Found {
  std::uint64_t graph = 0;
  std::size_t steps = 0;
  Graph small;
  std::string problem;
};

// The first graph from `first` on that is wrong, among so many.
std::optional<Found> search(const Asked& asked, std::uint64_t first) {
  for (std::uint64_t i = first; i < asked.graphs; ++i) {
    const Drawn drawn = draw(asked, i);
    if (drawn.graph.steps.empty() || check(drawn.graph, drawn.checks).empty()) continue;
    Graph small = reduced(drawn.graph, drawn.checks);
    std::string problem = check(small, drawn.checks);
    return Found{i, drawn.graph.steps.size(), std::move(small), std::move(problem)};
  }
  return std::nullopt;
}

void print(const Asked& asked, const Found& f) {
  fmt::print("graph {} of seed {}, {} steps of {}:\n{}// {}\n\n", f.graph, asked.seed,
             f.small.steps.size(), f.steps, f.small.program(DType::Float64), f.problem);
}

int check_graphs(const Asked& asked) {
  std::uint64_t wrong = 0;
  for (std::uint64_t next = asked.from; next < asked.graphs; ++next) {
    const auto found = search(asked, next);
    if (!found) break;
    ++wrong;
    print(asked, *found);
    next = found->graph;
  }
  const Compared& c = compared();
  fmt::print(
      "{} graphs without kinks to 10 digits: {} projections, {} of them of low precision; {} "
      "undecidable, {} "
      "checks undecided, {} comparisons at ties\n",
      c.precise_graphs, c.derivatives, c.low_precision, c.undecidable, c.undecided, c.ties);
  fmt::print("{} passed, {} failed\n", asked.graphs - asked.from - wrong, wrong);
  return wrong > 0;
}

int list_ops(const Asked& asked) {
  std::map<std::string, std::uint64_t> seen;
  std::set<std::string_view> made;
  for (std::uint64_t i = 0; i < asked.graphs; ++i) {
    const Graph graph = draw(asked, i).graph;
    if (graph.steps.empty()) continue;
    Tape tape;
    graph.run();
    std::set<std::string> names;
    for (const Node& node : tape.nodes()) names.insert(std::string(node.name()));
    for (const std::string& name : names) ++seen[name];
  }
  int passed = 0, failed = 0;
  for (std::string_view op : registered_ops()) {
    if (op.starts_with("planted.")) continue;
    const auto n = seen[std::string(op)];
    fmt::print("{:<30} {:>8}\n", op, n);
    ++(n > 0 ? passed : failed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed > 0;
}

int plant_all(Asked asked) {
  int passed = 0, failed = 0, number = 0;
  std::uint64_t index = 0;
  for (const Fault& fault : faults()) {
    if (index++ % std::max<std::uint64_t>(1, asked.every) != 0) continue;
    plant(&fault);
    const auto found = search(asked, 0);
    plant(nullptr);
    const bool good = found && found->small.steps.size() <= 5;
    if (found)
      fmt::print("{:>2} {:<7} {:<52} graph {:>4}, {} ops of {}{}\n", ++number, fault.where,
                 fault.what, found->graph, found->small.steps.size(), found->steps,
                 good ? "" : "  TOO MANY");
    else
      fmt::print("{:>2} {:<7} {:<52} NOT FOUND in {} graphs\n", ++number, fault.where, fault.what,
                 asked.graphs);
    ++(good ? passed : failed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed > 0;
}

int print_program(const Asked& asked) {
  std::mt19937_64 random(asked.seed);
  const Graph graph = random_graph(random, {.every_kind = true});
  fmt::print("{}// sum {:.17g}\n", graph.program(DType::Float64), sum(graph.run().value()).item());
  return graph.steps.size() != kinds().size();
}

int usage() {
  fmt::print(stderr,
             "usage: graphs [--graphs N] [--from M] [--seed S] [--steps K] [--every N] "
             "[--ops | --planted | --program]\n");
  return 2;
}

int run(int argc, char** argv) {
  Asked asked;
  std::string what;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('~')) continue;  // tags for Catch2, which tools/test gives every program
    std::uint64_t* taken = word == "--graphs"  ? &asked.graphs
                           : word == "--from"  ? &asked.from
                           : word == "--seed"  ? &asked.seed
                           : word == "--steps" ? &asked.steps
                           : word == "--every" ? &asked.every
                                               : nullptr;
    if (taken) {
      if (++i == argc) return usage();
      *taken = std::strtoull(argv[i], nullptr, 10);
    }
    if (!taken) what = word;
  }
  set_num_threads(1);  // but for the checks of threads
  if (what.empty()) return check_graphs(asked);
  if (what == "--ops") return list_ops(asked);
  if (what == "--planted") return plant_all(asked);
  if (what == "--program") return print_program(asked);
  return usage();
}

}  // namespace
}  // namespace glim::fuzz

int main(int argc, char** argv) { return glim::fuzz::run(argc, argv); }
