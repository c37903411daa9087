// Wrong ops within layers: the check of the layer names the op at fault, and its mistake.
#include <cstdio>

#include "nn/attention/self.hpp"
#include "nn/recurrent/rnn.hpp"
#include "tests/autograd/gradcheck/common.hpp"
#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace test_within_layers {

using namespace glim;
using namespace glim::wrongs;

namespace {

// The op's inputs are made by a layer, within (0.3, 2), and another linear layer reads its output.
struct Around final : Module {
  Around(const WrongOp& op, const WrongGradient* wrong, int kind)
      : op_(op),
        wrong_(wrong),
        GLIM_NAMED(linear, 2, 3),
        GLIM_NAMED(attention, 2, 2, 3),
        GLIM_NAMED(lstm, CellKind::Lstm, 2, 3),
        GLIM_NAMED(out, 1, 2),
        kind_(kind) {
    to(DType::Float64);
  }
  Var forward(const Var& x) {
    const Var h = kind_ == 0 ? linear(x) : kind_ == 1 ? attention(x) : lstm(x).y;
    const Var centred = reshape(h, {-1}) - mean(h);
    const Var elements = 1.15 + 0.8 * tanh(1.5 * centred / sqrt(mean(centred * centred)));
    Vars inputs;
    Index from = 0;
    for (const Shape& s : op_.inputs) {
      inputs.push_back(reshape(narrow(elements, 0, from, numel_of(s)), s));
      from += numel_of(s);
    }
    return tanh(out(reshape(planted(op_, wrong_, inputs), {-1, 1})));
  }
  // Its parameters that are used.
  NamedParameters used() const {
    const char* prefix[] = {"linear", "attention", "lstm"};
    NamedParameters list;
    for (const auto& p : named_parameters())
      if (p.first.starts_with(prefix[kind_]) || p.first.starts_with("out")) list.push_back(p);
    return list;
  }

 private:
  const WrongOp& op_;
  const WrongGradient* wrong_;

 public:
  Child<Linear> linear;
  Child<SelfAttention> attention;
  Child<Recurrent> lstm;
  Child<Linear> out;

 private:
  int kind_;
};

GradcheckReport check(const WrongOp& op, const WrongGradient* wrong, int kind) {
  seed(3);
  Around layer(op, wrong, kind);
  Index elements = 0;
  for (const Shape& s : op.inputs) elements += numel_of(s);
  const Var x(uniform({1, (elements + 2) / 3, 2}, -2, 2, {5, 1}, DType::Float64));
  return gradcheck([&] { return layer.forward(x); }, layer.used(), {.mode = Mode::Projection});
}

// The expected text of the mistake, with this report's names for the inputs x0, x1, ...
std::string looks(const WrongGradient& w, const GradcheckReport& at) {
  std::string text = w.looks;
  for (std::size_t k = 0; k < at.inputs.size(); ++k)
    if (auto found = text.find("x" + std::to_string(k)); found != std::string::npos)
      return text.replace(found, 2, at.inputs[k].name);
  return text;
}

}  // namespace

TEST_CASE("within a layer the op at fault is named, and its mistake", "[faults][slow]") {
  const char* kinds[] = {"linear", "attention", "LSTM"};
  Index planted_ones = 0, found = 0, other = 0, missed = 0, mistakes = 0, named = 0, wrongly = 0;
  for (int kind : {0, 1, 2}) {
    for (const WrongOp& op : wrong_ops()) {
      INFO(kinds[kind] << ", " << op.name);
      CHECK(decided(check(op, nullptr, kind)));
      for (const WrongGradient& w : op.wrong) {
        const GradcheckReport report = check(op, &w, kind);
        INFO(w.mistake << "\n" << report);
        ++planted_ones;
        missed += report.failed() == 0;
        bool right = false;
        for (const GradcheckReport& at : report.ops_at_fault) {
          const bool it = at.function.starts_with("planted at planted.cpp:");
          right = right || it;
          other += !it;
          if (!it) continue;
          const std::string& name = at.inputs[w.input].mistake.name;
          const bool fits = *w.looks && name.find(looks(w, at)) != std::string::npos;
          mistakes += *w.looks != 0;
          named += fits;
          wrongly += !fits && !name.empty();
        }
        found += right;
        CHECK(right);
        for (const GradcheckEntry& e : report.inputs) CHECK(e.mistake.name.empty());
      }
    }
    std::printf(
        "%s: of %lld wrong ops %lld named, %lld others, %lld passed; of %lld mistakes %lld "
        "named rightly, %lld wrongly\n",
        kinds[kind], static_cast<long long>(planted_ones), static_cast<long long>(found),
        static_cast<long long>(other), static_cast<long long>(missed),
        static_cast<long long>(mistakes), static_cast<long long>(named),
        static_cast<long long>(wrongly));
  }
  CHECK(found * 100 >= planted_ones * 95);
  CHECK(other * 100 <= planted_ones);
  CHECK(named * 100 >= mistakes * 90);
  CHECK(wrongly * 100 <= mistakes);
}

}  // namespace test_within_layers
