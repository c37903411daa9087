// A function in a program of another language: tools/foreign/program.md has the exchange.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "tools/foreign/child.hpp"
#include "tools/foreign/function.hpp"

namespace glim::foreign {

// Nested lists; what is not finite is written as null.
nlohmann::ordered_json json_of(const Tensor& x);

class Program {
 public:
  // Started when it is first asked, and again after it has ended.
  Program(std::string command, double seconds_to_reply);

  // ValueError, of one line, when the program gives no reply or one that makes no sense.
  std::vector<GradcheckInput> inputs();
  Function function();  // refers to this object
  // The same where the inputs are known: the program is not asked for them.
  Function function(const std::vector<GradcheckInput>& inputs);
  // The reply to a call of the program's own: {"call": ..., "inputs": ..., "dy": {"y": ...}}.
  nlohmann::ordered_json reply(const std::string& call, const Tensors& x = {},
                               const Tensors& dy = {});

 private:
  using Json = nlohmann::ordered_json;
  template <class F>
  void ask(const Json& request, const F& read);  // read(reply)
  Tensors value(const Tensors& x);
  Tensors gradient(const Tensors& x, const Tensors& dy);

  std::string command_;
  double seconds_;
  std::unique_ptr<Child> child_;
  std::vector<std::string> inputs_, outputs_;  // their names
};

}  // namespace glim::foreign
