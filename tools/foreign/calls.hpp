// The callbacks of a function, called so that they can spoil nothing else. Their results are brought into one form.
#pragma once

#include <exception>

#include "tools/foreign/function.hpp"

namespace glim::foreign {

// A result that cannot be compared, such as one of another shape.
struct FormError : std::exception {
  explicit FormError(std::string why) : text(std::move(why)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
  std::size_t input = 0;  // whose gradient has another shape:
  Tensors gradients{};    // as returned, one for each input; else empty
};

class Calls {
 public:
  Calls(const Callbacks& f, const std::vector<GradcheckInput>& inputs);

  // Copies of the outputs. FormError unless they have the dtypes and shapes of the first call.
  Tensors value(const Tensors& x);
  // Each selected input has a gradient of its shape and dtype, zeros if backward gives none. The others are undefined.
  Tensors gradient(const Tensors& x, const Tensors& dy);
  // The gradient by f's `rewritten` or `interrupted`, or by `gradient` if f has neither.
  Tensors rewritten(const Tensors& x, const Tensors& dy);
  Tensors interrupted(const Tensors& x, const Tensors& dy, const Tensors& others);

  const Callbacks& function() const { return f_; }
  Callbacks as_function();
  Calls with_inputs(const Tensors& x) const;            // the same function, of other shapes
  std::vector<GradcheckInput> selected_inputs() const;  // `check` only where selected

  std::vector<GradcheckInput> inputs;  // all have names
  std::vector<bool> selection;         // the inputs whose gradient is checked
  bool value_first = false;            // call f again before each gradient
  // Changes the gradients as returned.
  std::function<void(Tensors& dx)> repair;

  // The first case of each fault that is not in the gradient's values.
  std::string changed;         // "backward changes its input x in place"
  std::string dtype_mistaken;  // "the gradient of x is int64"

 private:
  void note_changes(const char* who, const Tensors& after, const Tensors& before, bool is_dy);
  template <class Gradient>
  Tensors formed(const Tensors& x, const Tensors& dy, const Gradient& gradient);
  Tensor in_form(std::size_t k, const Tensor& x, const Tensors& dx);

  const Callbacks& f_;
  std::vector<std::string> outputs_;  // their kinds at the first call
};

Tensors copies(const Tensors& list);

}  // namespace glim::foreign
