"""Right backwards of torch: its own lists of operators and modules, as far as torch's own tests differentiate them."""
import itertools

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree

from suites.imported import evenly, of_tensors

MOST = {torch.float64: 3, torch.float32: 1}  # samples
ELEMENTS = 100                               # of the inputs of a sample


def differentiated(op, dtype):
    """True if torch's own test of the gradient is neither skipped nor expected to fail."""
    def test():
        pass
    for decorate in op.get_decorators("TestBwdGradients", "test_fn_grad", "cpu", dtype, {}):
        test = decorate(test)
    return op.supports_autograd and not {"__unittest_skip__", "__unittest_expecting_failure__"} & set(vars(test))


def tensors_of(tree):
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def suits(function, args):
    """True if there are elements, not too many, and real results, which are finite."""
    if not 0 < sum(x.numel() for x in tensors_of(args)) <= ELEMENTS:
        return False
    ys = [y for y in tensors_of(function(*args)) if y.is_floating_point()]
    return bool(ys) and all(y.isfinite().all() for y in ys)


def function_of(op, sample):
    """A function of the tensors of a sample, and these."""
    def call(*args, **kwargs):
        return sample.output_process_fn_grad(op.gradcheck_wrapper(op.op, *args, **kwargs))
    function, tensors = of_tensors(sample, call)
    return function, list(tensors.values())


def cases():
    public = [op for op in op_db if op.name[0] != "_" and op.variant_test_name != "partial_views"]  # of storage behind x
    for op, (dtype, most) in itertools.product(public, MOST.items()):
        if dtype in op.dtypes and differentiated(op, dtype):
            torch.manual_seed(0)
            samples = (function_of(op, s) for s in op.sample_inputs("cpu", dtype, requires_grad=True))
            for k, (function, tensors) in enumerate(evenly((s for s in samples if suits(*s)), most)):
                yield f"torch {op.name} {op.variant_test_name}, {dtype}, sample {k}", (function, *tensors), {}
    for info, (dtype, most) in itertools.product(module_db, MOST.items()):
        torch.manual_seed(0)
        samples = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=True)
        modules = ((info.module_cls(*made.args, **made.kwargs).to(dtype), given.args) for made, given in (
            (s.constructor_input, s.forward_input) for s in samples) if given and not given.kwargs)
        for k, (module, args) in enumerate(evenly((m for m in modules if suits(*m)), most)):
            yield f"torch {info.name}, {dtype}, sample {k}", (module, *args), {}
