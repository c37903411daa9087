#include "tests/fuzz/graphs/sets.hpp"

#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <sstream>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/simd/isa.hpp"

namespace glim::fuzz {
namespace {

std::uint64_t hash_of(const Tensor& x) {  // FNV-1a (Fowler, Noll & Vo 1991)
  std::uint64_t h = 0xcbf29ce484222325u;
  for (double e : x.to_vector<double>()) {
    std::uint64_t bits;
    std::memcpy(&bits, &e, sizeof e);
    h = (h ^ bits) * 0x100000001b3u;
  }
  return h;
}

struct Value {
  std::uint64_t hash = 0;
  double projected = 0, largest = 0;
};

// By graph, what one set found.
std::map<std::uint64_t, std::vector<Value>> values_of(const std::string& set, const Asked& asked,
                                                      const char* program) {
  const std::string command =
      fmt::format("GLIM_ISA={} '{}' --values --graphs {} --seed {} --steps {}", set, program,
                  asked.graphs, asked.seed, asked.steps);
  std::map<std::uint64_t, std::vector<Value>> found;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return found;
  std::string text;
  char part[4096];
  while (const std::size_t n = std::fread(part, 1, sizeof part, pipe)) text.append(part, n);
  if (pclose(pipe) != 0) return found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::uint64_t graph = 0;
    words >> graph;
    std::string hash, projected, largest;
    while (words >> hash >> projected >> largest)
      found[graph].push_back({std::stoull(hash, nullptr, 16),
                              std::strtod(projected.c_str(), nullptr),
                              std::strtod(largest.c_str(), nullptr)});
  }
  return found;
}

bool close(const std::vector<Value>& a, const std::vector<Value>& b) {
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i)
    all = std::abs(a[i].projected - b[i].projected) <= 1e-10 * (1 + a[i].largest) &&
          std::abs(a[i].largest - b[i].largest) <= 1e-10 * (1 + a[i].largest);
  return all;
}

bool same(const std::vector<Value>& a, const std::vector<Value>& b) {
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i) all = a[i].hash == b[i].hash;
  return all;
}

}  // namespace

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

int print_values(const Asked& asked) {
  for (std::uint64_t i = 0; i < asked.graphs; ++i) {
    const Graph graph = draw(asked, i).graph;
    if (graph.steps.empty()) continue;
    std::string line = std::to_string(i);
    for (const Tensor& x : gradients(graph)) {
      const bool any = x.numel() > 0;
      const Tensor u = uniform(x.shape(), -1, 1, {5, 5}, DType::Float64);
      line += fmt::format(" {:x} {:a} {:a}", hash_of(x), any ? sum(mul(u, x)).item() : 0,
                          any ? max(abs(x)).item() : 0);
    }
    fmt::print("{}\n", line);
  }
  return 0;
}

int compare_sets(const Asked& asked, const char* program) {
  const auto sets = supported_isas();
  const auto base = values_of(std::string(name_of(sets.front())), asked, program);
  std::uint64_t passed = 0, failed = base.empty();
  for (std::size_t k = 1; k < sets.size(); ++k) {
    const std::string name(name_of(sets[k]));
    auto found = values_of(name, asked, program);
    std::uint64_t equal = 0;
    for (const auto& [graph, right] : base) {
      if (close(right, found[graph])) {
        ++passed;
      } else {
        ++failed;
        fmt::print("graph {} of seed {} differs between {} and {}\n", graph, asked.seed,
                   name_of(sets.front()), name);
      }
      equal += same(right, found[graph]);
    }
    fmt::print("{} and {}: {} graphs, {} of them with the same bits\n", name_of(sets.front()), name,
               base.size(), equal);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed > 0;
}

}  // namespace glim::fuzz
