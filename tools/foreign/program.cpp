#include "tools/foreign/program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/foreign/checks.hpp"

namespace glim::foreign {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kNotFinite[] = {"NaN", "Infinity", "-Infinity"};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotFiniteValues[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity,
                                       -kInfinity};

[[noreturn]] void refuse(const std::string& problem) { throw ProgramError({.problem = problem}); }

std::string in_quotes(const std::string& text) {
  return '"' + (text.size() > 60 ? text.substr(0, 57) + "..." : text) + '"';
}

// JSON has no NaN and no infinity, and most programs print them: they become strings, which no number is.
std::string with_quoted_words(const std::string& text) {
  std::string plain;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 1;
    if (in_string && text[i] == '\\') length = 2;
    if (text[i] == '"') in_string = !in_string;
    std::string_view word;
    for (const std::string_view name : kNotFinite)
      if (!in_string && text.compare(i, name.size(), name) == 0) word = name;
    plain += word.empty() ? text.substr(i, length) : '"' + std::string(word) + '"';
    i += word.empty() ? length : word.size();
  }
  return plain;
}

double number_of(const Json& j, const std::string& name) {
  if (j.is_number()) return j.get<double>();
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_string())
    for (std::size_t k = 0; k < std::size(kNotFinite); ++k)
      if (j.get_ref<const std::string&>() == kNotFinite[k]) return kNotFiniteValues[k];
  if (j.is_array()) refuse(in_quotes(name) + " has lists of different depth");
  refuse(in_quotes(name) + " has " + in_quotes(j.dump()) + " where a number belongs" +
         (j.is_null() ? ": print NaN, or leave out an input that has no gradient" : ""));
}

std::int64_t integer_of(const Json& j, const std::string& name) {
  if (j.is_number_unsigned() && j.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    refuse(in_quotes(name) + " has " + j.dump() + ", which no int64 holds");
  return j.get<std::int64_t>();
}

template <class T>
void flatten(const Json& j, const Shape& shape, int axis, const std::string& name,
             T (*read)(const Json&, const std::string&), std::vector<T>& values) {
  if (axis == shape.rank()) {
    values.push_back(read(j, name));
    return;
  }
  if (!j.is_array() || std::ssize(j) != shape[axis])
    refuse(in_quotes(name) + " has lists of different lengths");
  for (const Json& element : j) flatten(element, shape, axis + 1, name, read, values);
}

bool all_of_type(const Json& j, bool (*is)(const Json&)) {
  if (!j.is_array()) return is(j);
  return std::all_of(j.begin(), j.end(), [&](const Json& e) { return all_of_type(e, is); });
}

// An array is a list of lists of numbers.
template <class T = double>
Tensor tensor_of(const Json& j, const std::string& name,
                 T (*read)(const Json&, const std::string&) = number_of) {
  Shape shape;
  for (const Json* inner = &j; inner->is_array(); inner = &inner->front()) {
    if (shape.rank() == kMaxRank) refuse(in_quotes(name) + " has more than 8 axes");
    shape.push_back(std::ssize(*inner));
    if (inner->empty()) break;
  }
  std::vector<T> values;
  flatten(j, shape, 0, name, read, values);
  return from_vector(values, shape);
}

// The same, of int64 or bool if all of its elements are.
Tensor input_of(const Json& j, const std::string& name) {
  if (all_of_type(j, [](const Json& e) { return e.is_number_integer(); }))
    if (const Tensor x = tensor_of(j, name, integer_of); x.numel() > 0) return x;
  const Tensor x = tensor_of(j, name);
  const bool logical = all_of_type(j, [](const Json& e) { return e.is_boolean(); });
  return logical && x.numel() > 0 ? x.to(DType::Bool) : x;
}

template <class T>
void write(const std::vector<T>& values, const Shape& shape, int axis, std::size_t& position,
           std::string& text) {
  if (axis == shape.rank()) {
    const T x = values[position++];
    const auto number = static_cast<double>(x);
    text += std::isnan(number)   ? kNotFinite[0]
            : std::isinf(number) ? kNotFinite[number > 0 ? 1 : 2]
                                 : Json(x).dump();
    return;
  }
  text += '[';
  for (Index i = 0; i < shape[axis]; ++i) {
    if (i > 0) text += ',';
    write(values, shape, axis + 1, position, text);
  }
  text += ']';
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

}  // namespace

std::string json_of(const Tensor& x) {
  std::string text;
  std::size_t position = 0;
  if (x.dtype() == DType::Int64)
    write(x.to_vector<std::int64_t>(), x.shape(), 0, position, text);
  else if (x.dtype() == DType::Bool)
    write(x.to_vector<bool>(), x.shape(), 0, position, text);
  else
    write(x.to(DType::Float64).to_vector<double>(), x.shape(), 0, position, text);
  return text;
}

static std::string json_of(const Tensors& list, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (list[k].defined())
      text += (text.empty() ? "" : ", ") + Json(names[k]).dump() + ": " + json_of(list[k]);
  return "{" + text + "}";
}

Program::Program(std::string command, double seconds_to_reply, bool says_ready)
    : command_(std::move(command)), seconds_(seconds_to_reply), says_ready_(says_ready) {}

void Program::start() {
  child_ = std::make_unique<Child>(command_);
  if (says_ready_) try {
      child_->ask(R"({"call": "ready"})", seconds_);
    } catch (ProgramError& e) {
      e.cause.kind = ProgramError::Kind::NotStarted;
      throw;
    }
}

template <class F>
void Program::ask(const std::string& call, const std::string& arguments, const F& read) {
  try {
    if (!child_) start();
    const std::string line =
        child_->ask("{\"call\": " + Json(call).dump() + arguments + "}", seconds_);
    std::vector<std::set<std::string>> names;  // of each object that is open
    const auto once = [&](int, Json::parse_event_t event, const Json& name) {
      if (event == Json::parse_event_t::object_start) names.emplace_back();
      if (event == Json::parse_event_t::object_end) names.pop_back();
      if (event == Json::parse_event_t::key && !names.back().insert(name.get<std::string>()).second)
        refuse(in_quotes(name.get<std::string>()) + " is in the reply twice");
      return true;
    };
    const Json reply = Json::parse(with_quoted_words(line), once, false);
    if (!reply.is_object())
      refuse(in_quotes(line) +
             " is no JSON object of arrays by name; other text belongs to standard error");
    read(reply);
  } catch (const ProgramError& e) {
    child_.reset();
    throw ProgramError(e.cause, in_quotes(command_) + ", asked for the " + call + ": ");
  }
}

std::vector<GradcheckInput> Program::inputs() {
  std::vector<GradcheckInput> all;
  ask("inputs", "", [&](const Json& reply) {
    for (const auto& [name, x] : reply.items()) all.emplace_back(name, input_of(x, name));
  });
  inputs_.clear();
  for (const GradcheckInput& x : all) inputs_.push_back(x.name);
  return all;
}

Callbacks Program::function() {
  return {.value = [this](const Tensors& x) { return value(x); },
          .gradient = [this](const Tensors& x, const Tensors& dy) { return gradient(x, dy); },
          .restart = [this] { child_.reset(); },
          .refuses_misfits = true};
}

Callbacks Program::function(const std::vector<GradcheckInput>& inputs) {
  inputs_.clear();
  for (const GradcheckInput& x : inputs) inputs_.push_back(x.name);
  return function();
}

std::string Program::arguments(const Tensors& x, const Tensors& dy) const {
  const std::vector<std::string> y{"y"};
  return (x.empty() ? "" : ", \"inputs\": " + json_of(x, inputs_)) +
         (dy.empty() ? "" : ", \"dy\": " + json_of(dy, outputs_.empty() ? y : outputs_));
}

Json Program::reply(const std::string& call, const Tensors& x, const Tensors& dy) {
  Json answer;
  ask(call, arguments(x, dy), [&](const Json& reply) { answer = reply; });
  return answer;
}

Tensors Program::value(const Tensors& x) {
  Tensors all;
  ask("value", arguments(x), [&](const Json& reply) {
    if (reply.empty()) refuse("the reply has no output");
    if (outputs_.empty())
      for (const auto& [name, y] : reply.items()) outputs_.push_back(name);
    for (const std::string& name : outputs_) {
      if (!reply.contains(name)) refuse(in_quotes(name) + " is missing, which was there before");
      all.push_back(tensor_of(reply[name], name));
    }
  });
  return all;
}

// The arrays of a reply by these names. One that is left out is undefined.
static Tensors arrays_of(const Json& reply, const std::vector<std::string>& names,
                         const std::string& what) {
  for (const auto& [name, dx] : reply.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse(in_quotes(name) + " is no " + what + "; the " + what + "s are " + listed(names));
  Tensors all;
  for (const std::string& name : names)
    all.push_back(reply.contains(name) ? tensor_of(reply[name], name) : Tensor());
  return all;
}

Tensors Program::gradient(const Tensors& x, const Tensors& dy, const std::string& call) {
  Tensors all;
  ask(call, arguments(x, dy), [&](const Json& reply) { all = arrays_of(reply, inputs_, "input"); });
  return all;
}

// The gradients of Σ v dx by dy and by the inputs.
Tensors Program::gradients_of_gradient(const Tensors& x, const Tensors& dy, const Tensors& v) {
  Tensors all;
  ask("second_order", arguments(x, dy) + ", \"v\": " + json_of(v, inputs_), [&](const Json& reply) {
    for (const char* name : {"inputs", "dy"})
      if (!reply.contains(name) || !reply[name].is_object())
        refuse(
            R"(the reply to --second-order is {"inputs": {...}, "dy": {...}}, and has no object )" +
            in_quotes(name));
    all = arrays_of(reply["dy"], outputs_, "output");
    for (const Tensor& dx : arrays_of(reply["inputs"], inputs_, "input")) all.push_back(dx);
  });
  return all;
}

Callbacks Program::second_order(std::vector<GradcheckInput>& inputs) {
  Tensors values;
  for (const GradcheckInput& x : inputs) values.push_back(x.value);
  const Tensors upstream = random_dy(value(values), 0, 0);
  const auto outputs = std::ssize(upstream);
  for (std::size_t k = upstream.size(); k-- > 0;)
    inputs.emplace(inputs.begin(), upstream.size() == 1 ? "dy" : "dy of " + outputs_[k],
                   upstream[k]);
  values.insert(values.begin(), upstream.begin(), upstream.end());
  // Inputs of other sizes are tried, too, and a program need not notice a dy of another shape than y.
  const auto split = [this, outputs, values](const Tensors& all) {
    const Tensors dy(all.begin(), all.begin() + outputs), x(all.begin() + outputs, all.end());
    const auto alike = [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); };
    if (!std::equal(all.begin(), all.end(), values.begin(), alike)) {
      const Tensors y = value(x);
      if (!std::equal(y.begin(), y.end(), dy.begin(), alike)) refuse("dy has not the shape of y");
    }
    return std::pair(dy, x);
  };
  Callbacks f = function();
  f.value = [this, split](const Tensors& all) {
    const auto [dy, x] = split(all);
    const Tensors dx = gradient(x, dy);
    Tensors floating;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (is_floating(x[k].dtype()))
        floating.push_back(dx[k].defined() ? dx[k] : zeros(x[k].shape(), x[k].dtype()));
    return floating;
  };
  f.gradient = [this, split](const Tensors& all, const Tensors& of_floating) {
    const auto [dy, x] = split(all);
    Tensors v;
    std::size_t next = 0;
    for (const Tensor& one : x)
      v.push_back(is_floating(one.dtype()) ? of_floating[next++] : Tensor());
    return gradients_of_gradient(x, dy, v);
  };
  return f;
}

}  // namespace glim::foreign
