// A listing as a program: forward, loss and backward without autograd, in NumPy or on Glim's tensors.
#pragma once

#include <string>

#include "tools/derive/letters.hpp"
#include "tools/derive/listing.hpp"
#include "tools/derive/notation.hpp"

namespace glim::derive {

// An expression and how tightly it binds (notation.hpp).
struct Text {
  std::string text;
  int level = 5;
};

// Writes a value's expression in a language. Subclasses give the names of other values.
class Expressions {
 public:
  Expressions(const Listing& listing, Language language) : listing_(listing), language_(language) {}
  virtual ~Expressions() = default;
  // ValueError for an op that has no primitives.
  Text expression(int v) const;

 protected:
  virtual std::string ref(int v) const = 0;
  virtual std::string dims(const Dims& shape, bool batch = false) const;
  virtual std::string size(Index n) const { return std::to_string(n); }
  std::string number(double c) const;
  // By the name that a template has for it.
  std::string argument(const Value& v, const std::string& name, const std::string& op) const;
  static std::string axes_of(const Dims& axes, const Shape& shape);  // "0,1"; the last is -1
  const Value& at(int v) const { return listing_.trace()[v]; }
  const Listing& listing_;
  Language language_;

 private:
  Text operand(int v) const;
  std::string full(const Value& v) const;
};

// How a value of one shape becomes another by sums: along which axes, and the name of its form in notation.txt. A batch
// is one sentence, so that the shapes do not say whether its `sentences` are added.
Dims reduced_axes(const Shape& shape, const Shape& target, bool sentences = false);
std::string_view form_of_sum(const Shape& shape, const Shape& target);

struct ProgramText {
  std::string title, command, file;  // file of the data, beside the program
};

std::string numpy_program(const Listing& listing, const Letters& letters, const ProgramText& text);
std::string cpp_program(const Listing& listing, const Letters& letters, const ProgramText& text);

// A function and its gradients in lines of code. Its output is "y", and its upstream gradient "dy".
struct FunctionText {
  std::string forward;   // ends with "y = ..."
  std::string again;     // what backward needs of forward
  std::string backward;  // gives each input x its "dx"
  std::string helpers;   // NumPy: functions that the lines call
};
// Sizes that are in the lines have the letters' names. The trace of a pass with a `dy` makes such a listing.
FunctionText function_text(const Listing& listing, const Letters& letters, Language language);
// Includes, and functions that the lines in C++ call.
std::string cpp_helpers();

// The tensors that a program reads: weights, "gradient.NAME" of `gradients`, and "batch.NAME" of constants.
StateDict data_of(const Trace& trace, const StateDict& gradients);
// "constant" values by the names that programs read them under.
StateDict constants_of(const Trace& trace);

}  // namespace glim::derive
