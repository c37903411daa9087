#include "tools/foreign/program.hpp"

#include <algorithm>
#include <limits>

#include "tensor/error.hpp"

namespace glim::foreign {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& problem) { throw ValueError("--program", problem); }

std::string in_quotes(const std::string& text) {
  return '"' + (text.size() > 60 ? text.substr(0, 57) + "..." : text) + '"';
}

// JSON has no NaN and no infinity, and most programs print them.
std::string without_nan(const std::string& text) {
  std::string plain;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t word = 0;
    for (const std::string_view name : {"NaN", "-Infinity", "Infinity"})
      if (!in_string && text.compare(i, name.size(), name) == 0) word = name.size();
    if (word == 0 && text[i] == '"' && (i == 0 || text[i - 1] != '\\')) in_string = !in_string;
    plain += word ? "null" : std::string(1, text[i]);
    i += std::max<std::size_t>(word, 1);
  }
  return plain;
}

void flatten(const Json& j, const Shape& shape, int axis, const std::string& name,
             std::vector<double>& to) {
  if (axis == shape.rank()) {
    if (j.is_number())
      to.push_back(j.get<double>());
    else if (j.is_boolean())
      to.push_back(j.get<bool>());
    else if (j.is_null())
      to.push_back(std::numeric_limits<double>::quiet_NaN());
    else
      refuse(in_quotes(name) + (j.is_array()
                                    ? " has lists of different depth"
                                    : " has " + in_quotes(j.dump()) + " where a number belongs"));
    return;
  }
  if (!j.is_array() || std::ssize(j) != shape[axis])
    refuse(in_quotes(name) + " has lists of different lengths");
  for (const Json& element : j) flatten(element, shape, axis + 1, name, to);
}

bool all_of_type(const Json& j, bool (*is)(const Json&)) {
  if (!j.is_array()) return is(j);
  return std::all_of(j.begin(), j.end(), [&](const Json& e) { return all_of_type(e, is); });
}

// An array is a list of lists of numbers.
Tensor tensor_of(const Json& j, const std::string& name) {
  Shape shape;
  for (const Json* inner = &j; inner->is_array(); inner = &inner->front()) {
    if (shape.rank() == kMaxRank) refuse(in_quotes(name) + " has more than 8 axes");
    shape.push_back(std::ssize(*inner));
    if (inner->empty()) break;
  }
  std::vector<double> values;
  flatten(j, shape, 0, name, values);
  return from_vector(values, shape);
}

// The same, of int64 or bool if all of its elements are.
Tensor input_of(const Json& j, const std::string& name) {
  const Tensor x = tensor_of(j, name);
  if (x.numel() == 0) return x;
  if (all_of_type(j, [](const Json& e) { return e.is_boolean(); })) return x.to(DType::Bool);
  if (all_of_type(j, [](const Json& e) { return e.is_number_integer(); }))
    return x.to(DType::Int64);
  return x;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

}  // namespace

Json json_of(const Tensor& x) {
  if (x.rank() > 0) {
    Json list = Json::array();
    for (Index i = 0; i < x.shape()[0]; ++i) list.push_back(json_of(select(x, 0, i)));
    return list;
  }
  if (x.dtype() == DType::Bool) return x.item() != 0;
  if (x.dtype() == DType::Int64) return x.to_vector<std::int64_t>()[0];
  return x.item();
}

static Json json_of(const Tensors& list, const std::vector<std::string>& names) {
  Json j = Json::object();
  for (std::size_t k = 0; k < names.size(); ++k)
    if (list[k].defined()) j[names[k]] = json_of(list[k]);
  return j;
}

Program::Program(std::string command, double seconds_to_reply)
    : command_(std::move(command)), seconds_(seconds_to_reply) {}

template <class F>
void Program::ask(const Json& request, const F& read) {
  try {
    if (!child_) child_ = std::make_unique<Child>(command_);
    const std::string line = child_->ask(request.dump(), seconds_);
    const Json reply = Json::parse(without_nan(line), nullptr, false);
    if (!reply.is_object())
      refuse(in_quotes(line) +
             " is no JSON object of arrays by name; other text belongs to standard error");
    read(reply);
  } catch (const ValueError& e) {
    child_.reset();
    refuse(in_quotes(command_) + ", asked for the " + request["call"].get<std::string>() + ": " +
           e.problem());
  }
}

std::vector<GradcheckInput> Program::inputs() {
  std::vector<GradcheckInput> all;
  ask({{"call", "inputs"}}, [&](const Json& reply) {
    for (const auto& [name, x] : reply.items()) all.emplace_back(name, input_of(x, name));
  });
  inputs_.clear();
  for (const GradcheckInput& x : all) inputs_.push_back(x.name);
  return all;
}

Function Program::function() {
  return {[this](const Tensors& x) { return value(x); },
          [this](const Tensors& x, const Tensors& dy) { return gradient(x, dy); }};
}

Function Program::function(const std::vector<GradcheckInput>& inputs) {
  inputs_.clear();
  for (const GradcheckInput& x : inputs) inputs_.push_back(x.name);
  return function();
}

Json Program::reply(const std::string& call, const Tensors& x, const Tensors& dy) {
  Json request{{"call", call}}, answer;
  if (!x.empty()) request["inputs"] = json_of(x, inputs_);
  if (!dy.empty()) request["dy"] = json_of(dy, {"y"});
  ask(request, [&](const Json& reply) { answer = reply; });
  return answer;
}

Tensors Program::value(const Tensors& x) {
  Tensors all;
  ask({{"call", "value"}, {"inputs", json_of(x, inputs_)}}, [&](const Json& reply) {
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

Tensors Program::gradient(const Tensors& x, const Tensors& dy) {
  Tensors all;
  const Json request{
      {"call", "gradient"}, {"inputs", json_of(x, inputs_)}, {"dy", json_of(dy, outputs_)}};
  ask(request, [&](const Json& reply) {
    for (const auto& [name, dx] : reply.items())
      if (std::find(inputs_.begin(), inputs_.end(), name) == inputs_.end())
        refuse(in_quotes(name) + " is no input; the inputs are " + listed(inputs_));
    for (const std::string& name : inputs_) {
      const bool given = reply.contains(name) && !reply[name].is_null();
      all.push_back(given ? tensor_of(reply[name], name) : Tensor());
    }
  });
  return all;
}

}  // namespace glim::foreign
