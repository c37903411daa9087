// Var: a tensor that may be on a tape.
//
// A Var is one of three things:
//   constant   Var(tensor)          nothing flows into it
//   leaf       Var::leaf(tensor)    where gradients end up: parameters and checked inputs. A leaf
//                                   outlives tapes; its grad() adds up until zero_grad().
//   computed   the result of an op while a tape records
//
// Copying a Var copies the handle; copies of a leaf are the same leaf.
#pragma once

#include <atomic>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

// A tree of modules, which names its leaves when somebody asks.
class LeafNames {
 public:
  virtual void refresh() const = 0;  // gives every leaf of the tree its name
 protected:
  ~LeafNames() = default;
};

struct Leaf {
  Tensor value, grad;
  std::string name;                  // Var::name refreshes it first
  const LeafNames* names = nullptr;  // the names in its module
  bool trainable = true;
  std::atomic<int> node = 0;  // its number on the tape that used it last, which other tapes check
  std::mutex
      adding;  // held while grad changes: backward passes of several threads may end in one leaf
};

class Var {
 public:
  Var() = default;
  Var(Tensor constant) : value_(std::move(constant)) {}
  static Var leaf(Tensor value, std::string name = {});

  bool defined() const { return leaf_ != nullptr || value_.defined(); }
  const Tensor& value() const { return leaf_ ? leaf_->value : value_; }
  const Shape& shape() const { return value().shape(); }
  DType dtype() const { return value().dtype(); }
  int rank() const { return value().rank(); }
  Index size(Index axis) const { return value().size(axis); }
  Index numel() const { return value().numel(); }
  double item() const { return value().item(); }

  // True for a trainable leaf, and for what was computed from one on the innermost tape, recording or not.
  // StateError for a value whose tape is gone or is an outer one, or that a checkpointed region kept back: detach() it.
  bool requires_grad() const;
  // StateError for a value whose tape is gone.
  void require_open_tape() const {
    if (tape_) require_tape();
  }
  // The value as a constant.
  Var detach() const { return Var(value()); }
  // Its value, which it gives up unless it is a leaf.
  Tensor take_value() { return leaf_ ? leaf_->value : std::exchange(value_, {}); }
  // Itself, with memory that cannot be written to; a leaf stays as it is.
  Var read_only() const {
    Var v = *this;
    if (!leaf_) v.value_ = value_.read_only();
    return v;
  }

  bool is_leaf() const { return leaf_ != nullptr; }
  Leaf& leaf() const;   // StateError unless a leaf
  Tensor grad() const;  // a leaf's; undefined before the first backward
  void set_grad(
      Tensor g) const;  // undefined drops it; ShapeError unless of the leaf's shape and dtype
  void zero_grad() const { set_grad({}); }
  const std::string& name() const;  // a leaf's dotted path in the module tree; else ""

  friend bool same_leaf(const Var& a, const Var& b) { return a.leaf_ && a.leaf_ == b.leaf_; }

 private:
  friend class Graph;
  friend class Tape;
  void require_tape() const;              // tape.cpp
  [[noreturn]] void refuse_tape() const;  // StateError
  Tensor value_;
  std::shared_ptr<Leaf> leaf_;
  std::uint64_t tape_ = 0;  // the tape it was computed on
  int node_ = -1;
  std::uint64_t serial_ = 0;  // that node's: numbers are used again after a checkpointed region
};

inline std::ostream& operator<<(std::ostream& out, const Var& x) { return out << x.value(); }

// Leaves by their dotted names, as Module::named_parameters() gives them.
struct NamedParameters : std::vector<std::pair<std::string, Var>> {
  using vector::vector;
  // Leaves by their own names, as Module::parameters() gives them; a name that is empty or taken is
  // followed by the place in the list, "weight#2".
  NamedParameters(const std::vector<Var>& leaves);
};

}  // namespace glim
