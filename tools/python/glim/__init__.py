"""Glim: gradients to check, to watch and to read.

    report = glim.gradcheck(f, backward, *inputs)      # is backward the derivative of f?

    w = glim.Var.leaf(numpy_array)                      # a tape
    with glim.Tape() as tape:
        loss = glim.sum(glim.tanh(x @ w))
        tape.backward(loss)
    w.grad.numpy()
"""
from ._glim import *  # noqa: F403  the ops, Tensor, Var, Tape, layers, models, optimizers and the errors
from ._glim import Tensor, _require_plain, _widened
from . import _protocols, _words  # noqa: F401
from ._words import __getattr__  # noqa: F401  what to type for a name that Glim lacks
from .curvature import Curvature, curvature
from .derived import Derived, derive
from .gradcheck import Report, gradcheck
from .inspection import Inspection, why
from .modules import ModuleList, Op, Sequential, TransformerDecoder, TransformerEncoder
from .trace import Trace, trace
from .trained import Model, load, study, train

__version__ = "0.1.0"


def from_torch(module, args=(), kwargs=None, *, hooks=False, verify=True):
    """A PyTorch module, or a function of tensors, as a glim.Module: see glim.torch_models.from_torch."""
    from .torch_models import from_torch
    return from_torch(module, args, kwargs, hooks=hooks, verify=verify)


def compare_backward(kernel, reference, *inputs, **options):
    """The backward of a kernel in bfloat16, float16 or float32 beside a reference: see glim.kernels.compare_backward."""
    from .kernels import compare_backward
    return compare_backward(kernel, reference, *inputs, **options)


def record_inputs(kernel):
    """The operands of a kernel where it is used: see glim.kernels.record_inputs."""
    from .kernels import record_inputs
    return record_inputs(kernel)


def diagnose(model, inputs, loss=None):
    """What is wrong with the gradients of a PyTorch model in one pass: a wrong backward of a custom Function, the first value
    or gradient that is not finite, parameters without a gradient or with zeros and where it was lost, queries that may
    attend to nothing, saturated attention, and parameters in shared memory. Each finding names module and line.

        print(glim.diagnose(model, dict(input_ids=ids), loss=lambda out: out.logits.sum()))

    inputs: a dict or tuple of arguments. loss(result) is a tensor of one element, made of PyTorch's ops; without it the
    model itself gives one. The model keeps its gradients and weights.
    """
    from .torch_models.diagnose import diagnose
    return diagnose(model, inputs, loss)


def tensor(values, dtype=None):
    """A Tensor of numbers or nested lists: float32 by default, int64 and bool for integers and bools."""
    import numpy
    _require_plain_parts(values)
    array = numpy.array(values)
    if dtype in (None, "int64"):
        array = _widened(array, "values")
    kinds = {"f": "float32", "b": "bool"}
    return Tensor(array.astype(dtype or kinds.get(array.dtype.kind, array.dtype)))


def _require_plain_parts(values):
    if isinstance(values, (list, tuple)):
        for part in values:
            _require_plain_parts(part)
    else:
        _require_plain(values, "values")
