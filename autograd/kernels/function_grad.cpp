#include "autograd/kernels/function_grad.hpp"

#include "autograd/kernels/table.hpp"
#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace glim {

Tensor function_grad(Function f, const Tensor& kept, const Tensor& dy) {
  require_floating(kept, "function_grad");
  if (kept.shape() != dy.shape())
    throw with_operands(ShapeError("function_grad", "a gradient has the shape of its value"),
                        Operand("kept", kept), Operand("dy", dy));
  if (kept.dtype() != dy.dtype())
    throw with_operands(DTypeError("function_grad", "a gradient has the dtype of its value"),
                        Operand("kept", kept), Operand("dy", dy));
  Tensor in = kept.contiguous(), up = dy.contiguous(), dx = empty(dy.shape(), dy.dtype());
  visit_floating(dy.dtype(), [&]<class T>() {
    parallel_for(dx.numel(), 16384, [&](Index begin, Index end) {
      op_kernels<T>().function_grad(f, end - begin, in.data<T>() + begin, up.data<T>() + begin,
                                    dx.data<T>() + begin);
    });
  });
  return dx;
}

}  // namespace glim
