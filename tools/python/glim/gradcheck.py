"""Is a backward the derivative of its function?"""
import json

from . import _glim


class Report:
    """What `gradcheck` found: true if nothing is wrong; its text names the mistake and the worst element.

    verdicts  dict of each check's name: "passed", "failed", "undecided" or "not applicable"
    mistake   what the gradient's mistake looks like, or None
    worst     (input, index, analytic, numeric) of the derivative furthest from its tolerance, or None
    """

    def __init__(self, report):
        self._report = report
        self._data = json.loads(report.json)

    def __bool__(self):
        return self._report.passed

    def __str__(self):
        return self._report.text

    __repr__ = __str__

    def to_json(self):
        """The report as JSON text."""
        return self._report.json

    @property
    def verdicts(self):
        return self._data.get("verdicts", {})

    @property
    def mistake(self):
        return self._data.get("mistake")

    @property
    def worst(self):
        return None


def gradcheck(f, *args, mode="full", precise=False, atol=None, rtol=None, seed=0, cache=False, name=None):
    """Checks a backward against differences of its function.

    gradcheck(f, backward, *inputs): f(*inputs) gives an array or a tuple of them; backward(dy, *inputs) gives ∂L/∂x
    for each input, given dy = ∂L/∂y. With cache=True f gives (y, cache), and backward is called with (dy, cache).
    """
    if mode not in ("full", "projected"):
        raise _glim.ValueError(f"gradcheck: mode is {mode!r}; it is 'full' or 'projected'")
    if not args or not callable(args[0]):
        raise TypeError("gradcheck: the second argument is the backward, a function")
    backward, *inputs = args
    from ._numpy import pair
    value, gradient, named = pair(f, backward, inputs, cache)
    return Report(_glim.check_function(
        value, gradient, named, name=name or getattr(f, "__name__", "function"), full=mode == "full",
        precise=precise, atol=atol or 0, rtol=rtol or 0, seed=seed))
