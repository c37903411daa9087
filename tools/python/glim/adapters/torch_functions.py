"""torch: a Function, a Module with its parameters, or a function of tensors.

As torch.autograd.gradcheck has it: if some arguments require a gradient, the others are constants; an output that
requires none beside others that do is left out.

PyTorch's own ops refuse sizes and indices that do not fit, but for some fused ones and factors. These, and the kernels of
someone else, may read or write beyond the end of an array. So a function that calls one, or asks for the memory of a
tensor, has its integers and equal sizes left as they are.
"""

import contextlib
import re
import sys

import numpy as np
import torch

from . import Adapted, argument_names, leaf_names, leaves, name_of, no_floating_input, upstreams_of, wanted_dtype, with_leaves


SMALL = 1 << 16  # elements of the inputs: starting threads takes longer than computing with one


def adapt(function, args, second_order=False):
    module = function if isinstance(function, torch.nn.Module) else None
    if isinstance(function, type) and issubclass(function, torch.autograd.Function):
        with_context = function.setup_context is torch.autograd.Function.setup_context  # the first argument of forward
        names = argument_names(function.forward, len(args) + with_context)[with_context:]
        function = function.apply
    else:
        names = argument_names(module.forward if module else function, len(args))
    parameters = dict(module.named_parameters()) if module else {}
    buffers = dict(module.named_buffers()) if module else {}
    everything = [list(args), {k: p for k, p in parameters.items() if p.requires_grad}]
    fixed = {k: p for k, p in parameters.items() if not p.requires_grad}
    operands = list(leaves(everything))
    any_requires_grad = any(isinstance(x, torch.Tensor) and x.requires_grad for x in leaves(args))
    constants = {id(x) for x in leaves(args) if any_requires_grad and not getattr(x, "requires_grad", False)}
    labels = [n for name, x in zip(names, args) for n in leaf_names(name, x)] + list(everything[1])
    where = [i for i, x in enumerate(operands) if _is_floating(x, labels[i]) and id(x) not in constants]
    if not where:
        raise no_floating_input(function)
    dtype = wanted_dtype(args)

    def evaluate(tensors):
        dtype = next(t.dtype for t in tensors if t.is_floating_point())
        now = [_cast(x, dtype) if isinstance(x, torch.Tensor) else x for x in operands]
        for i, tensor in zip(where, tensors):
            now[i] = tensor
        inputs, weights = with_leaves(everything, iter(now))
        if module:
            held = {k: _cast(b, dtype) for k, b in {**fixed, **buffers}.items()}
            y = torch.func.functional_call(module, {**weights, **held}, tuple(inputs))
        else:
            y = function(*inputs)
        outputs = [t for t in leaves(y) if isinstance(t, torch.Tensor) and t.is_floating_point()]
        if not outputs:
            raise TypeError(f"gradcheck: {name_of(function)} has no output of a floating dtype")
        return outputs

    def run(tensors):
        """The floating outputs for the inputs, each run with the same random numbers and buffers."""
        upstream, tensors = tensors[:upstreams], tensors[upstreams:]
        with torch.random.fork_rng(devices=[]):
            outputs = evaluate(tensors)
            run.draws = not torch.equal(state, torch.get_rng_state())
        if upstreams:
            outputs = _gradients(outputs, tensors, upstream, create_graph=True)
        run.left_out = [k for k, t in enumerate(outputs) if not t.requires_grad]
        if len(run.left_out) == len(outputs):
            run.left_out = []
        return [t for k, t in enumerate(outputs) if k not in run.left_out]

    def tensors_of(arrays):
        # One dtype for all: float64 if the checker asks for differences in float64.
        floating = [a for a in arrays if a.dtype.kind == "f"]
        dtype = torch.float32 if float32_alone or all(a.dtype == np.float32 for a in floating) else torch.float64
        tensors = [torch.tensor(np.asarray(a), dtype=dtype, requires_grad=True) if a.dtype.kind == "f"
                   else torch.tensor(np.asarray(a), dtype=d) for a, d in zip(arrays, dtypes)]
        for tensor, i in zip(tensors[upstreams:], where):
            for hook in (getattr(operands[i], "_backward_hooks", None) or {}).values():  # as on a parameter
                tensor.register_hook(hook)
        return tensors

    def f(*arrays):
        with torch.enable_grad():
            return tuple(y.detach().numpy(force=True).copy() for y in run(tensors_of(arrays)))

    last = ((), ())  # the arrays of the last backward, and their tensors

    def backward(dy, *arrays, others=None):
        nonlocal last
        if len(arrays) == len(last[0]) and all(a is b for a, b in zip(arrays, last[0])):
            with torch.no_grad():  # as an optimizer writes weights
                for tensor, array in zip(last[1], arrays):
                    tensor.copy_(torch.from_numpy(array))
        else:
            last = arrays, tensors_of(arrays)
        x = last[1]
        dy = dy if isinstance(dy, tuple) else (dy,)
        with torch.enable_grad():
            outputs = run(x)
            if others is not None:
                run(tensors_of(others))
            dx = iter(_gradients(outputs, [a for a in x if a.requires_grad], dy))
        return tuple(next(dx).detach().numpy(force=True).copy() if a.requires_grad else None for a in x)

    def arrays_of(where):
        arrays = [_array(operands[i]) for i in where]
        return [np.array(a, dtype=dtype if a.dtype.kind == "f" else a.dtype) for a in arrays]

    state = torch.get_rng_state()
    upstreams, float32_alone, dtypes, notes = 0, False, [None] * len(where), []
    of_torch = _is_of_torch(evaluate, tensors_of(arrays_of(where)))
    if of_torch:
        where = sorted(where + [i for i, x in enumerate(operands) if _is_integral(x)])
    inputs = arrays_of(where)
    dtypes = [operands[i].dtype if isinstance(operands[i], torch.Tensor) else None for i in where]
    try:
        f(*inputs)
    except RuntimeError:  # constants of float32 within
        if dtype == np.float32:
            raise
        inputs, float32_alone = [x.astype(np.float32) for x in inputs], True
        f(*inputs)
        notes.append("The function takes float32 alone, so it is checked in float32.")
    if run.draws:
        notes.append("The function draws random numbers from torch: each run starts from the same state of its generator.")
    for k in run.left_out:
        notes.append(f"Output {k} requires no gradient (detached, or marked as not differentiable), and is left out.")
    names = [labels[i] for i in where]
    keywords = sum(i >= len(operands) - len(everything[1]) for i in where)
    if second_order:
        first, first_names = upstreams_of(f(*inputs))
        inputs, names, dtypes = [*first, *inputs], [*first_names, *names], [None] * len(first) + dtypes
        upstreams = len(first)
    threads = _one_thread if sum(x.size for x in inputs) <= SMALL else contextlib.nullcontext
    return Adapted(f, backward, tuple(inputs), tuple(names), tuple(notes), keywords, of_torch, threads)


def _gradients(ys, x, dys, create_graph=False):
    """Zeros for what no output depends on."""
    pairs = [(y, d if create_graph else torch.tensor(np.asarray(d), dtype=y.dtype), d) for y, d in zip(ys, dys) if y.requires_grad]
    x = [a for a in x if a.requires_grad]
    ys, upstreams, dys = zip(*pairs) if pairs else ((), (), ())
    dx = torch.autograd.grad(ys, x, upstreams, allow_unused=True, create_graph=create_graph) if pairs else [None] * len(x)
    for mine, theirs in zip(upstreams, dys):  # the checker sees what backward writes to dy
        if isinstance(theirs, np.ndarray) and not np.array_equal(mine.numpy(), theirs, equal_nan=True):
            theirs[...] = mine.numpy()
    return [torch.zeros_like(a) if d is None else d for a, d in zip(x, dx)]


# Functions of C that cannot reach a tensor's memory, and methods that hand it out.
_SAFE = {"torch", *sys.stdlib_module_names} - {"ctypes", "_ctypes"}
_OP_CALLS = {op.__call__.__code__ for op in (torch._ops.OpOverload, torch._ops.OpOverloadPacket)}
_FUSED = re.compile("attention|transformer|lstm|gru|rnn_|ctc_loss|embedding_bag|l[ud]l?_solve|lu_unpack|segment_reduce|as_strided", re.IGNORECASE)
_MEMORY = {"data_ptr", "numpy", "__array__", "__dlpack__", "untyped_storage"}


def _is_of_torch(evaluate, tensors):
    """Are the function and its backward made of PyTorch's ops alone?"""
    foreign = []

    def watch(frame, event, function):
        if event == "call":
            name, module = frame.f_code.co_name, "torch"
            if frame.f_code in _OP_CALLS:  # as torch.ops.aten.sin
                module = {"aten": "torch", "prim": "torch"}.get(frame.f_locals["self"]._qualified_op_name.split("::")[0], "")
        elif event == "c_call":
            owner = getattr(function, "__self__", None)
            name, module = function.__name__, function.__module__ or type(owner).__module__
        else:
            return
        if name in _MEMORY or event == "c_call" and _FUSED.search(name) or module.split(".")[0] not in _SAFE:
            foreign.append(name)

    before = sys.getprofile()
    try:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            sys.setprofile(watch)
            y = evaluate(tensors)
            _gradients(y, tensors, [torch.ones_like(a) for a in y], create_graph=True)
    except Exception:  # which the check itself will meet
        return False
    finally:
        sys.setprofile(before)
    return not foreign


@contextlib.contextmanager
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _is_integral(x):
    return isinstance(x, torch.Tensor) and x.dim() > 0 and not x.is_floating_point() and x.device.type == "cpu"


def _is_floating(x, name):
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "f"
    if not isinstance(x, torch.Tensor):
        return False
    if x.device.type != "cpu":
        raise TypeError(f"gradcheck: {name} is on {x.device}; move it to the CPU: {name}.cpu()")
    if x.layout != torch.strided:
        raise TypeError(f"gradcheck: {name} is sparse ({x.layout}); pass {name}.to_dense()")
    if x.is_complex():
        raise TypeError(f"gradcheck: {name} is complex ({x.dtype}); pass torch.view_as_real({name})")
    return x.is_floating_point()


def _array(x):
    if isinstance(x, np.ndarray):
        return x
    return (x.detach().double() if x.is_floating_point() else x).numpy()  # NumPy has no bfloat16


def _cast(x, dtype):
    """A copy: modules write to their buffers."""
    return x.detach().to(dtype if x.is_floating_point() else x.dtype, copy=True)
