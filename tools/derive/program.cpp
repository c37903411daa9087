#include "tools/derive/program.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/error.hpp"
#include "tools/common/ascii.hpp"
#include "tools/derive/fill.hpp"

namespace glim::derive {
namespace {

bool elementwise(const std::string& op) {
  return op == "add" || op == "sub" || op == "mul" || op == "div" || op == "maximum" ||
         op == "minimum" || op == "power" || op == "where";
}

const Dims& dims_of(const Value& v, std::string_view name) {
  static const Dims none;
  for (const Argument& a : v.arguments)
    if (a.name == name) return a.dims;
  return none;
}
double number_of(const Value& v, std::string_view name) {
  for (const Argument& a : v.arguments)
    if (a.name == name) return a.number;
  return 0;
}

}  // namespace

Dims reduced_axes(const Shape& shape, const Shape& target, bool sentences) {
  Dims reduced;
  const int leading = shape.rank() - target.rank();
  for (int i = 0; i < shape.rank(); ++i)
    if (i < leading || target[i - leading] != shape[i] || (i == 0 && shape[0] == 1 && sentences))
      reduced.push_back(i);
  return reduced;
}

std::string_view form_of_sum(const Shape& shape, const Shape& target) {
  for (int i = 1; i <= target.rank(); ++i)
    if (shape[shape.rank() - i] != target[target.rank() - i])
      return shape.rank() == target.rank() ? "sum_kept" : "sum_to";
  return target.rank() == 1 ? "sum_rows" : "sum_leading";
}

namespace {

// The op, or the special case of it that has a form of its own.
std::string form_of(const Value& v, const Trace& trace) {
  auto nonzero = [&](const char* name) { return number_of(v, name) != 0; };
  if (v.op == "permute") {
    Dims last = dims_of(v, "axes");
    const int n = last.rank();
    if (n < 2) return v.op;
    std::swap(last[n - 1], last[n - 2]);
    for (int i = 0; i < n; ++i)
      if (last[i] != i) return v.op;
    return n == 2 ? "transpose_matrix" : "transpose";
  }
  if (v.op == "sum")
    return dims_of(v, "axes").empty() ? "sum_all" : nonzero("keepdim") ? "sum_keep" : "sum";
  if (v.op == "sum_to") return std::string(form_of_sum(trace[v.inputs[0]].shape(), v.shape()));
  if ((v.op == "cumsum" || v.op == "linear_recurrence") && nonzero("reverse"))
    return v.op + "_reverse";
  if (v.op == "gelu" && nonzero("tanh")) return "gelu_tanh";
  if (v.op == "index_select" && number_of(v, "axis") == 0) return "rows";
  if (v.op == "shift" && number_of(v, "c") < 0) return "shift_down";
  return v.op;
}

}  // namespace

std::string Expressions::dims(const Dims& d, bool) const {
  std::string text;
  for (int i = 0; i < d.rank(); ++i) text += (i ? ", " : "") + std::to_string(d[i]);
  return language_ == kCpp ? "{" + text + "}" : "(" + text + (d.rank() == 1 ? ",)" : ")");
}

// The shortest text that reads back as this number; 1/√n where it is that.
std::string Expressions::number(double c) const {
  std::string text = shown(c);
  if (text.size() > 7 && c > 0)
    for (int n = 2; n <= 4096; ++n)
      if (c == 1 / std::sqrt(static_cast<double>(n)))
        return fill_in(language_ == kText             ? "1/√{}"
                       : language_ == kNumpy          ? "(1 / np.sqrt({}))"
                       : size(n) == std::to_string(n) ? "(1 / std::sqrt({}.))"
                                                      : "(1 / std::sqrt({}))",
                       size(n));
  if (language_ == kText && text.size() > 7 && c > 1 && std::abs(c * c - std::round(c * c)) < 1e-4)
    return "√" + size(static_cast<Index>(std::round(c * c)));
  return language_ == kText && text.size() > 7 ? shown(c, 4) : text;
}

// A number where a tensor has to be.
std::string Expressions::full(const Value& v) const {
  if (language_ == kNumpy)
    return fill_in("np.full({}, {}, float)", dims(v.shape(), v.batch), number(v.number()));
  if (language_ == kCpp)
    return fill_in("full({}, {}, DType::Float64)", dims(v.shape(), v.batch), number(v.number()));
  return number(v.number());
}

std::string Expressions::axes_of(const Dims& axes, const Shape& shape) {
  std::string text;
  for (Index a : axes)
    text += (text.empty() ? "" : ",") + (a == shape.rank() - 1 ? "-1" : std::to_string(a));
  return text.empty() ? "all" : text;
}

std::string Expressions::argument(const Value& v, const std::string& name,
                                  const std::string& op) const {
  for (const auto& [tensor, value] : v.tensors)
    if (tensor == name)
      return at(value).is_number() ? number(at(value).number()) : operand(value).text;
  const bool python = language_ == kNumpy;
  // "(1, 2)", and of one axis its number; C++ has a list. In text the last axis is -1.
  auto axes = [&](const Dims& d) {
    if (language_ == kCpp || (python && d.rank() != 1)) return Expressions::dims(d);
    return python ? std::to_string(d[0]) : axes_of(d, at(v.inputs[0]).shape());
  };
  if (name == "axes" && (op == "sum" || op == "sum_keep" || op == "max" || op == "min"))
    return axes(dims_of(v, name));
  if (name == "list") return Expressions::dims(dims_of(v, "axes"));
  if (name == "start" || name == "stop") return size(static_cast<Index>(number_of(v, name)));
  if (name == "flag") return number_of(v, "keepdim") != 0 ? "True" : "False";
  if (name == "less") return number(-number_of(v, "c"));
  if (name == "reduced") {
    const Value& x = at(v.inputs[0]);
    return axes(reduced_axes(x.shape(), v.shape(), language_ == kText && x.batch && !v.batch));
  }
  if (name == "over" || (name == "axis" && language_ == kText)) {
    const std::string axis = axes({static_cast<Index>(number_of(v, "axis"))});
    return name == "axis" ? axis : axis == "-1" ? "" : "_" + axis;
  }
  if (name == "shape") return dims(v.shape(), v.batch);
  if (name == "at") {
    const int axis = static_cast<int>(number_of(v, "axis"));
    const double step = number_of(v, "step");
    std::string text = "[";
    for (int i = 0; i < axis; ++i) text += ":, ";
    text += size(static_cast<Index>(number_of(v, "start"))) + ":" +
            size(static_cast<Index>(number_of(v, "stop")));
    return text + (step == 1 ? "]" : fill_in(":{}]", step));
  }
  if (name.starts_with("window_")) {
    const Dims& w = dims_of(v, name.substr(7));
    return fill_in("Window{{}, {}, {}, {}, {}}", w[0], w[1], w[2], w[3], w[4]);
  }
  if (op == "divide" && number_of(v, "c") > 2 && number_of(v, "c") == std::round(number_of(v, "c")))
    return size(static_cast<Index>(number_of(v, "c")));  // of what a mean is taken
  for (const Argument& a : v.arguments)
    if (a.name == name) return a.dims.rank() > 0 ? Expressions::dims(a.dims) : number(a.number);
  return name;
}

Text Expressions::operand(int v) const {
  const Value& x = at(v);
  if (x.is_number() && x.shape().rank() == 0 && language_ != kCpp)
    return {number(x.number()), language_ == kNumpy ? 4 : 5};  // (1).reshape
  if (x.is_number()) return {full(x)};
  if (language_ == kNumpy && x.op == "reshape" && at(x.inputs[0]).is_number() &&
      at(x.inputs[0]).shape().rank() == 0)
    return {full(x)};  // a number of Python has no reshape
  if (listing_.has_line(v) || x.op == "leaf" || x.op == "constant" || x.op == "zero")
    return {ref(v)};
  return expression(v);
}

Text Expressions::expression(int number_of_value) const {
  const Value& v = at(number_of_value);
  std::vector<int> inputs = v.inputs;
  std::string op = form_of(v, listing_.trace());
  auto inlined = [&](int x) {
    return x >= 0 && !listing_.has_line(x) && at(x).op != "leaf" && at(x).op != "zero" &&
           at(x).op != "constant";
  };
  if (v.op == "shift" && inlined(inputs[0]) && at(inputs[0]).op == "neg") {
    op = "rsub";
    inputs = at(inputs[0]).inputs;
  }
  if (op.starts_with("transpose") && language_ != kCpp && inlined(inputs[0]) &&
      at(inputs[0]).op == "matmul") {  // (a b)ᵀ = bᵀ aᵀ
    const auto& factors = at(inputs[0]).inputs;
    auto turned = [&](int x, bool right) {
      const std::string form = inlined(x) ? form_of(at(x), listing_.trace()) : "";
      const Text t = form.starts_with("transpose") ? operand(at(x).inputs[0]) : operand(x);
      const std::string in = t.level < 5 && (right || t.level < 2 || !form.starts_with("transpose"))
                                 ? "(" + t.text + ")"
                                 : t.text;
      if (form.starts_with("transpose")) return in;
      return in + (language_ == kText          ? "ᵀ"
                   : at(x).shape().rank() == 2 ? ".T"
                                               : ".swapaxes(-1, -2)");
    };
    return {
        turned(factors[1], false) + (language_ == kText ? " " : " @ ") + turned(factors[0], true),
        2};
  }
  const std::string_view form = notation(op, language_);
  if (form.empty())
    throw ValueError(
        "derive",
        fill_in("{}: the op {} has no primitives; give it an explicit form, or write it out "
                "with --format text",
                v.path, v.op));
  std::vector<Text> operands;
  if (elementwise(v.op)) {
    // A broadcast is left to the operation, if its other operand has the shape.
    auto bare = [&](int x) {
      while (inlined(x) && !at(x).is_number() &&
             (at(x).op == "broadcast_to" || (at(x).op == "reshape" && at(x).value.numel() == 1)))
        x = at(x).inputs[0];
      return x;
    };
    auto without = [&](int x) { return at(bare(x)).is_number() ? Shape() : at(bare(x)).shape(); };
    std::vector<bool> leave(2, true);
    auto fits = [&] {
      const Shape a = leave[0] ? without(inputs[0]) : at(inputs[0]).shape(),
                  b = leave[1] ? without(inputs[1]) : at(inputs[1]).shape();
      Shape s = broadcast_shapes(a, b, "derive");
      if (!v.tensors.empty()) s = broadcast_shapes(s, at(v.tensors[0].second).shape(), "derive");
      return s == v.shape();
    };
    for (std::size_t k = 0; k < 2 && !fits(); ++k) leave[k] = false;
    for (std::size_t k = 0; k < 2; ++k) {
      const int input = leave[k] ? bare(inputs[k]) : inputs[k];
      const Value& x = at(input);
      if (leave[k] && x.is_number())
        operands.push_back(
            {language_ == kCpp ? fill_in("number({})", number(x.number())) : number(x.number()),
             x.number() < 0 ? 3 : 5});
      else
        operands.push_back(operand(input));
    }
  } else {
    for (int input : inputs) operands.push_back(input < 0 ? Text{"-"} : operand(input));
  }
  Text result{"", form[0] - '0'};
  for (std::size_t i = 2; i < form.size(); ++i) {
    if ((form[i] == '{' || form[i] == '}') && i + 1 < form.size() && form[i + 1] == form[i]) {
      result.text += form[i++];
      continue;
    }
    if (form[i] != '{') {
      result.text += form[i];
      continue;
    }
    const std::size_t end = form.find('}', i);
    const std::string name(form.substr(i + 1, end - i - 1));
    i = end;
    if (name == "*") {
      for (std::size_t k = 0; k < operands.size(); ++k)
        result.text += (k ? ", " : "") + operands[k].text;
    } else if (is_digit(name[0])) {
      const Text& o = operands[static_cast<std::size_t>(name[0] - '0')];
      const bool loose = name.ends_with('.')
                             ? o.level < result.level
                             : name.ends_with('!') && o.level <= result.level && o.level < 5;
      result.text += loose ? "(" + o.text + ")" : o.text;
    } else {
      result.text += argument(v, name, op);
    }
  }
  return result;
}

}  // namespace glim::derive
