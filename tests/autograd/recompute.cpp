// Large values that their ops compute again in backward (Op::recomputes): the gradients are those of a
// tape that keeps every value, to the bit, and the memory is less.
#include "autograd/magnification.hpp"
#include "autograd/observe/table.hpp"
#include "tests/autograd/common.hpp"

namespace test_recompute {

using namespace glim;

namespace {

const RandomKey kKey{5, 6};

struct Case {
  std::string name;
  Shape x;
  std::vector<Shape> parameters;
  std::function<Var(const Var& x, const std::vector<Var>& p)> value;  // what is computed again
};

Var product(const Var& x, const Var& w) { return linear(x, w, {}); }
Var normalized(const Var& x) { return layer_norm(x, {}, {}, 1e-5); }

Tensor random32(const Shape& shape, std::uint64_t stream) {
  return uniform(shape, -1, 1, {78, stream});
}

// Values of more than 4 MiB, which a product reads.
std::vector<Case> cases() {
  AttentionMask causal{};
  causal.keep = ones({64, 64}, DType::Bool);
  for (Index t = 0; t < 64; ++t) slice(select(causal.keep, 0, t), 0, t + 1, 64).fill_(0);
  return {
      {"layer_norm",
       {1100, 1024},
       {{1024}, {1024}},
       [](const Var& x, const std::vector<Var>& p) { return layer_norm(x, p[0], p[1], 1e-5); }},
      {"rms_norm",
       {1100, 1024},
       {{1024}},
       [](const Var& x, const std::vector<Var>& p) { return rms_norm(x, p[0], 1e-5); }},
      {"packed_attention",
       {20, 64, 3072},
       {},
       [=](const Var& x, const std::vector<Var>&) {
         return packed_attention(x, {}, 16, causal, 0.1, kKey, false).context;
       }},
      {"packed_attention to a memory",
       {20, 64, 1024},
       {{20, 50, 2048}},
       [](const Var& x, const std::vector<Var>& p) {
         return packed_attention(x, p[0], 16, {}, 0, kKey, false).context;
       }},
      {"scaled_dot_product_attention",
       {20, 64, 128},
       {{20, 50, 128}, {20, 50, 1024}},
       [](const Var& x, const std::vector<Var>& p) {
         return scaled_dot_product_attention(x, p[0], p[1], {}, 0.1, kKey, false).context;
       }},
      {"linear_relu",
       {1100, 64},
       {{1024, 64}, {1024}},
       [](const Var& x, const std::vector<Var>& p) {
         return linear_relu(x, p[0], p[1], 0.1, kKey);
       }},
  };
}

struct Result {
  std::vector<Tensor> gradients;
  std::string text;  // of what is saved
};

// Two products read the value, and so does a sum that keeps nothing.
Result run(const Case& c, TapeOptions options, Backward how, int times = 1) {
  Var x = Var::leaf(random32(c.x, 1), "x"), w = Var::leaf(random32({8, 1024}, 2), "w");
  std::vector<Var> p;
  for (std::size_t i = 0; i < c.parameters.size(); ++i)
    p.push_back(Var::leaf(random32(c.parameters[i], 3 + i), "p"));
  Result r;
  Tape tape(options);
  Var loss;
  {
    Var y = c.value(mul(x, 2), p);
    loss = add(sum(mul(product(y, w), product(y, mul(w, w)))), sum(y));
  }
  r.text = to_table(tape);
  for (int i = 0; i < times; ++i) tape.backward(loss, how);
  r.gradients = {x.grad(), w.grad()};
  for (const Var& v : p) r.gradients.push_back(v.grad());
  return r;
}

Index differences(const Tensor& a, const Tensor& b) {
  std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  Index count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += !(x[i] == y[i]);
  return count;
}

void require_same(const Result& a, const Result& b) {
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    INFO("gradient " << i);
    REQUIRE(a.gradients[i].shape() == b.gradients[i].shape());
    CHECK(differences(a.gradients[i], b.gradients[i]) == 0);
  }
}

}  // namespace

TEST_CASE("a value that is computed again gives the gradients of one that was kept",
          "[recompute]") {
  for (const Case& c : cases()) {
    INFO(c.name);
    Result kept = run(c, {.replay = true}, {}), again = run(c, {}, {});
    require_same(kept, again);
    CHECK(again.text.find("(a)") != std::string::npos);
    CHECK(kept.text.find("(a)") == std::string::npos);
    require_same(run(c, {.replay = true}, {.retain = true}, 2), run(c, {}, {.retain = true}, 2));
  }
}

TEST_CASE("a value that is computed again takes no memory from forward to backward",
          "[recompute]") {
  for (const Case& c : cases()) {
    INFO(c.name);
    Var x = Var::leaf(random32(c.x, 1), "x"), w = Var::leaf(random32({8, 1024}, 2), "w");
    std::vector<Var> p;
    for (std::size_t i = 0; i < c.parameters.size(); ++i)
      p.push_back(Var::leaf(random32(c.parameters[i], 3 + i), "p"));
    Tape tape;
    Var y = c.value(x, p);
    std::int64_t size = y.numel() * 4;
    Var z = product(y, w);
    auto with = allocator_stats().live_bytes;
    y = {};
    CHECK(with - allocator_stats().live_bytes >= size);
    tape.backward(sum(z));
    CHECK(w.grad().defined());
  }
}

TEST_CASE("gradients of gradients go through values that are computed again", "[recompute]") {
  auto second = [](TapeOptions options) {
    Var x = Var::leaf(random32({600, 512}, 1)), w = Var::leaf(random32({4, 512}, 2));
    Tape tape(options);
    Var z = product(normalized(mul(x, 2)), w);
    Var dw = tape.grad(sum(mul(z, z)), {w}, {}, {.create_graph = true})[0];
    tape.backward(sum(mul(dw, dw)));
    return Result{{x.grad(), w.grad()}, ""};
  };
  require_same(second({.replay = true}), second({}));
}

TEST_CASE("a value to be computed again by an op that was used up is an error", "[recompute]") {
  Var x = Var::leaf(random32({600, 512}, 1), "x"), w = Var::leaf(random32({4, 512}, 2), "w");
  Tape tape;
  Var y = normalized(x), first = sum(y), second = sum(product(y, w));
  tape.backward(first);
  std::string text = error_of<StateError>([&] { tape.backward(second); });
  CHECK(text.find("layer_norm was used up by an earlier backward") != std::string::npos);
}

TEST_CASE("a long chain of norms is computed again without recursion", "[recompute]") {
  auto chain = [](TapeOptions options) {
    Var x = Var::leaf(random32({600, 512}, 1), "x");
    Tape tape(options);
    Var y = x;
    for (int i = 0; i < 40; ++i) y = normalized(y);
    // Every second value is kept.
    Index again = 0;
    for (const Node& n : tape.nodes())
      if (n.op)
        for (const SavedValue& s : n.op->saved_values()) again += s.recomputed;
    CHECK(again == (options.replay ? 0 : 20));
    tape.backward(sum(mul(y, y)));
    return Result{{x.grad()}, ""};
  };
  require_same(chain({.replay = true}), chain({}));
}

TEST_CASE("a checkpointed region computes values again within itself", "[recompute]") {
  auto region = [](bool checkpointed) {
    Var x = Var::leaf(random32({600, 512}, 1), "x"), w = Var::leaf(random32({512, 512}, 2), "w");
    Tape tape;
    auto layer = [&](const Var& in) { return add(in, product(normalized(in), w)); };
    Var y = normalized(x);
    y = checkpointed ? recomputed([=] { return layer(y); }) : layer(y);
    tape.backward(sum(mul(y, y)));
    return Result{{x.grad(), w.grad()}, ""};
  };
  require_same(region(false), region(true));
}

TEST_CASE("values in cache size are kept", "[recompute]") {
  Var x = Var::leaf(random32({256, 1024}, 1), "x"), w = Var::leaf(random32({4, 1024}, 2), "w");
  Tape tape;
  product(normalized(x), w);  // 1 MiB
  CHECK(to_table(tape).find("(a)") == std::string::npos);
}

TEST_CASE("a hidden layer with few zeros is kept as it is", "[recompute]") {
  Var x = Var::leaf(full({1100, 64}, 1), "x"), w = Var::leaf(full({1024, 64}, 1), "w");
  Tape tape;
  Var h = linear_relu(x, w, {}, 0, kKey);
  REQUIRE(tape.nodes().back().op->saved_values().back().input == Op::kOutput);
  CHECK_FALSE(tape.nodes().back().op->saved_values().back().recomputed);
  tape.backward(sum(h));
  CHECK(differences(x.grad(), full({1100, 64}, 1024)) == 0);
}

TEST_CASE("what is kept in place of a value is counted", "[recompute]") {
  Var x = Var::leaf(random32({1100, 64}, 1), "x"), w = Var::leaf(random32({1024, 64}, 2), "w");
  Tape tape;
  Var h = linear_relu(x, w, {}, 0, kKey);
  const Node& node = tape.nodes().back();
  REQUIRE(std::string(node.name) == "linear_relu");
  CHECK(node.bytes == h.numel() * 4);
  CHECK(saved_bytes(node) > node.bytes * 2 / 5);  // about half of h are zeros
  CHECK(saved_bytes(node) < node.bytes * 4 / 5);  // x and w are 0.12 of h
}

TEST_CASE("probabilities of a context that is computed again are not kept either", "[recompute]") {
  Var x = Var::leaf(random32({20, 64, 3072}, 1), "x");
  Tape tape;
  packed_attention(x, {}, 16, {}, 0.1, kKey, false);
  CHECK(saved_bytes(tape.nodes().back()) == x.numel() * 4);
}

TEST_CASE("the gradient of a hidden layer takes its place", "[recompute]") {
  // 6 MiB are also a size class of blocks that do not lie in the arena: h takes what it asks for.
  Var x = Var::leaf(random32({1536, 64}, 1)), w1 = Var::leaf(random32({1024, 64}, 2)),
      w2 = Var::leaf(random32({8, 1024}, 3));
  const std::int64_t h = 1536 * 1024 * 4;
  std::int64_t more = 0;
  for (int i = 0; i < 2; ++i) {  // the first time, threads get their scratch memory
    Tape tape;
    Var loss = sum(product(linear_relu(x, w1, {}, 0, kKey), w2));
    reset_peak();
    auto before = allocator_stats().live_bytes;
    tape.backward(loss);
    more = allocator_stats().peak_bytes - before;
  }
  CHECK(more < 5 * h / 2);  // h and dh, not du
}

}  // namespace test_recompute
