#include "tests/autograd/gradcheck/wrong/wrong.hpp"

namespace glim::wrongs {
namespace {

struct Planted final : Op {
  static constexpr Formula formula{"planted", "y = f(x)", {"d(input) = what the rule gives"}};
  Planted(Forward forward, Rule rule) : forward_(std::move(forward)), rule_(std::move(rule)) {}
  Tensor forward(const std::vector<Tensor>& x) {
    for (std::size_t k = 0; k < x.size(); ++k) save(static_cast<int>(k));
    save_output();
    count_ = x.size();
    return forward_(Vars(x.begin(), x.end())).value().clone();
  }
  Grads gradient(const Var& dy) const override {
    At a{dy, {}, output()};
    for (std::size_t k = 0; k < count_; ++k) a.x.push_back(saved(static_cast<int>(k)));
    const Vars list = rule_(a);
    Grads d;
    for (std::size_t k = 0; k < list.size(); ++k) d[k] = list[k];
    return d;
  }

 private:
  Forward forward_;
  Rule rule_;
  std::size_t count_ = 0;
};

}  // namespace

Var planted(const Forward& forward, const Rule& rule, const Vars& x) {
  return glim::apply(Planted(forward, rule), x, Where::current());
}

Var planted(const WrongOp& op, const WrongGradient* wrong, const Vars& x) {
  return planted(
      op.forward,
      [right = op.right, w = wrong ? *wrong : WrongGradient{}](const At& a) {
        Vars d;
        for (std::size_t k = 0; k < right.size(); ++k)
          d.push_back((w.dx && k == w.input ? w.dx : right[k])(a));
        return d;
      },
      x);
}

std::vector<WrongOp> wrong_ops() {
  std::vector<WrongOp> all;
  for (auto part : {wrong_functions, wrong_products, wrong_rows})
    for (WrongOp& op : part()) all.push_back(std::move(op));
  return all;
}

}  // namespace glim::wrongs
