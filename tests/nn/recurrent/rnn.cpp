// Recurrent cells and layers against torch's, and facts about them.
#include "nn/recurrent/rnn.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_rnn {

using namespace glim;

namespace {

const Reference& reference() { return stored("recurrent"); }

// Float32 runs through up to twenty steps, whose rounding adds up.
double tolerance(DType dtype) { return dtype == DType::Float64 ? 1e-11 : 1e-4; }

void load(Module& module, const std::string& name, DType dtype) {
  module.to(dtype);
  module.zero_grad();
  StateDict state;
  for (const std::string& p : reference().keys(name + ".param."))
    state[p] = reference().get(name + ".param." + p, dtype);
  module.load_state_dict(state);  // strict: the names are torch's
}

struct Inputs {
  Var x, h, c;
  // One state, as Glim has it.
  Var start() const { return c.defined() ? concatenate({h, c}, -1) : h; }
};
// torch's two of an LSTM's state.
Var part(const Var& state, Index i, Index hidden) { return narrow(state, -1, i * hidden, hidden); }

Inputs inputs_of(const std::string& name, DType dtype) {
  auto leaf = [&](const std::string& key) {
    bool has = reference().has(name + "." + key);
    return has ? Var::leaf(reference().get(name + "." + key, dtype)) : Var();
  };
  return {leaf("x"), leaf("h0"), leaf("c0")};
}

// Outputs, and the gradients of their products with the upstream ones.
void compare(Module& module, const std::string& name, DType dtype, const Inputs& in,
             const std::vector<std::pair<std::string, Var>>& outputs, Tape& tape) {
  double limit = tolerance(dtype);
  Var total(scalar(0, dtype));
  for (auto& [key, value] : outputs) {
    INFO(key);
    CHECK(distance(value.value(), reference().get(name + "." + key)) <= limit);
    total = add(total, sum(mul(value, Var(reference().get(name + ".d" + key, dtype)))));
  }
  tape.backward(total);
  for (auto& [key, var] : {std::pair("dx", in.x), std::pair("dh0", in.h), std::pair("dc0", in.c)})
    if (var.defined()) {
      INFO(key);
      CHECK(distance(var.grad(), reference().get(name + "." + key)) <= limit);
    }
  for (auto& [path, var] : module.named_parameters()) {
    INFO(path);
    CHECK(distance(var.grad(), reference().get(name + ".grad." + path)) <= limit);
  }
}

CellKind kind_named(const std::string& name) {
  return name == "gru"    ? CellKind::Gru
         : name == "lstm" ? CellKind::Lstm
         : name == "rnn"  ? CellKind::Tanh
                          : CellKind::Relu;
}

// One step, as torch's cells take it.
struct Cell : Module {
  Cell(CellKind k, bool bias) : kind(k), weights(*this, "", gates_of(k) * 4, 3, 4, bias) {}
  Var step(const Var& x, const Var& state) const {
    return cell_step(kind, linear(x, weights.weight_ih, weights.bias_ih), state, weights);
  }
  CellKind kind;
  CellWeights weights;
};

const std::vector<std::string> kKinds = {"rnn", "rnn_relu", "gru", "lstm"};

Tensor lengths_of(std::initializer_list<Index> list) {
  return from_vector(std::vector<Index>(list), {static_cast<Index>(list.size())});
}

Tensor random(const Shape& shape, std::uint64_t stream, DType dtype = DType::Float32) {
  return uniform(shape, -1, 1, {31, stream}, dtype);
}

}  // namespace

TEST_CASE("recurrent cells equal torch's", "[nn][recurrent][reference]") {
  in_every_form([](DType dtype) {
    for (const std::string& kind : kKinds)
      for (bool bias : {true, false}) {
        std::string name = "cell_" + kind + (bias ? "" : "_no_bias");
        INFO(name << " " << name_of(dtype));
        Cell cell(kind_named(kind), bias);
        load(cell, name, dtype);
        Inputs in = inputs_of(name, dtype);
        Tape tape;
        Var next = cell.step(in.x, in.start());
        std::vector<std::pair<std::string, Var>> outputs{{"hn", part(next, 0, 4)}};
        if (kind == "lstm") outputs.emplace_back("cn", part(next, 1, 4));
        compare(cell, name, dtype, in, outputs, tape);
      }
  });
}

TEST_CASE("recurrent layers equal torch's, packed sequences among them",
          "[nn][recurrent][reference]") {
  in_every_form([](DType dtype) {
    for (const std::string& kind : kKinds)
      for (const char* variant : {"plain", "no_bias", "initial", "two_layers", "both_ways",
                                  "lengths", "all", "time_first"}) {
        std::string name = kind + "_" + variant;
        INFO(name << " " << name_of(dtype));
        const auto& config = reference().config(name);
        RecurrentOptions o;
        o.layers = config.at("num_layers");
        o.bidirectional = config.at("bidirectional");
        o.bias = config.at("bias");
        const bool time_first = !config.at("batch_first");  // torch alone has it
        auto layer = std::make_unique<Recurrent>(kind_named(kind), 3, 4, o);
        load(*layer, name, dtype);
        Inputs in = inputs_of(name, dtype);
        Tensor lengths;
        if (reference().has(name + ".lengths")) lengths = reference().get(name + ".lengths");
        Tape tape;
        auto turned = [&](const Var& v) { return time_first ? transpose(v, 0, 1) : v; };
        RecurrentOutput out = (*layer)(turned(in.x), in.start(), lengths);
        std::vector<std::pair<std::string, Var>> outputs{{"y", turned(out.y)},
                                                         {"hn", part(out.state, 0, 4)}};
        if (kind == "lstm") outputs.emplace_back("cn", part(out.state, 1, 4));
        compare(*layer, name, dtype, in, outputs, tape);
      }
  });
}

TEST_CASE("padding never reaches a state", "[nn][recurrent]") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& kind : kKinds) {
    INFO(kind);
    auto layer = std::make_unique<Recurrent>(kind_named(kind), 3, 5,
                                             RecurrentOptions{.layers = 2, .bidirectional = true});
    Tensor lengths = lengths_of({4, 2, 1});
    Tensor x = random({3, 4, 3}, 1);
    RecurrentOutput plain = (*layer)(Var(x), Var(), lengths);
    // Whatever is in the padding, even what is no number.
    Tensor other = x.clone();
    narrow(select(other, 0, 1), 0, 2, 2).fill_(kNaN);
    narrow(select(other, 0, 2), 0, 1, 3).fill_(1e30);
    RecurrentOutput padded = (*layer)(Var(other), Var(), lengths);
    CHECK(same_bits(plain.y.value(), padded.y.value()));
    CHECK(same_bits(plain.state.value(), padded.state.value()));
    // Outputs there are 0.
    CHECK(max(abs(narrow(select(plain.y.value(), 0, 1), 0, 2, 2))).item() == 0);
    CHECK(max(abs(narrow(select(plain.y.value(), 0, 2), 0, 1, 3))).item() == 0);
    // A sequence with others gives what it gives alone.
    for (auto [row, n] : {std::pair<Index, Index>{0, 4}, {1, 2}, {2, 1}}) {
      RecurrentOutput alone = (*layer)(Var(narrow(narrow(x, 0, row, 1), 1, 0, n)));
      CHECK(distance(select(alone.y.value(), 0, 0),
                     narrow(select(plain.y.value(), 0, row), 0, 0, n)) < 1e-6);
      CHECK(distance(select(alone.state.value(), 1, 0), select(plain.state.value(), 1, row)) <
            1e-6);
    }
  }
}

TEST_CASE("padding gets no gradient and sends none", "[nn][recurrent]") {
  for (const std::string& kind : kKinds) {
    INFO(kind);
    auto layer = std::make_unique<Recurrent>(kind_named(kind), 3, 4,
                                             RecurrentOptions{.bidirectional = true});
    Var x = Var::leaf(random({2, 3, 3}, 2));
    Tape tape;
    RecurrentOutput out = (*layer)(x, Var(), lengths_of({3, 1}));
    tape.backward(add(sum(out.y), sum(out.state)));
    CHECK(max(abs(narrow(select(x.grad(), 0, 1), 0, 1, 2))).item() == 0);
    CHECK(max(abs(narrow(select(x.grad(), 0, 1), 0, 0, 1))).item() > 0);
    Tensor from_all = layer->weights(0).weight_hh.grad().clone();
    layer->zero_grad();
    // The upstream gradient of a padded output does not count.
    Tape again;
    RecurrentOutput same = (*layer)(x, Var(), lengths_of({3, 1}));
    Tensor up = ones(same.y.shape());
    narrow(select(up, 0, 1), 0, 1, 2).fill_(1e6);
    again.backward(add(sum(mul(same.y, Var(up))), sum(same.state)));
    CHECK(same_bits(layer->weights(0).weight_hh.grad(), from_all));
  }
}

TEST_CASE("the first direction never looks ahead", "[nn][recurrent]") {
  for (const std::string& kind : kKinds) {
    INFO(kind);
    auto layer = std::make_unique<Recurrent>(kind_named(kind), 3, 4, RecurrentOptions{.layers = 2});
    Tensor x = random({2, 5, 3}, 3), later = x.clone();
    narrow(later, 1, 3, 2).fill_(0.5);
    Tensor y = (*layer)(Var(x)).y.value(), z = (*layer)(Var(later)).y.value();
    CHECK(same_bits(narrow(y, 1, 0, 3).contiguous(), narrow(z, 1, 0, 3).contiguous()));
    CHECK(distance(select(y, 1, 3), select(z, 1, 3)) > 1e-4);
  }
}

TEST_CASE("a sequence in two halves, the state handed on, equals the whole", "[nn][recurrent]") {
  for (const std::string& kind : kKinds) {
    INFO(kind);
    auto layer = std::make_unique<Recurrent>(kind_named(kind), 3, 4, RecurrentOptions{.layers = 2});
    layer->to(DType::Float64);
    Tensor x = random({2, 6, 3}, 4, DType::Float64);
    RecurrentOutput whole = (*layer)(Var(x));
    RecurrentOutput first = (*layer)(Var(narrow(x, 1, 0, 2)));
    RecurrentOutput second = (*layer)(Var(narrow(x, 1, 2, 4)), first.state);
    CHECK(distance(second.y.value(), narrow(whole.y.value(), 1, 2, 4)) < 1e-12);
    CHECK(distance(second.state.value(), whole.state.value()) < 1e-12);
  }
}

TEST_CASE("recurrent layers start as torch's and have its names", "[nn][recurrent]") {
  seed(8);
  Recurrent layer(CellKind::Lstm, 30, 64, {.layers = 2, .bidirectional = true});
  std::vector<std::string> names;
  for (auto& [name, p] : layer.named_parameters()) {
    names.push_back(name);
    // Uniform on ±1/√H: deviation 1/√(3H).
    CHECK(max(abs(p.value())).item() <= 1 / std::sqrt(64.0));
    CHECK(std::abs(mean(p.value()).item()) < 0.02);
    CHECK(mean(mul(p.value(), p.value())).item() == Approx(1 / (3 * 64.0)).epsilon(0.2));
  }
  CHECK(names == std::vector<std::string>{
                     "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0",
                     "weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse",
                     "bias_hh_l0_reverse", "weight_ih_l1", "weight_hh_l1", "bias_ih_l1",
                     "bias_hh_l1", "weight_ih_l1_reverse", "weight_hh_l1_reverse",
                     "bias_ih_l1_reverse", "bias_hh_l1_reverse"});
  CHECK(layer.weights(1).weight_ih.shape() == Shape{256, 128});
  CHECK(Recurrent(CellKind::Gru, 3, 4).weights(0).weight_ih.shape() == Shape{12, 3});
  CHECK(Recurrent(CellKind::Gru, 3, 4, {.bias = false}).named_parameters().size() == 2);
}

TEST_CASE("dropout falls between layers, in training alone", "[nn][recurrent]") {
  seed(9);
  Recurrent layer(CellKind::Gru, 3, 50, {.layers = 2, .dropout = 0.5});
  Var x(random({4, 3, 3}, 5));
  layer.eval();
  Tensor calm = layer(x).y.value();
  CHECK(same_bits(calm, layer(x).y.value()));
  layer.train();
  RecurrentOutput a = layer(x), b = layer(x);
  CHECK(distance(a.y.value(), b.y.value()) > 1e-3);
  CHECK(min(abs(a.y.value())).item() > 0);  // the last layer's outputs are not dropped
  // The first layer's final state comes before any dropout.
  CHECK(same_bits(select(a.state.value(), 0, 0).contiguous(),
                  select(b.state.value(), 0, 0).contiguous()));
}

TEST_CASE("the tape names steps, gates and modules", "[nn][recurrent]") {
  UseForm use(OpForm::Explicit);
  struct Model final : Module {
    Model() : GLIM_NAMED(encoder, CellKind::Gru, 2, 3, RecurrentOptions{.bidirectional = true}) {}
    Child<Recurrent> encoder;
  } model;
  Tape tape;
  model.encoder(Var(random({1, 2, 2}, 7)));
  std::vector<std::string> paths;
  for (int i = 0; i < static_cast<int>(tape.nodes().size()); ++i) paths.push_back(tape.path(i));
  auto has = [&](const std::string& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  CHECK(has("encoder.l0.t0.reset"));
  CHECK(has("encoder.l0.t1.update"));
  CHECK(has("encoder.l0_reverse.t0.candidate"));
}

TEST_CASE("recurrent layers refuse what does not fit, by name", "[nn][recurrent]") {
  Recurrent gru(CellKind::Gru, 3, 4), lstm(CellKind::Lstm, 3, 4, {.bidirectional = true});
  Var x(zeros({2, 5, 3}));
  CHECK_THROWS_AS(Recurrent(CellKind::Gru, 0, 4), ValueError);
  CHECK_THROWS_AS(Recurrent(CellKind::Gru, 3, 0), ValueError);
  CHECK_THROWS_AS(Recurrent(CellKind::Gru, 3, 4, {.layers = 0}), ValueError);
  CHECK_THROWS_AS(Recurrent(CellKind::Gru, 3, 4, {.dropout = 1.5}), ValueError);
  CHECK_THROWS_AS(Recurrent(CellKind::Gru, 3, 4, {.dropout = std::nan("")}), ValueError);
  CHECK_THROWS_AS(gru(Var(zeros({5, 3}))), ShapeError);
  CHECK_THROWS_AS(gru(Var(zeros({2, 5, 4}))), ShapeError);
  CHECK_THROWS_AS(gru(Var(zeros({2, 0, 3}))), ShapeError);
  CHECK_THROWS_AS(gru(x, Var(zeros({2, 2, 4}))), ShapeError);
  CHECK_THROWS_AS(lstm(x, Var(zeros({2, 2, 4}))), ShapeError);
  CHECK_THROWS_AS(gru(x, Var(zeros({1, 2, 4}, DType::Float64))), DTypeError);
  CHECK_THROWS_AS(gru.weights(0, true), IndexError);
  CHECK_THROWS_AS(gru.weights(1), IndexError);

  CHECK_THROWS_AS(gru(x, Var(), lengths_of({1})), ShapeError);
  CHECK_THROWS_AS(gru(x, Var(), zeros({2})), DTypeError);
  for (Index wrong : {-1, 0, 6}) {
    std::string text = error_of<ValueError>([&] { gru(x, Var(), lengths_of({5, wrong})); });
    CHECK(contains(text, "sequence 1 is " + std::to_string(wrong)));
    CHECK(contains(text, "T = 5"));
  }
  // No sequences at all are fine.
  CHECK(gru(Var(zeros({0, 5, 3}))).y.shape() == Shape{0, 5, 4});
}

}  // namespace test_rnn
