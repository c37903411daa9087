"""Is a backward the derivative of its function?"""
import json

from . import _glim


class Report:
    """The findings of `gradcheck`: true if the gradients are right.

    print(report) shows all of it, and a notebook shows it with the errors as a picture.

    verdicts     dict from the name of each check to "passed", "failed", "undecided" or "not applicable"
    mistake      what the gradient's mistake looks like, or None
    worst        (input, index, analytic, numeric) of the derivative furthest from its tolerance, or None
    within_atol  dict from inputs to how many of their derivatives are so small that 0 would be within atol, too
    """

    def __init__(self, report, notes=(), mistake=None):
        self._passed, self._json = report.passed, report.json
        self._text = "".join([report.text, *("\n  " + note for note in notes)])
        self._data = json.loads(report.json)
        if mistake:
            head, _, checks = self._text.partition("\n")
            self._text = f"{head.split(': ')[0]}: FAILED: {mistake}\n{checks}"
            self._data["mistake"] = mistake
            self._json = json.dumps(self._data, ensure_ascii=False)

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


def gradcheck(f, *args, mode="full", precise=False, atol=None, rtol=None, seed=0, cache=False, name=None):
    """Checks a backward against differences of its function, and how it behaves.

    gradcheck(f, backward, *inputs)
        f(*inputs)             an array, or a tuple of them
        backward(dy, *inputs)  ∂L/∂x for each input, of its shape, given dy = ∂L/∂y; None for an input without one
    With cache=True f returns (y, cache), and backward is called as backward(dy, cache).

    gradcheck(F, *inputs)
        F: a glim.Op or torch.autograd.Function, a glim.Module or torch.nn.Module with its parameters, a function of
        Vars, of torch, of JAX or of HIPS/autograd. The gradient is the framework's (glim.adapters).

    Inputs are float64 or float32 arrays of any shape and strides; arrays of integers and bools are passed on unchecked.

    mode     "full": every element of the Jacobian. "projected": one random projection for each input, for large arrays.
    precise  differences of eighth order, to ten digits
    atol, rtol  by default 1e-7 and 1e-5 in float64; 1e-5 and 1e-3 in float32
    seed     of the random directions
    name     for the report; else f's own

    Returns a Report, which is true if the gradients are right. Exceptions of f and backward pass through.
    Raises glim.DTypeError and glim.ValueError (a TypeError and a ValueError) for inputs and results that cannot be
    checked.
    """
    if mode not in ("full", "projected"):
        raise _glim.ValueError(f"gradcheck: mode is {mode!r}; it is 'full' or 'projected'")
    for option, value in (("atol", atol), ("rtol", rtol)):
        if not isinstance(value, (int, float, type(None))):
            raise TypeError(f"gradcheck: {option} is {value!r}; it is a number")
    if not isinstance(seed, int) or not 0 <= seed < 2 ** 64:
        raise _glim.ValueError(f"gradcheck: seed is {seed!r}; it is a whole number from 0 on, below 2**64")
    if not callable(f):
        raise TypeError(f"gradcheck: the first argument is the function, not {type(f).__name__}")
    from ._numpy import pair
    from .adapters import adapt, name_of
    name = name_of(f) if name is None else str(name)
    of_arrays = bool(args) and callable(args[0])  # NumPy refuses sizes that do not fit each other
    if of_arrays:
        backward, *inputs = args
        names, notes, parameters = None, (), 0
    else:
        f, backward, inputs, names, notes, parameters = adapt(f, *args)

    def checked(backward, full):
        value, gradient, interrupted, named = pair(f, backward, inputs, cache, names)
        return _glim.check_function(
            value, gradient, interrupted, named, name=name, full=full, precise=precise, atol=atol or 0, rtol=rtol or 0,
            seed=seed, fixed_shapes=len(named) - parameters, refuses_misfits=of_arrays)

    def mistake():
        """That backward(x, dy) is right where backward(dy, x) is not."""
        try:
            if of_arrays and checked(lambda dy, *x: backward(*x, dy), False).passed:
                kept = "cache" if cache else ", ".join(f"x{k}" for k in range(len(inputs)))
                return (f"the arguments are swapped: it is called as backward(dy, {kept}), and is right as "
                        f"backward({kept}, dy)")
        except Exception:
            pass
        return None

    try:
        report = checked(backward, mode == "full")
    except Exception as error:
        if found := mistake():
            raise TypeError(f"gradcheck of {name}: {found}") from error
        raise
    return Report(report, notes, None if report.passed else mistake())
