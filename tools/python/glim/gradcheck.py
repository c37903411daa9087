"""Is a backward the derivative of its function?

    analytic = Σ e backward(u, x)                             u: random, of y's shape; in full mode each unit vector, too
    numeric  = (Σ u f(x + h e) - Σ u f(x - h e)) / 2h         e: each unit vector of x's shape; in projected mode a random one
    right    : |analytic - numeric| ≤ atol + rtol |numeric|

In NumPy, with u of y's shape alone; autograd/gradcheck/plain.hpp is the same in C++:

    import numpy as np
    def check(f, backward, *inputs, h=5e-6, rtol=1e-5, atol=1e-7):
        u = np.random.default_rng(0).uniform(-1, 1, np.shape(f(*inputs)))
        dx = backward(u, *inputs)
        dx = dx if isinstance(dx, tuple) else (dx,)
        for k in range(len(inputs)):
            for i in np.ndindex(inputs[k].shape):
                def loss(step):
                    x = inputs[k].copy()
                    x[i] += step
                    return np.sum(u * f(*inputs[:k], x, *inputs[k + 1:]))
                numeric = (loss(h) - loss(-h)) / (2 * h)
                assert abs(dx[k][i] - numeric) <= atol + rtol * abs(numeric), f"input {k} at {i}: {dx[k][i]}, not {numeric}"

gradcheck also adapts h (autograd/gradcheck/numeric.hpp), excuses kinks (check.cpp there), names the mistake (mistakes.cpp), and
checks backward at other inputs and what it does to its arguments (tools/foreign/function.cpp). All of that is C++:

    gradcheck
      adapters.adapt           the function of a framework, and its gradient, as f and backward of NumPy arrays
      _numpy.callbacks         f and backward as the checker calls them
      _glim.check_function     tools/python/check.cpp → tools/foreign/function.cpp: all checks, of which one is
        differences              the three lines above: tools/foreign/differences.cpp → autograd/gradcheck
    Report                     what they found
"""
import contextlib
import json

from . import _glim
from ._options import is_number, is_whole


def gradcheck(f, *args, mode="full", precise=False, atol=None, rtol=None, seed=0, cache=False, name=None, second_order=False,
              **keywords):
    """Checks a backward against differences of its function, and how it behaves.

    gradcheck(f, backward, *inputs)
        f(*inputs)             an array, or a tuple of them
        backward(dy, *inputs)  ∂L/∂x for each input, of its shape, given dy = ∂L/∂y; None for an input without one
    With cache=True f returns (y, cache), and backward is called as backward(dy, cache).
    Other keyword arguments are those of f, and take their place among the inputs. A keyword-only one is a constant: backward
    is called with it, too, unless there is a cache.

    gradcheck(F, *inputs)
        F: a glim.Op or torch.autograd.Function, a glim.Module or torch.nn.Module with its parameters, a function of
        Vars, of torch, of JAX or of HIPS/autograd. The gradient is the framework's (glim.adapters).

    Inputs are float64 or float32 arrays of any shape and strides; arrays of integers and bools are passed on unchecked.

    mode     "full": every element of the Jacobian. "projected": one random projection for each input, for large arrays.
    precise  differences of eighth order, to ten digits
    atol, rtol  by default 1e-7 and 1e-5 in float64 (1e-11 and 1e-10 if precise); 1e-5 and 1e-3 in float32, 2e-3 and 1e-2 where f
             takes float32 alone
    seed     of the random directions
    name     for the report; else f's own
    second_order  check the gradient of the gradient, (dy, *inputs) ↦ ∂L/∂inputs, of a framework's function. For NumPy:
             gradcheck(backward, backward_of_backward, dy, *inputs)

    Returns a Report, which is true if the gradients are right. Exceptions of f and backward pass through.
    Raises glim.DTypeError and glim.ValueError (a TypeError and a ValueError) for inputs and results that cannot be checked.
    """
    has_backward = bool(args) and callable(args[0])
    _require_options(f, has_backward, mode, atol, rtol, seed, precise=precise, cache=cache, second_order=second_order)
    from ._numpy import callbacks
    from .adapters import Adapted, adapt, name_of
    name = name_of(f) if name is None else str(name)
    backward, inputs = (args[0], args[1:]) if has_backward else (None, args)
    if keywords:
        f, backward, inputs = _in_order(f, backward, inputs, keywords, cache)
    if has_backward:  # NumPy refuses sizes that do not fit each other
        adapted = Adapted(f, backward, inputs, None, ())
    else:
        adapted = adapt(f, *inputs, second_order=second_order)

    def run(backward, full):
        value, gradient, interrupted, named = callbacks(adapted.f, backward, adapted.inputs, cache, adapted.names)
        with adapted.context():
            return _glim.check_function(
                value, gradient, interrupted, named, name=name, full=full, precise=precise, atol=float(atol or 0),
                rtol=float(rtol or 0), seed=int(seed), fixed_shapes=len(named) - adapted.parameters,
                refuses_misfits=adapted.refuses_misfits)

    def swapped_arguments():
        """A sentence if backward(x, dy) is right where backward(dy, x) is not, else None."""
        with contextlib.suppress(Exception):
            if has_backward and run(lambda dy, *x: backward(*x, dy), False).passed:
                kept = "cache" if cache else ", ".join(f"x{k}" for k in range(len(inputs)))
                return (f"the arguments are swapped: it is called as backward(dy, {kept}), and is right as "
                        f"backward({kept}, dy)")

    try:
        report = run(adapted.backward, mode == "full")
    except Exception as error:
        if found := swapped_arguments():
            raise TypeError(f"gradcheck of {name}: {found}") from error
        raise
    right_here = json.loads(report.json)["checks"]["differences"]["verdict"] == "passed"
    return Report(report, adapted.notes, None if right_here else swapped_arguments(), _low_dtypes(f, inputs))


class Report:
    """The findings of `gradcheck`: true if the gradients are right.

    print(report) shows all of it, and a notebook shows it with the errors as a picture.

    verdicts     dict from the name of each check to "passed", "failed", "undecided" or "not applicable"
    mistake      what the gradient's mistake looks like, or None
    worst        (input, index, analytic, numeric) of the derivative furthest from its tolerance, or None
    within_atol  dict from inputs to how many of their derivatives are so small that 0 would be within atol, too
    """

    def __init__(self, report, notes=(), mistake=None, low=()):
        self._passed, self._json, self._data = report.passed, report.json, json.loads(report.json)
        head, *lines = "\n  ".join([report.text, *notes]).split("\n")
        if mistake:
            head = f"gradcheck of {self._data['function']}: FAILED: {mistake}"
            self._data["mistake"] = mistake
        if low:
            head += f" in float64; {' and '.join(low)} was not checked"
            lines.append("  The arithmetic of kernels in low precision is judged by glim.compare_backward(kernel, reference, *inputs).")
            self._data["not_checked"] += [f"{dtype} arithmetic" for dtype in low]
        if low or mistake:
            self._json = json.dumps(self._data, ensure_ascii=False)
        self._text = "\n".join([head, *lines])

    def __bool__(self):
        return self._passed

    def __str__(self):
        return self._text

    def __repr__(self):
        """One line, which pytest shows for `assert gradcheck(...)`."""
        line = self._text.split("\n", 1)[0]
        reasons = [f"{name}: {check['detail'] or check['verdict']}" for name, check in self._data["checks"].items()
                   if check["verdict"] in ("failed", "undecided") and name != "differences"
                   and check["detail"] != self.mistake]
        if self.worst and not self._passed:
            name, index, analytic, numeric = self.worst
            reasons.insert(0, f"{name}{list(index)}: analytic {analytic:.6g}, numeric {numeric:.6g}")
        return f"<{'; '.join([line] + reasons)}>"

    def to_json(self):
        """The report as JSON text."""
        return self._json

    @property
    def verdicts(self):
        return {name: check["verdict"] for name, check in self._data["checks"].items()}

    @property
    def mistake(self):
        return self._data["mistake"]

    @property
    def worst(self):
        found = [(x["name"], x["worst"]) for x in self._data["inputs"] if "worst" in x]
        if not found:
            return None
        name, x = max(found, key=lambda one: float(one[1]["of_tolerance"]))
        return name, tuple(x["index"]), float(x["analytic"]), float(x["numeric"])

    @property
    def within_atol(self):
        return {x["name"]: x["within_atol"] for x in self._data["inputs"] if x["within_atol"]}

    def _repr_html_(self):
        from ._html import page
        return page(self._passed, self._text, self._data)


def _require_options(f, has_backward, mode, atol, rtol, seed, **switches):
    if mode not in ("full", "projected"):
        raise _glim.ValueError(f"gradcheck: mode is {mode!r}; it is 'full' or 'projected'")
    for option, value, limit in (("atol", atol, float("inf")), ("rtol", rtol, 1)):
        if value is not None and not is_number(value):
            raise TypeError(f"gradcheck: {option} is {value!r}; it is a number")
        if value is not None and not 0 < value < limit:
            raise _glim.ValueError(f"gradcheck: {option} is {value!r}; it is a number above 0" + " and below 1" * (limit == 1))
    for option, value in switches.items():
        if not isinstance(value, bool):
            raise TypeError(f"gradcheck: {option} is {value!r}; it is True or False")
    if not is_whole(seed) or not 0 <= seed < 2 ** 64:
        raise _glim.ValueError(f"gradcheck: seed is {seed!r}; it is a whole number from 0 on, below 2**64")
    if not callable(f):
        raise TypeError(f"gradcheck: the first argument is the function, not {type(f).__name__}")
    if switches["cache"] and not has_backward:
        raise TypeError("gradcheck: cache is for a backward in NumPy, gradcheck(f, backward, *inputs, cache=True)")
    if switches["second_order"] and has_backward:
        raise TypeError("gradcheck: second_order is for functions of a framework; the gradient of a backward in NumPy is "
                        "checked by gradcheck(backward, backward_of_backward, dy, *inputs)")


def _in_order(f, backward, inputs, keywords, cache):
    """(f, backward, inputs) with keyword arguments in the order of f's parameters."""
    import functools
    import inspect
    call = f.forward if hasattr(f, "forward") else f
    try:
        bound = inspect.signature(call).bind(*inputs, **keywords)
        bound.apply_defaults()
    except (TypeError, ValueError) as error:
        raise TypeError(f"gradcheck: {', '.join(keywords)}: neither an option of gradcheck nor taken by the function: "
                        f"{error}") from None
    constants = {name: x for name, x in bound.kwargs.items() if name in keywords}  # without f's defaults
    if constants:
        if hasattr(f, "forward"):
            raise TypeError(f"gradcheck: {', '.join(constants)}: pass it within a function, lambda x: f(x, ...)")
        f = functools.partial(f, **constants)
        backward = functools.partial(backward, **constants) if backward and not cache else backward
    return f, backward, bound.args


def _low_dtypes(f, inputs):
    """The names of the dtypes of f's inputs and parameters that the check does not run in."""
    from .adapters import leaves
    operands = [*leaves(list(inputs)), *(f.parameters() if hasattr(f, "parameters") else ())]
    found = {str(getattr(x, "dtype", "")).rsplit(".", 1)[-1] for x in operands}
    return sorted(found & {"bfloat16", "float16", "half"})
