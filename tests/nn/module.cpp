// Modules: names, state dictionaries, modes, ties.
#include "nn/module.hpp"

#include <algorithm>
#include <ctime>

#include "nn/activation.hpp"
#include "nn/attention/positions.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/sequential.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_module {

using namespace glim;

namespace {

// Modules as a user writes them: no word of a scope.
struct Block : Layer {
  explicit Block(Index d) : GLIM_NAMED(inner, d, d), GLIM_NAMED(gain, ones({d})) {}
  Child<Linear> inner;
  Param gain;
  Buffer GLIM_NAMED(count, scalar(0, DType::Int64));
  Buffer GLIM_NAMED(running, zeros({2}));
  Var forward(const Var& x) override { return mul(inner(x), gain); }
};

struct Net : Callable<Net> {
  explicit Net(bool tied) {
    blocks.append(4);
    blocks.append(4);
    if (tied) generator.weight.tie(embed.weight);
  }
  Child<Embedding> GLIM_NAMED(embed, 7, 4);
  Child<ModuleList<Block>> GLIM_NAMED(blocks);
  Child<Dropout> GLIM_NAMED(dropout, 0.5);
  Child<Linear> GLIM_NAMED(generator, 4, 7, false);

  Var forward(const Tensor& ids) {
    Var x = embed(ids);
    for (Block& block : blocks) x = block(x);
    return generator(dropout(x));
  }
};

std::vector<std::string> names_of(const Module& m, bool aliases = false) {
  std::vector<std::string> names;
  for (auto& [name, var] : m.named_parameters(aliases)) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

StateDict copied(const StateDict& state) {
  StateDict copy;
  for (auto& [name, tensor] : state) copy[name] = tensor.clone();
  return copy;
}

const Tensor kIds = from_vector<Index>({1, 2, 3, 6}, {2, 2});

}  // namespace

TEST_CASE("parameters are named by their place in the tree", "[module]") {
  Net net(false);
  CHECK(names_of(net) == Names{"embed.weight", "blocks.0.gain", "blocks.0.inner.weight",
                               "blocks.0.inner.bias", "blocks.1.gain", "blocks.1.inner.weight",
                               "blocks.1.inner.bias", "generator.weight"});
  for (auto& [name, var] : net.named_parameters()) CHECK(var.name() == name);
  CHECK(net.parameter_count() == 28 + 2 * (4 + 16 + 4) + 28);
  Names buffers;
  for (auto& [name, tensor] : net.named_buffers()) buffers.push_back(name);
  CHECK(buffers ==
        Names{"blocks.0.count", "blocks.0.running", "blocks.1.count", "blocks.1.running"});
  StateDict state = net.state_dict();
  CHECK(state.size() == 12);  // the parameters and the buffers
  CHECK(state.count("blocks.1.count") == 1);
}

TEST_CASE("the tape and errors have the names of the parameters", "[module]") {
  Net net(false);
  net.eval();
  Tape tape;
  net(kIds);
  Names paths;
  for (std::size_t i = 0; i < tape.nodes().size(); ++i)
    paths.push_back(tape.path(static_cast<int>(i)));
  auto on_tape = [&](const std::string& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  CHECK(on_tape("embed.index_select"));
  CHECK(on_tape("blocks.1.inner.weight"));
  CHECK(on_tape("blocks.1.mul"));
  CHECK(std::any_of(paths.begin(), paths.end(), [](const std::string& p) {
    return p.rfind("blocks.0.inner.", 0) == 0 && p != "blocks.0.inner.weight";
  }));
  std::string text = error_of<ShapeError>([&] { net.blocks[1](Var(zeros({2, 5}))); });
  CHECK(contains(text, "in blocks.1.inner"));
  CHECK(contains(text, "(2, 5)"));
  text = error_of<IndexError>([&] { net(from_vector<Index>({1, 9}, {2})); });
  CHECK(contains(text, "embed"));
  CHECK(contains(text, "9"));
}

TEST_CASE("a leaf shared with a later subtree keeps its first name", "[module]") {
  struct Head : Module {
    explicit Head(const Param& shared) { weight.tie(shared); }
    Param GLIM_NAMED(weight, zeros({3, 2}));
  };
  struct Model : Module {
    Child<Embedding> GLIM_NAMED(embed, 3, 2);
    Child<Head> GLIM_NAMED(head, embed.weight);
  };
  struct Outer : Module {
    Child<Model> GLIM_NAMED(model);
  } outer;
  CHECK(outer.model.head.weight.name() == "model.embed.weight");
  CHECK(names_of(outer) == Names{"model.embed.weight"});
}

TEST_CASE("names are given in a time that grows as the model does", "[module][slow]") {
  struct Deep : Module {
    Deep() {
      for (int i = 0; i < 20000; ++i) layers.append(1, 1);
    }
    Child<ModuleList<Linear>> GLIM_NAMED(layers);
  };
  const std::clock_t start = std::clock();  // processor time: the machine may be busy
  Deep deep;
  // 0.05; 4·10⁸ names when each layer named all before it again.
  CHECK((std::clock() - start) / CLOCKS_PER_SEC < 20);
  CHECK(deep.layers[19999].weight.name() == "layers.19999.weight");
  CHECK(deep.layers[0].bias.name() == "layers.0.bias");
}

TEST_CASE("names of modules within modules are given once, when somebody asks", "[module]") {
  struct Level : Module {
    explicit Level(std::unique_ptr<Module> below) : inner(*this, "inner", std::move(below)) {}
    Param GLIM_NAMED(weight, zeros({1}));
    Child<std::unique_ptr<Module>> inner;
  };
  const std::clock_t start = std::clock();
  std::unique_ptr<Module> top;
  Var first, last;
  for (int i = 0; i < 2000; ++i) {  // from the innermost on: each names all below it
    auto level = std::make_unique<Level>(std::move(top));
    last = level->weight;
    if (i == 0) first = level->weight;
    top = std::move(level);
  }
  std::string below;
  for (int i = 1; i < 2000; ++i) below += "inner.";
  CHECK(first.name() == below + "weight");
  CHECK(last.name() == "weight");
  CHECK((std::clock() - start) / CLOCKS_PER_SEC < 20);  // 0.03; 8·10⁹ characters at each level
  top.reset();
  CHECK(first.name() == below + "weight");
}

TEST_CASE("a leaf keeps its name when its modules have gone", "[module]") {
  auto inner = std::make_unique<Linear>(1, 1);
  const Var weight = inner->weight, bias = inner->bias;
  {
    struct Outer : Module {
      explicit Outer(Module& part) { register_child("part", part); }
    } outer(*inner);
  }
  CHECK(weight.name() == "part.weight");
  const Var shared = Var::leaf(zeros({1, 1}), "own");
  inner->weight.tie(shared);
  inner.reset();
  CHECK(weight.name() == "part.weight");
  CHECK(bias.name() == "bias");  // named again with the new leaf
  CHECK(shared.name() == "weight");
}

TEST_CASE("a name is given once, is not empty and has no dot", "[module]") {
  struct Twice : Module {
    Child<Dropout> GLIM_NAMED(a, 0.1);
    Param b{*this, "a", zeros({1})};
  };
  struct Dotted : Module {
    Param a{*this, "a.b", zeros({1})};
  };
  struct Nameless : Module {
    Param a{*this, "", zeros({1})};
  };
  struct Buffered : Module {
    Buffer GLIM_NAMED(a, zeros({1}));
    Child<Dropout> b{*this, "a", 0.1};
  };
  CHECK(contains(error_of<StateError>([] { Twice(); }), "Twice has two members 'a'"));
  CHECK(contains(error_of<StateError>([] { Dotted(); }), "Dotted has a member 'a.b'"));
  CHECK(contains(error_of<StateError>([] { Nameless(); }), "Nameless has a member with an empty"));
  CHECK(contains(error_of<StateError>([] { Buffered(); }), "Buffered has two members 'a'"));
}

namespace {

// Overloads, defaults and a child of any kind.
struct Gate : Callable<Gate> {
  explicit Gate(Index d) : GLIM_NAMED(linear, d, d) {}
  Child<Linear> linear;
  Child<std::unique_ptr<Layer>> maybe;

  Var forward(const Var& x, const Var& h, double scale = 1) {
    return mul(mul(linear(x), sigmoid(h)), scale);
  }
  Var forward(const Tensor& x) { return maybe(Var(x)); }
};
struct Gated : Callable<Gated> {
  Child<Gate> GLIM_NAMED(gate, 3);

  Var forward(const Var& x) { return gate(x, x); }
};

}  // namespace

TEST_CASE("a module that says nothing of a scope has its path on nodes and in errors", "[module]") {
  Gated net;
  Tape tape;
  net(Var(zeros({2, 3})));
  bool sigmoid_in_gate = false, product_in_linear = false;
  for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
    std::string path = tape.path(static_cast<int>(i));
    if (path.rfind("gate.", 0) != 0) CHECK(path == "");
    sigmoid_in_gate = sigmoid_in_gate || path == "gate.mul";
    product_in_linear = product_in_linear || path.rfind("gate.linear.", 0) == 0;
  }
  CHECK(sigmoid_in_gate);
  CHECK(product_in_linear);
  CHECK(contains(error_of<ShapeError>([&] { net(Var(zeros({2, 5}))); }), "in gate.linear"));
}

TEST_CASE("a child that is absent is said so, and one that goes is forgotten", "[module]") {
  Gate gate(3);
  CHECK(contains(error_of<StateError>([&] {
                   gate(zeros({2, 3}));
                 }),
                 "the child Layer is used, but is absent"));
  CHECK_FALSE(gate.maybe);
  gate.maybe = Child<std::unique_ptr<Layer>>(gate, "maybe", std::make_unique<Linear>(3, 1));
  CHECK(gate(zeros({2, 3})).shape() == Shape{2, 1});
  CHECK(names_of(gate).size() == 4);
  gate.maybe = {};
  CHECK(names_of(gate) == Names{"linear.weight", "linear.bias"});
}

TEST_CASE("assigning a parameter writes its value and keeps the leaf", "[module]") {
  Gated net;
  Param& weight = net.gate.linear.weight;
  const Leaf* leaf = &weight.leaf();
  weight = full({3, 3}, 2, DType::Float64);
  CHECK(&weight.leaf() == leaf);
  CHECK(weight.value().to_vector<float>() == std::vector<float>(9, 2));
  std::string text = error_of<ShapeError>([&] { weight = ones({2, 3}); });
  CHECK(contains(text, "gate.linear.weight"));
  CHECK(contains(text, "(2, 3)"));
  static_assert(!std::is_assignable_v<Param&, const Var&>);
  static_assert(!std::is_assignable_v<Param&, const Param&>);
  static_assert(!std::is_copy_constructible_v<Linear> && !std::is_move_constructible_v<Linear>);
  // Tied on purpose: one leaf under both names, of one shape.
  Linear other(3, 3), wide(3, 4);
  weight.tie(other.weight);
  CHECK(same_leaf(weight, other.weight));
  CHECK_THROWS_AS(weight.tie(wide.weight), ShapeError);
  CHECK_THROWS_AS(weight.tie(Var::leaf(zeros(weight.shape(), DType::Float64))), DTypeError);
  CHECK_THROWS_AS(weight.tie(Var(zeros({3, 3}))), StateError);
  Linear plain(3, 3, false);
  CHECK_THROWS_AS(plain.bias.tie(other.bias), StateError);
  CHECK_THROWS_AS(plain.bias = ones({3}), StateError);
}

TEST_CASE("a state dictionary gives the same model back", "[module]") {
  for (bool tied : {false, true}) {
    INFO((tied ? "tied" : "untied"));
    seed(1);
    Net from(tied);
    from.blocks[1].count.fill_(3);
    seed(2);
    Net to(tied);
    from.eval();
    to.eval();
    CHECK_FALSE(same_bits(from(kIds).value(), to(kIds).value()));
    StateDict state = copied(from.state_dict());
    to.load_state_dict(state);
    CHECK(same_bits(from(kIds).value(), to(kIds).value()));
    CHECK(to.blocks[1].count.item() == 3);
    for (auto& [name, tensor] : to.state_dict()) CHECK(same_bits(tensor, state.at(name)));
    // The loaded values are copies.
    state.at("embed.weight").fill_(9);
    CHECK(same_bits(from.embed.weight.value(), to.embed.weight.value()));
  }
}

TEST_CASE("tied leaves are one parameter under two names", "[module]") {
  Net net(true);
  net.eval();
  CHECK(same_leaf(net.embed.weight, net.generator.weight));
  Names once = names_of(net), all = names_of(net, true);
  CHECK(once.size() == 7);
  CHECK(all.size() == 8);
  CHECK(std::count(once.begin(), once.end(), "generator.weight") == 0);
  CHECK(net.parameter_count() == 28 + 48);
  // As one vector, and back.
  const Tensor vector = net.parameter_vector();
  CHECK(vector.shape() == Shape{28 + 48});
  net.set_parameter_vector(2.0 * vector);
  CHECK(same_bits(net.parameter_vector(), 2.0 * vector));
  net.set_parameter_vector(vector);
  CHECK_THROWS_AS(net.set_parameter_vector(narrow(vector, 0, 0, 75)), ShapeError);
  CHECK_THROWS_AS(net.set_parameter_vector(vector.to(DType::Float64)), DTypeError);
  Net mixed(false);
  mixed.children().back().second->to(DType::Float64);
  const Tensor before = mixed.parameters()[0].value().clone();
  REQUIRE(before.dtype() == DType::Float32);
  CHECK_THROWS_AS(mixed.set_parameter_vector(ones({mixed.parameter_count()})), DTypeError);
  CHECK(same_bits(mixed.parameters()[0].value(), before));  // nothing is written
  StateDict state = net.state_dict();
  CHECK(state.at("generator.weight").storage() == state.at("embed.weight").storage());
  // The gradient is the sum of what both uses give.
  Net apart(false);
  apart.eval();
  apart.load_state_dict(state);
  for (Net* n : {&net, &apart}) {
    Tape tape;
    Var y = (*n)(kIds);
    tape.backward(sum(mul(y, y)));
  }
  CHECK(close(net.embed.weight.grad(),
              add(apart.embed.weight.grad(), apart.generator.weight.grad()), 1e-5));
  net.to(DType::Float64);
  CHECK(same_leaf(net.embed.weight, net.generator.weight));
  CHECK(net.generator.weight.dtype() == DType::Float64);
}

TEST_CASE("loading says what is missing, unknown or misshapen, and changes nothing then",
          "[module]") {
  Net net(false);
  StateDict before = copied(net.state_dict());
  auto unchanged = [&] {
    for (auto& [name, tensor] : net.state_dict())
      if (!same_bits(tensor, before.at(name))) return false;
    return true;
  };
  StateDict state = copied(before);
  for (auto& [name, tensor] : state)
    if (is_floating(tensor.dtype())) tensor.fill_(1);
  state.erase("blocks.0.gain");
  state["blocks.2.gain"] = ones({4});
  std::string text = error_of<ValueError>([&] { net.load_state_dict(state); });
  CHECK(contains(text, "missing: blocks.0.gain"));
  CHECK(contains(text, "unknown: blocks.2.gain"));
  CHECK(unchanged());

  state = copied(before);
  state["generator.weight"] = ones({7, 5});
  text = error_of<ShapeError>([&] { net.load_state_dict(state); });
  CHECK(contains(text, "generator.weight"));
  CHECK(contains(text, "(7, 4)"));
  CHECK(contains(text, "(7, 5)"));
  CHECK(unchanged());

  StateDict part{{"blocks.0.gain", full({4}, 2, DType::Float64)}, {"other", ones({1})}};
  net.load_state_dict(part, false);
  CHECK(net.blocks[0].gain.value().to_vector<float>() == std::vector<float>{2, 2, 2, 2});
  CHECK(same_bits(net.blocks[1].gain.value(), before.at("blocks.1.gain")));
}

TEST_CASE("train and eval reach every module", "[module]") {
  Net net(false);
  CHECK(net.dropout.training());
  net.eval();
  CHECK_FALSE(net.training());
  CHECK_FALSE(net.blocks[1].inner.training());
  CHECK_FALSE(net.dropout.training());
  Tensor a = net(kIds).value(), b = net(kIds).value();
  CHECK(same_bits(a, b));
  net.train();
  a = net(kIds).value();
  b = net(kIds).value();
  CHECK_FALSE(same_bits(a, b));
}

TEST_CASE("to() converts parameters and floating buffers", "[module]") {
  Net net(false);
  {
    Tape tape;
    tape.backward(sum(net(kIds)));
  }
  net.to(DType::Float64);
  for (auto& [name, var] : net.named_parameters()) {
    INFO(name);
    CHECK(var.dtype() == DType::Float64);
    CHECK_FALSE(var.grad().defined());
  }
  CHECK(net.blocks[0].running.dtype() == DType::Float64);
  CHECK(net.blocks[0].count.dtype() == DType::Int64);
  CHECK(net(kIds).dtype() == DType::Float64);
}

TEST_CASE("gradients add up until zero_grad, and frozen parameters get none", "[module]") {
  Net net(false);
  net.eval();
  auto run = [&] {
    Tape tape;
    tape.backward(sum(net(kIds)));
  };
  run();
  Tensor once = net.generator.weight.grad().clone();
  run();
  CHECK(close(net.generator.weight.grad(), mul(once, 2), 1e-6));
  net.zero_grad();
  for (const Var& p : net.parameters()) CHECK_FALSE(p.grad().defined());

  CHECK(net.freeze("blocks.*").size() == 6);
  run();
  for (auto& [name, var] : net.named_parameters()) {
    INFO(name);
    CHECK(var.grad().defined() == (name.rfind("blocks.", 0) != 0));
  }
  net.unfreeze("*.gain");
  run();
  CHECK(net.blocks[0].gain.grad().defined());
  CHECK_FALSE(net.blocks[0].inner.weight.grad().defined());
}

TEST_CASE("Sequential chains layers under numbers", "[module]") {
  Sequential net;
  Linear& first = net.append<Linear>(3, 5);
  net.append<Tanh>();
  Sequential& inner = net.append<Sequential>();
  Linear& last = inner.append<Linear>(5, 2, false);
  CHECK(net.size() == 3);
  CHECK(names_of(net) == Names{"0.weight", "0.bias", "2.0.weight"});
  CHECK(&net[0] == &first);
  Var x(normal({4, 3}, 0, 1, {1, 1}));
  CHECK(same_bits(net(x).value(), last(tanh(first(x))).value()));
  Tape tape;
  Var y = net(x);
  CHECK(contains(tape.path(tape.node_of(y)), "2.0."));
  Sequential empty;
  CHECK(same_bits(empty(x).value(), x.value()));
}

}  // namespace test_module
