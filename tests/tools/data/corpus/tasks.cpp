#include "tools/data/corpus/tasks.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "models/tokenizers/utf8.hpp"
#include "tests/catch.hpp"

namespace test_tasks {

using namespace glim;

namespace {

std::vector<int> numbers(const std::string& text) {
  std::vector<int> out;
  for (std::string_view word : split_spaces(text)) out.push_back(std::stoi(std::string(word)));
  return out;
}

}  // namespace

TEST_CASE("copy: starts with 1, ten symbols, the target is the source", "[tasks]") {
  const auto pairs = synthetic_task("copy", 1, 500);
  REQUIRE(pairs.size() == 500);
  std::set<int> used;
  for (const auto& pair : pairs) {
    const auto s = numbers(pair.source);
    REQUIRE(pair.source == pair.target);
    REQUIRE(s.size() == 10);
    REQUIRE(s[0] == 1);
    used.insert(s.begin(), s.end());
  }
  CHECK(used == std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(synthetic_task("copy", 1, 500) == pairs);
  CHECK(synthetic_task("copy", 2, 500) != pairs);
}

TEST_CASE("noisy: a symbol that mostly stays, half of it heard", "[tasks]") {
  const auto pairs = synthetic_task("noisy", 1, 400);
  REQUIRE(pairs.size() == 400);
  double stays = 0, heard = 0, steps = 0, all = 0;
  std::set<int> used;
  for (const auto& pair : pairs) {
    const auto s = numbers(pair.source), t = numbers(pair.target);
    REQUIRE(s.size() == 40);
    REQUIRE(t.size() == 40);
    used.insert(t.begin(), t.end());
    for (std::size_t i = 0; i < t.size(); ++i) {
      all += 1;
      heard += s[i] == t[i];
      if (i > 0) steps += 1, stays += t[i] == t[i - 1];
    }
  }
  CHECK(used == std::set<int>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(stays / steps == Approx(0.9 + 0.1 / 8).margin(0.01));
  CHECK(heard / all == Approx(0.5 + 0.5 / 8).margin(0.01));
  CHECK(synthetic_task("noisy", 1, 400) == pairs);
}

TEST_CASE("reverse: all lengths, the target is the source backwards", "[tasks]") {
  std::set<std::size_t> lengths;
  for (const auto& pair : synthetic_task("reverse", 1, 500)) {
    auto s = numbers(pair.source);
    std::ranges::reverse(s);
    REQUIRE(s == numbers(pair.target));
    lengths.insert(s.size());
  }
  CHECK(lengths.size() == 10);
  CHECK(*lengths.rbegin() == 10);
  CHECK(synthetic_task("reverse", 3, 20) == synthetic_task("reverse", 3, 20));
}

TEST_CASE("random: source and target are independent", "[tasks]") {
  const auto pairs = synthetic_task("random", 1, 64);
  REQUIRE(pairs.size() == 64);
  std::set<int> used;
  for (const auto& pair : pairs) {
    const auto s = numbers(pair.source), t = numbers(pair.target);
    REQUIRE(s.size() == 100);
    REQUIRE(t.size() == 100);
    REQUIRE(s != t);
    used.insert(s.begin(), s.end());
  }
  CHECK(*used.begin() >= 1);
  CHECK(*used.rbegin() <= 4999);
  CHECK(used.size() > 2000);
}

}  // namespace test_tasks
