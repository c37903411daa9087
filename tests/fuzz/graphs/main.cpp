// graphs [--graphs N] [--seed S] [--steps K] [--plant]
//
// Checks N random graphs (graph.hpp): gradients against differences, the recorded backward and the explicit ops
// against the fused ones, of every fourth graph the gradient's gradient. A graph that is wrong is made smaller and
// printed as a program. --plant puts an op with a wrong gradient among the others.
#include <cstdlib>
#include <fmt/format.h>
#include <string>

#include "tests/fuzz/graphs/graph.hpp"

int main(int argc, char** argv) {
  std::uint64_t graphs = 1000, seed = 1, steps = 12;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::uint64_t* number = word == "--graphs"  ? &graphs
                            : word == "--seed"  ? &seed
                            : word == "--steps" ? &steps
                                                : nullptr;
    if (word.starts_with('~')) continue;  // tags for Catch2, which tools/test gives every program
    if (word == "--plant") {
      glim::fuzz::plant();
    } else if (number && i + 1 < argc) {
      *number = std::strtoull(argv[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "usage: graphs [--graphs N] [--seed S] [--steps K] [--plant]\n");
      return 2;
    }
  }
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < graphs; ++i) {
    std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + i);
    const auto graph = glim::fuzz::random_graph(random, static_cast<int>(steps));
    const bool deep = i % 4 == 0;
    if (graph.steps.empty() || glim::fuzz::check(graph, deep).empty()) continue;
    ++wrong;
    const auto small = glim::fuzz::reduced(graph, deep);
    fmt::print("graph {} of seed {}, {} steps of {}:\n{}// {}\n\n", i, seed, small.steps.size(),
               graph.steps.size(), small.program(), glim::fuzz::check(small, deep));
  }
  fmt::print("{} passed, {} failed\n", graphs - wrong, wrong);
  return wrong > 0;
}
