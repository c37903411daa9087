"""torch: a Function, a Module with its parameters, or a function of tensors.

As torch.autograd.gradcheck has it: if some arguments require a gradient, the others are constants; an output that
requires none beside others that do is left out.
"""

from __future__ import annotations

import numpy as np
import torch

from . import Adapted, argument_names, leaf_names, leaves, name_of, no_floating_input, wanted_dtype, with_leaves


def adapt(function, args):
    module = function if isinstance(function, torch.nn.Module) else None
    if isinstance(function, type) and issubclass(function, torch.autograd.Function):
        names = argument_names(function.forward, len(args) + 1)
        names, function = names[1:] if names[0] == "ctx" else names[:-1], function.apply
    else:
        names = argument_names(module.forward if module else function, len(args))
    parameters = dict(module.named_parameters()) if module else {}
    buffers = dict(module.named_buffers()) if module else {}
    everything = [list(args), {k: p for k, p in parameters.items() if p.requires_grad}]
    fixed = {k: p for k, p in parameters.items() if not p.requires_grad}
    given = list(leaves(everything))
    asked = any(isinstance(x, torch.Tensor) and x.requires_grad for x in leaves(args))
    constants = {id(x) for x in leaves(args) if asked and not getattr(x, "requires_grad", False)}
    labels = [n for name, x in zip(names, args) for n in leaf_names(name, x)] + list(everything[1])
    where = [i for i, x in enumerate(given) if _is_floating(x, labels[i]) and id(x) not in constants]
    if not where:
        raise no_floating_input(function)
    dtype = wanted_dtype(args)

    def run(tensors):
        """The floating outputs for the floating inputs, each run with the same random numbers and buffers."""
        to = tensors[0].dtype
        now = [_cast(x, to) if isinstance(x, torch.Tensor) else x for x in given]
        for i, tensor in zip(where, tensors):
            now[i] = tensor
        inputs, weights = with_leaves(everything, iter(now))
        with torch.random.fork_rng(devices=[]):
            if module:
                held = {k: _cast(b, to) for k, b in {**fixed, **buffers}.items()}
                y = torch.func.functional_call(module, {**weights, **held}, tuple(inputs))
            else:
                y = function(*inputs)
            run.draws = not torch.equal(state, torch.get_rng_state())
        outputs = [t for t in leaves(y) if isinstance(t, torch.Tensor) and t.is_floating_point()]
        if not outputs:
            raise TypeError(f"gradcheck: {name_of(function)} has no output of a floating dtype")
        run.left_out = [k for k, t in enumerate(outputs) if not t.requires_grad]
        if len(run.left_out) == len(outputs):
            run.left_out = []
        return [t for k, t in enumerate(outputs) if k not in run.left_out]

    def tensors_of(arrays):
        # One dtype for all: float64 if the checker asks for differences in float64.
        to = torch.float32 if float32_alone or all(a.dtype == np.float32 for a in arrays) else torch.float64
        return [torch.tensor(np.asarray(a), dtype=to, requires_grad=True) for a in arrays]

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
            pairs = [(y, torch.tensor(np.asarray(d), dtype=y.dtype)) for y, d in zip(outputs, dy) if y.requires_grad]
            ys, ds = zip(*pairs) if pairs else ((), ())
            dx = torch.autograd.grad(ys, x, ds, allow_unused=True) if pairs else [None] * len(x)
        return tuple((torch.zeros_like(a) if d is None else d).detach().numpy(force=True).copy() for a, d in zip(x, dx))

    state = torch.get_rng_state()
    inputs = [given[i] for i in where]
    inputs = [x if isinstance(x, np.ndarray) else x.detach().to(torch.float64).numpy() for x in inputs]
    inputs = [np.array(x, dtype=dtype) for x in inputs]
    notes, float32_alone = [], False
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
    own = sum(i >= len(given) - len(everything[1]) for i in where)
    return Adapted(f, backward, tuple(inputs), tuple(labels[i] for i in where), tuple(notes), own)


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


def _cast(x, dtype):
    """A copy: modules write to their buffers."""
    return x.detach().to(dtype if x.is_floating_point() else x.dtype, copy=True)
