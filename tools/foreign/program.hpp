// A function in a program of another language: tools/foreign/program.md has the exchange.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "tools/foreign/child.hpp"
#include "tools/foreign/function.hpp"

namespace glim::foreign {

// Nested lists; NaN, Infinity and -Infinity as Python's json writes them.
std::string json_of(const Tensor& x);

class Program {
 public:
  // Started when it is first asked, and again after it has ended.
  // A program that `says_ready` is asked {"call":"ready"} first. Until it replies it counts as not started.
  Program(std::string command, double seconds_to_reply, bool says_ready = false);

  // ProgramError, of one line, when the program gives no reply or one that makes no sense.
  std::vector<GradcheckInput> inputs();
  Callbacks function();  // refers to this object
  // A function whose inputs are known: the program is not asked for them.
  Callbacks function(const std::vector<GradcheckInput>& inputs);
  // The gradient as a function of dy and the inputs. `inputs` gets a random dy for each output, before the others.
  Callbacks second_order(std::vector<GradcheckInput>& inputs);
  // The reply to a call of the program's own: {"call": ..., "inputs": ..., "dy": {"y": ...}}.
  nlohmann::ordered_json reply(const std::string& call, const Tensors& x = {},
                               const Tensors& dy = {});
  // `call`: a call of the program's own that answers as "gradient" does.
  Tensors gradient(const Tensors& x, const Tensors& dy, const std::string& call = "gradient");

 private:
  using Json = nlohmann::ordered_json;
  void start();
  template <class F>
  void ask(const std::string& call, const std::string& arguments, const F& read);  // read(reply)
  std::string arguments(const Tensors& x, const Tensors& dy = {}) const;
  Tensors value(const Tensors& x);
  Tensors gradients_of_gradient(const Tensors& x, const Tensors& dy, const Tensors& v);

  std::string command_;
  double seconds_;
  bool says_ready_;
  std::unique_ptr<Child> child_;
  std::vector<std::string> inputs_, outputs_;  // their names
};

}  // namespace glim::foreign
