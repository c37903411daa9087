// Typed errors. Every error names the op that found it; operands are listed one a line with their
// shape, dtype and, where it is known, the dotted name of the module they come from:
//
//   matmul: inner dimensions differ: a has 64 columns, b has 32 rows
//     a (8, 10, 64) float32  decoder.layers.1.multihead_attn.query
//     b (8, 32, 12) float32  decoder.layers.1.multihead_attn.key
//     in decoder.layers.1.multihead_attn, at attention.cpp:41
//
// The tensor layer knows shapes; autograd adds names, scope and call site as the error passes by.
// Errors raised outside an op carry the current module's path.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

class Tensor;
struct NamedOperand {
  std::string_view name;
  const Tensor& tensor;
  NamedOperand(std::string_view operand, const Tensor& value) : name(operand), tensor(value) {}
  template <class V>
  requires requires(const V& v) { v.value(); }
  NamedOperand(std::string_view operand, const V& v) : NamedOperand(operand, v.value()) {}
};

class Error : public std::exception {
 public:
  Error(std::string_view op, std::string_view problem,
        std::initializer_list<NamedOperand> operands = {});

  const char* what() const noexcept override { return text_.c_str(); }
  const std::string& op() const { return op_; }
  const std::string& problem() const { return problem_; }
  // "op: problem", the first line of what().
  std::string headline() const;
  // what() on one line, for a program's standard error.
  std::string one_line() const;

  // Adds "name (shape) dtype  path"; `kind` is "(2, 3) float32".
  void add_operand(std::string_view name, std::string_view kind);
  // Names where the i-th operand came from, once.
  void set_operand_path(std::size_t operand, std::string_view path);
  // Names the module and the source line in which the op was called, once: the innermost wins.
  void set_place(std::string_view scope, std::string_view site);
  // How an error finds the module that it is made in; autograd, which has the modules' names, says.
  static void find_scope_by(std::string (*scope)());
  std::size_t operand_count() const { return operands_.size(); }

 private:
  struct Listed {
    std::string name, kind, path;
  };
  void compose();

  std::string op_, problem_, scope_, site_, text_;
  std::vector<Listed> operands_;
  bool placed_ = false;
};

struct ShapeError : Error {  // shapes that do not fit each other or the op
  using Error::Error;
};
struct DTypeError : Error {  // an element type that the op does not take
  using Error::Error;
};
struct IndexError : Error {  // an axis, position or class outside its range
  using Error::Error;
};
struct ValueError : Error {  // an argument outside its domain
  using Error::Error;
};
struct FileError : Error {  // a file that cannot be read, written or understood
  using Error::Error;
};
struct MemoryError : Error {  // the system refused memory
  using Error::Error;
};
struct NonFiniteError : Error {  // NaN or infinity where a finite number is required
  using Error::Error;
};
struct StateError : Error {  // a call in the wrong order (a tape that was already used up)
  using Error::Error;
};

}  // namespace glim
