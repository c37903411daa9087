"""Functions of other frameworks as a function and a backward in NumPy.

`adapt(function, *args)` finds the framework that the function or an argument belongs to, and only then imports it.
One file a framework: glim_functions.py, torch_functions.py, jax_functions.py, autograd_functions.py, mlx_functions.py, tinygrad_functions.py.
"""

import contextlib
import importlib
import types
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np

# Where a type or a function comes from, and the file that adapts it.
_FRAMEWORKS = {
    "glim": "glim_functions",
    "torch": "torch_functions",
    "jax": "jax_functions",
    "jaxlib": "jax_functions",
    "autograd": "autograd_functions",
    "mlx": "mlx_functions",
    "tinygrad": "tinygrad_functions",
}


class Adapted(NamedTuple):
    """A function of floating arrays, and its gradient by the framework."""

    f: Callable[..., tuple]  # f(*inputs) -> the floating outputs
    # backward(dy, *inputs, others=None) -> a gradient for each input; dy is a tuple for several outputs. A forward of
    # `others` comes between its forward and its backward. Arrays that it had in its last call were written anew.
    backward: Callable[..., tuple]
    inputs: tuple  # NumPy arrays, float32 or float64
    names: tuple  # of the inputs
    notes: tuple  # sentences for the report
    parameters: int = 0  # how many of the inputs, the last ones, are those of a module
    refuses_misfits: bool = True  # f raises an exception for sizes that do not fit each other
    context: Callable = contextlib.nullcontext  # in which f and backward are called


def adapt(function: Any, *args: Any, second_order: bool = False) -> Adapted:
    """The function as NumPy arrays see it, or its gradient: (dy, *inputs) ↦ Jᵀdy if `second_order`.

    Floating tensors among `args`, also within lists, tuples and dicts, become the inputs, and so do the parameters of a
    module. Arrays of integers and bools do too, where the function refuses indices that do not fit. All other arguments
    stay as they are. Tensors and parameters are checked in float64. NumPy arrays of float32 alone ask for float32.

    Raises TypeError if the function belongs to no framework, or if an argument is not in the memory of the CPU.
    """
    name = _framework_of(function, args)
    if name == "glim_functions" and isinstance(function, type):
        raise TypeError(f"gradcheck: {name_of(function)} is a class: pass an instance of it, {name_of(function)}()")
    if name is None:
        raise TypeError(
            "gradcheck: the second argument is the backward, a function: gradcheck(f, backward, *inputs). It is left out "
            f"for a function of Glim, torch, JAX, autograd, MLX or tinygrad alone, and {name_of(function)} is none of these"
        )
    module = importlib.import_module("." + name, __name__)
    if not second_order:
        return module.adapt(function, args)
    if name in ("mlx_functions", "tinygrad_functions"):
        raise TypeError("gradcheck: second_order is for functions of Glim, torch, JAX and autograd")
    return module.adapt(function, args, second_order=True)


def name_of(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def no_floating_input(function: Any) -> TypeError:
    return TypeError(f"gradcheck: {name_of(function)} has no input of a floating dtype: pass arrays of floating numbers, "
                     "np.asarray(x, float)")


def floating_arguments(function: Any, args: tuple, is_floating: Callable[[Any], bool]) -> tuple:
    """The leaves of the arguments, their labels, and where the floating ones are among them."""
    operands = list(leaves(list(args)))
    labels = [n for name, x in zip(argument_names(function, len(args)), args) for n in leaf_names(name, x)]
    where = [i for i, x in enumerate(operands) if is_floating(x)]
    if not where:
        raise no_floating_input(function)
    return operands, labels, where


def upstreams_of(outputs: tuple) -> tuple[list, list[str]]:
    """A random dy for each output, and their names."""
    drawn = [np.random.default_rng(k).standard_normal(y.shape).astype(y.dtype) for k, y in enumerate(outputs)]
    return drawn, ["dy"] if len(drawn) == 1 else [f"dy{k}" for k in range(len(drawn))]


def wanted_dtype(args: Any) -> type:
    """float32 if every floating NumPy array is float32, and there is one."""
    floating = [x.dtype for x in leaves(args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    return np.float32 if floating and all(d == np.float32 for d in floating) else np.float64


def argument_names(function: Any, count: int) -> list[str]:
    """The names in the function's signature, x0, x1, … where it has none."""
    import inspect

    try:
        named = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        named = []
    return (named + [f"x{i}" for i in range(len(named), count)])[:count]


# ---- lists, tuples and dicts of arguments ----


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of the lists, tuples and dicts of `tree`, in order."""
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from leaves(branch)
    else:
        yield tree


def with_leaves(tree: Any, new: Iterator[Any]) -> Any:
    """The same lists, tuples and dicts with other leaves."""
    if isinstance(tree, dict):
        return type(tree)((k, with_leaves(v, new)) for k, v in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(with_leaves(v, new) for v in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(with_leaves(v, new) for v in tree)
    return next(new)


def leaf_names(name: str, tree: Any) -> Iterator[str]:
    """x, x[0], x['w']: one for each of leaves(tree)."""
    if isinstance(tree, dict):
        for key, branch in tree.items():
            yield from leaf_names(f"{name}[{key!r}]", branch)
    elif isinstance(tree, (list, tuple)):
        for i, branch in enumerate(tree):
            yield from leaf_names(f"{name}[{i}]", branch)
    else:
        yield name


# ---- which framework ----


def _adapter_of(module: Any) -> str | None:
    return _FRAMEWORKS.get(module.split(".")[0]) if isinstance(module, str) else None


def _adapter_of_type(kind: type) -> str | None:
    return next(filter(None, (_adapter_of(k.__module__) for k in kind.__mro__)), None)


def _framework_of(function: Any, args: tuple) -> str | None:
    of_types = (_adapter_of_type(type(x)) for x in (*leaves(args), function))
    return next(filter(None, of_types), None) or _framework_used_by(function, set())


def _framework_used_by(used: Any, visited: set) -> str | None:
    """That of a class, function or module, or of what a Python function reads when it runs."""
    if id(used) in visited or len(visited) > 1000:
        return None
    visited.add(id(used))
    if isinstance(used, type):
        return _adapter_of_type(used)
    if isinstance(used, types.ModuleType):
        return _adapter_of(used.__name__)
    if found := _adapter_of_type(type(used)) or _adapter_of(getattr(used, "__module__", None)):
        return found
    used = getattr(used, "func", used)  # of functools.partial
    used = getattr(used, "__func__", used)  # of a method
    if not isinstance(used, types.FunctionType):
        call = getattr(type(used), "__call__", None)
        return _framework_used_by(call, visited) if isinstance(call, types.FunctionType) else None
    reads = [cell.cell_contents for cell in used.__closure__ or () if _is_set(cell)]
    reads += [used.__globals__[n] for n in _names_in(used.__code__) if n in used.__globals__]
    return next(filter(None, (_framework_used_by(value, visited) for value in reads)), None)


def _is_set(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)
