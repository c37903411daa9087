// Paths: where an error says it happened, what the recorded backward is called, glob patterns.

#include "tests/autograd/common.hpp"

namespace test_scope {

using namespace glim;

TEST_CASE("an error says where", "[tape]") {
  Scope outer("decoder");
  Tape tape;
  Var x = Var::leaf(zeros({2, 3}), "decoder.weight");
  Var h = named(relu(x), "query");
  const std::string text = error_of<ShapeError>([&] { matmul(h, h); });
  INFO(text);
  CHECK(contains(text, "a (2, 3) float32  decoder.query"));
  CHECK(contains(text, "in decoder.matmul, at scope.cpp:"));
}

TEST_CASE("the recorded backward is on the tape under its own scope", "[tape]") {
  Var x = leaf_of({1, 2}, "w");
  Tape tape;
  Scope scope("encoder");
  Var y = sum(named(exp(x), "hidden"));
  auto size = tape.nodes().size();
  tape.grad(y, {x}, {}, {.create_graph = true});
  CHECK(tape.nodes().size() > size);
  bool found = false;
  for (auto i = static_cast<int>(size); i < static_cast<int>(tape.nodes().size()); ++i)
    found = found || tape.path(i).rfind("d(encoder.hidden)", 0) == 0;
  CHECK(found);
}

TEST_CASE("paths: glob patterns", "[tape]") {
  CHECK(glob_match("*", ""));
  CHECK(glob_match("*.probs", "a.b.probs"));
  CHECK_FALSE(glob_match("*.probs", "probs"));
  CHECK(glob_match("a?c", "abc"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK(glob_match("*a*b*", "xxaxxbxx"));
  CHECK_FALSE(glob_match("*a*b", "xxaxxbxx"));
  CHECK(glob_match("", ""));
  CHECK_FALSE(glob_match("", "a"));
  CHECK(glob_match("**", "abc"));
  CHECK(glob_match("*[0].?\\", "heads[0].w\\"));
  CHECK_FALSE(glob_match("[0]", "0"));
  // No time wasted on going back and forth.
  CHECK_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

}  // namespace test_scope
