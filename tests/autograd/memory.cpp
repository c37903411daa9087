// Who owns what: no two gradients share elements, and memory comes back in time.
#include <algorithm>
#include <list>

#include "tensor/interrupt.hpp"
#include "tests/autograd/common.hpp"

namespace test_memory {

using namespace glim;

TEST_CASE("gradients of two leaves never share storage", "[memory]") {
  Var a = leaf_of({1, 2}, "a"), b = leaf_of({3, 4}, "b");
  auto independent = [&] {
    REQUIRE(a.grad().defined());
    REQUIRE(b.grad().defined());
    std::vector<double> before = list(b.grad());
    a.grad().fill_(1e9);
    CHECK(list(b.grad()) == before);
    CHECK_FALSE(a.grad().storage() == b.grad().storage());
    a.zero_grad();
    b.zero_grad();
  };
  {
    Tape tape;  // add hands one dy to both
    tape.backward(sum(add(a, b)));
    independent();
  }
  {
    Tape tape;  // the very dy that the caller gave
    Tensor dy = tensor({5, 6}, DType::Float64);
    tape.backward(add(a, b), dy);
    a.grad().fill_(0);
    b.grad().fill_(0);
    CHECK(list(dy) == std::vector<double>{5, 6});
    a.zero_grad();
    b.zero_grad();
  }
  {
    Tape tape;  // sections of one tensor
    Var joined = concatenate({a, b}, 0);
    tape.backward(sum(mul(joined, joined)));
    independent();
  }
  {
    Tape tape;  // views of one dy
    tape.backward(sum(add(reshape(a, {2, 1}), transpose(reshape(b, {1, 2})))));
    independent();
  }
  {
    Tape tape;  // an expanded dy: one element for all
    tape.backward(add(sum(a), sum(b)));
    independent();
  }
}

TEST_CASE("a backward adds to a gradient that somebody else sees in a copy", "[memory]") {
  Var a = leaf_of({1, 2}), b = leaf_of({3, 4});
  const Tensor z = tensor({1, 1}, DType::Float64);
  a.set_grad(z);
  b.set_grad(z);
  const Tensor* const before = &a.leaf().grad;
  {
    Tape tape;
    tape.backward(sum(2 * a) + sum(2 * b));
  }
  CHECK(list(z) == std::vector<double>{1, 1});
  CHECK(list(a.grad()) == std::vector<double>{3, 3});
  CHECK(list(b.grad()) == std::vector<double>{3, 3});
  const void* const memory = before->storage().data();
  Tape tape;
  a.set_grad(tape.grad(sum(a * a), {a})[0].value());  // read-only
  tape.backward(sum(a) + sum(b), {.retain = true});
  CHECK(list(a.grad()) == std::vector<double>{3, 5});
  CHECK(memory != before->storage().data());
  const void* const own = before->storage().data();
  tape.backward(sum(a));
  CHECK(own == before->storage().data());  // in place where nobody else looks
}

TEST_CASE("a leaf that is the result has a gradient of its own", "[memory]") {
  Var a = leaf_of({1, 2});
  Tensor dy = tensor({5, 6}, DType::Float64);
  Tape tape;
  tape.backward(a, dy);
  a.grad().fill_(0);
  CHECK(list(dy) == std::vector<double>{5, 6});
}

TEST_CASE("what a hook or watch holds does not change afterwards", "[memory]") {
  Var x = leaf_of({1, 2});
  Tensor held, returned = tensor({9, 9}, DType::Float64);
  Tape tape;
  Hook hook(tape, x, [&](const Var& g) {
    held = g.value();
    return Var();
  });
  Watch watch(tape, x);
  Var h = mul(x, 1.0);
  Var loss = sum(add(h, h));
  tape.backward(loss, {.retain = true});
  std::vector<double> first = list(held);
  Tensor watched = watch.grad_of(x);
  tape.backward(loss);
  CHECK(first == std::vector<double>{2, 2});
  CHECK(list(watched) == first);
  CHECK(list(x.grad()) == std::vector<double>{4, 4});
  hook.stop();
  x.zero_grad();
  for (int i = 0; i < 2; ++i) {
    Tape again;
    Hook replaces(again, x, [&](const Var&) { return Var(returned); });
    again.backward(sum(x));
  }
  CHECK(list(returned) == std::vector<double>{9, 9});
  CHECK(list(x.grad()) == std::vector<double>{18, 18});
}

TEST_CASE("a gradient does not keep the larger tensor alive that it was cut from", "[memory]") {
  Var small = leaf64({8}, 1, "small");
  Var large(random64({100000}, 2));
  auto before = allocator_stats().allocated_bytes;
  {
    Tape tape;
    tape.backward(sum(mul(concatenate({small, large}, 0), 2.0)));
  }
  CHECK(list(small.grad()) == std::vector<double>(8, 2));
  CHECK(allocator_stats().allocated_bytes - before < 10000);
}

TEST_CASE("backward frees what ops had saved as it goes", "[memory]") {
  Var x = leaf64({256, 256}, 1);
  const std::int64_t one = 256 * 256 * 8;
  Tape tape;
  Var h = x;
  constexpr int kDepth = 20;
  std::vector<std::int64_t> live;
  std::list<Hook> hooks;
  for (int i = 0; i < kDepth; ++i) {
    h = tanh(h);
    hooks.emplace_back(tape, h, [&](const Var&) {
      live.push_back(allocator_stats().allocated_bytes);
      return Var();
    });
  }
  Var loss = sum(h);
  h = {};
  auto full = allocator_stats().allocated_bytes;
  tape.backward(loss);
  REQUIRE(live.size() == kDepth);
  // One saved output less at each step, a gradient or two on the way.
  CHECK(live.front() <= full + 2 * one);
  CHECK(live.back() <= full - (kDepth - 4) * one);
  CHECK(std::is_sorted(live.rbegin() + 1, live.rend() - 2));
}

TEST_CASE("leaving the tape frees everything", "[memory]") {
  Var x = leaf64({64, 64}, 1);
  matmul(x.value(), x.value());  // a product keeps the memory that it works in
  auto before = allocator_stats().allocated_bytes;
  {
    Tape tape;
    Watch watch(tape, "*");
    Var h = x;
    for (int i = 0; i < 10; ++i) h = matmul(h, x);
    Var y = sum(h);
    tape.backward(y, {.create_graph = true});
    CHECK(allocator_stats().allocated_bytes > before);
  }
  x.zero_grad();
  CHECK(allocator_stats().allocated_bytes == before);
}

TEST_CASE("a chain of 100,000 ops leaks nothing, recorded twice over", "[memory]") {
  Var x = leaf_of({1});
  auto before = allocator_stats().allocated_bytes;
  for (bool twice : {false, true}) {
    Tape tape;
    Var y = x;
    for (int i = 0; i < 100000; ++i) y = i % 2 ? mul(y, 1.0) : add(y, 1e-9);
    if (twice) {
      Var d = tape.grad(sum(y), {x}, {}, {.create_graph = true})[0];
      CHECK(d.item() == 1);
    } else {
      tape.backward(sum(y));
      CHECK(x.grad().item() == 1);
    }
  }
  x.zero_grad();
  CHECK(allocator_stats().allocated_bytes == before);
}

TEST_CASE("a tape does not grow by the regions that it runs again", "[memory]") {
  Var x = leaf_of({1});
  Tape tape;
  Var y = recomputed([&] {
    Var h = x;
    for (int i = 0; i < 1000; ++i) h = mul(h, x);
    return h;
  });
  auto before = allocator_stats().allocated_bytes;
  for (int i = 0; i < 3; ++i) {
    tape.backward(sum(y), {.retain = true});
    x.zero_grad();
  }
  CHECK(allocator_stats().allocated_bytes <= before + 4096);
}

TEST_CASE("memory that runs out while values are saved loses none", "[memory]") {
  std::vector<double> memory{1, 2, 3, 4, 5, 6};
  // Adjacent elements would be hashed in place. These are copied first.
  const Storage shared =
      Storage::over(memory.data(), 6 * sizeof(double), std::make_shared<int>(0), false);
  Var x = Var::leaf(Tensor::from_storage(shared, 0, {3, 2}, {1, 3}, DType::Float64)), c(x.value());
  auto product = [&] {
    Tape tape;
    tape.backward(sum(x * c));
    x.zero_grad();
  };
  product();  // where the next tape saves, values have been
  const auto before = allocator_stats().allocated_bytes;
  int ended = 0;
  for (std::size_t room = 0; room < (std::size_t{1} << 17); room += 512) {
    Tape tape;
    try {
      MemoryLimit limit(room);
      mul(x, x);
    } catch (const MemoryError&) {
      ++ended;
    }
  }
  CHECK(ended > 3);
  product();
  CHECK(allocator_stats().allocated_bytes == before);
}

TEST_CASE("a training step after the first asks the system for nothing", "[memory]") {
  Var w = leaf64({32, 32}, 1, "w");
  Tensor x = random64({32, 32}, 2);
  auto step = [&] {
    Tape tape;
    tape.backward(sum(tanh(matmul(Var(x), tanh(matmul(Var(x), w))))));
    w.zero_grad();
  };
  step();
  auto calls = allocator_stats().system_calls;
  for (int i = 0; i < 5; ++i) step();
  CHECK(allocator_stats().system_calls == calls);
}

TEST_CASE("an exception in the middle of backward leaks nothing", "[memory]") {
  Var x = leaf64({32, 32}, 1);
  auto before = allocator_stats().allocated_bytes;
  {
    Tape tape;
    Var h = tanh(x);
    Hook throws(tape, h, [](const Var&) -> Var { throw ValueError("hook", "on purpose"); });
    Var loss = sum(tanh(matmul(h, h)));
    CHECK_THROWS_AS(tape.backward(loss), ValueError);
  }
  CHECK_FALSE(x.grad().defined());
  CHECK(allocator_stats().allocated_bytes == before);
}

}  // namespace test_memory
