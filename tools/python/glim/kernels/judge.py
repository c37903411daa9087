"""The checks of compare_backward, at each probe."""

from typing import NamedTuple

import torch

from .. import _glim
from .name import mistake_in
from .place import Box
from .probes import AS_GIVEN, probes
from .report import KernelReport
from .scores import FAILED, LIMITS, scores
from .time_limit import time_limit
from .truth import floating, truth, unit

CHECKS = ["runs", "inputs kept", "finite", *LIMITS, "item alone", "linear in dy", "strided dy", "twice", "input alone"]
HANGS = 120  # seconds for one call of the kernel
NEEDS = {"item alone": "batch=, the axis of the items", "factor": "a gradient of more than 200 elements",
         "slice": "a gradient of two axes", "input alone": "a kernel that autograd calls"}
# Where rounding errors are all alike, as at equal rows, their sum along the gradient is no measure of a factor.
NO_FACTOR = {"repeated rows", "all of one sign", "dy in the last row alone", "dy in the last item alone"}


class Place(NamedTuple):
    share: float  # the largest number of this input's gradient, of its limit
    j: int
    probe: str
    box: Box

    def words(self, names):
        return f"{names[self.j]}{'' if self.box.text.startswith('[') else ' '}{self.box.text}"


class Judge:
    def __init__(self, gradients, by_autograd, reference, contract, seed, names):
        self.by_autograd = by_autograd
        self.gradients, self.reference, self.contract, self.seed = gradients, reference, contract, seed
        self.names = names
        self.found = {}  # check: (value / limit, detail, probe, input)
        self.left_out = []
        self.places, self.random = [], torch.get_rng_state()

    def judge(self, name, inputs, dys, batch, also):
        decisive = False
        for probe, xs, ds in probes(inputs, dys):
            known = truth(self.reference, xs, ds, self.contract, self.seed)
            if not self._finite(known, xs):
                if probe == AS_GIVEN:
                    raise _glim.ValueError("compare_backward: the true gradient is not finite in the inputs' dtype; pass inputs "
                                           "at which it is")
                self.left_out.append(probe)
                continue
            units = [k and unit(*k, x.dtype) for k, x in zip(known, xs)]
            if probe == AS_GIVEN:
                decisive = any(k and bool((k[0].abs() > LIMITS["element"] * u).any()) for k, u in zip(known, units))
            gradients = self._gradients(probe, ds, xs, known)
            if gradients is None:
                continue
            if not any(known):
                raise _glim.ValueError("compare_backward: every floating input is empty")
            places = [self._measure(probe, j, g, *k, u, xs[j].dtype)
                      for j, (g, k, u) in enumerate(zip(gradients, known, units)) if k]
            worst = max(share for share, *_ in places)
            # The inputs as given show a mistake best; another probe only if it shows it alone.
            if worst > 1 and (not self.places or self.places[0].share <= FAILED < worst):
                self.places = sorted((Place(share, j, probe, Box(*pair)) for share, j, pair in places
                                      if share > (FAILED if worst > FAILED else 1)), key=lambda place: place.box.part)
            if probe == AS_GIVEN:
                self.as_given = gradients
                self._behaviour(gradients, units, xs, ds, batch)
        if not decisive and not any(v > FAILED for v, *_ in self.found.values()):
            raise _glim.ValueError("compare_backward: every gradient is smaller than what rounding may change, so any kernel would "
                                   "pass; pass other inputs or another dy")
        return self._report(name, inputs, dys, batch, also)

    def _finite(self, known, xs):
        return all(bool(torch.isfinite(k[0].to(x.dtype)).all() and torch.isfinite(k[1].to(x.dtype)).all())
                   for k, x in zip(known, xs) if k)

    def _note(self, check, value, probe, j, detail):
        if check not in self.found or value > self.found[check][0]:
            self.found[check] = (value, detail, probe, j)

    def call(self, dys, xs, probe=AS_GIVEN, number=None):
        """The kernel's gradients for copies, from the same random numbers each time."""
        operands = [*dys, *xs]
        copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in operands]
        with torch.random.fork_rng(devices=[]), time_limit(HANGS):
            torch.set_rng_state(self.random)
            gradients = self.gradients(copies[:len(dys)], copies[len(dys):], number)
        for label, old, new in zip(["dy"] * len(dys) + self.names, operands, copies):
            if isinstance(old, torch.Tensor) and not _same(old, new):
                self._note("inputs kept", float("inf"), probe, None, f"the kernel writes to {label}")
        return gradients

    def _gradients(self, probe, dys, xs, known):
        try:
            gradients = self.call(dys, xs, probe)
        except Exception as error:
            if probe == AS_GIVEN and not isinstance(error, TimeoutError):
                raise
            self._note("runs", float("inf"), probe, None, _words(error))
            return None
        wrong = self._misshapen(gradients, xs, known)
        if wrong:
            self._note("runs", float("inf"), probe, None, wrong)
            return None
        return [None if k is None else (torch.zeros_like(x) if g is None else g.detach()).double()
                for g, x, k in zip(gradients, xs, known)]

    def _misshapen(self, gradients, xs, known):
        if len(gradients) != len(xs):
            return f"{len(gradients)} gradients for {len(xs)} inputs"
        for name, g, x, k in zip(self.names, gradients, xs, known):
            if k and g is not None and (g.shape, g.dtype) != (x.shape, x.dtype):
                return (f"the gradient of {name} is {_dtype(g)} {tuple(g.shape)}; {name} is {_dtype(x)} {tuple(x.shape)}")
        return None

    def _measure(self, probe, j, gradient, true, errors, unit, dtype):
        error = gradient - true
        worst = 0.0
        for check, (value, where) in scores(error, true, errors, unit, dtype, probe not in NO_FACTOR).items():
            share = value / LIMITS.get(check, 1)
            worst = max(worst, share)
            self._note(check, share, probe, j, _detail(check, self.names[j], where, gradient, true, error))
        return worst, j, (gradient, true, unit)

    def _behaviour(self, gradients, units, xs, dys, batch):
        """Calls the kernel again: unchanged, with 4 dy, with other strides, for one input and for one item."""
        everything = range(len(xs))
        self._again("twice", dys, xs, 1, everything, gradients, units, "a second call gives another gradient of {}")
        large = max(x.abs().max() for x in [*dys, *gradients] if x is not None and x.numel())
        scale = 4 if all(large * 8 < torch.finfo(x.dtype).max for x in [*dys, *xs] if floating(x)) else 0.25
        self._again("linear in dy", [dy * scale for dy in dys], xs, scale, everything, gradients, units,
                    f"{scale} dy does not give {scale} times the gradient of {{}}")
        self._again("strided dy", list(map(_strided, dys)), xs, 1, everything, gradients, units,
                    "dy with other strides, as autograd may pass it, gives another gradient of {}")
        for j in everything if self.by_autograd else ():
            if gradients[j] is not None:
                self._again("input alone", dys, xs, 1, [j], gradients, units, "{} has another gradient where no other input needs one", j)
        if not batch:
            return
        axes = batch + [None] * (len(xs) - len(batch))  # a module's parameters have no items
        items, axis = next((x.shape[a], a) for x, a in zip(xs, batch) if a is not None)
        for b in range(items if items > 1 else 0):
            def item(x, axis):
                return x if axis is None or x is None else x.narrow(axis, b, 1)
            self._again("item alone", [item(dy, axis) for dy in dys], list(map(item, xs, axes)), 1,
                        [j for j, a in enumerate(axes) if a is not None], list(map(item, gradients, axes)),
                        list(map(item, units, axes)), f"item {b} alone has another gradient of {{}}")

    def _again(self, check, dys, xs, scale, which, gradients, units, words, number=None):
        try:
            others = self.call(dys, xs, AS_GIVEN, number)
        except Exception as error:
            return self._note(check, float("inf"), AS_GIVEN, None, _words(error))
        for j in which:
            if gradients[j] is not None:
                error = (torch.zeros_like(gradients[j]) if others[j] is None else others[j].double() / scale) - gradients[j]
                error = torch.where(error.isnan(), float("inf"), error)
                value = max((error / units[j]).abs().max().item() / LIMITS["element"],
                            (error.norm() / units[j].norm()).item() / LIMITS["whole"])
                self._note(check, value, AS_GIVEN, j, words.format(self.names[j]) if value else "the same bits")

    def _report(self, name, inputs, dys, batch, also):
        checks = {}
        for check in CHECKS:
            value, detail, probe, j = self.found.get(check, (0.0, "", None, None))
            verdict = "passed" if value <= 1 else "undecided" if value <= FAILED else "failed"
            if check not in self.found and check in NEEDS:
                verdict, detail = "not applicable", f"it needs {NEEDS[check]}"
            if 0 < value < float("inf") and verdict != "not applicable":
                detail = f"{value:.2g} of the limit" + f": {detail}" * (value > 1)
            if value > 1 and probe != AS_GIVEN:
                detail += f" (at {probe!r})"
            checks[check] = {"verdict": verdict, "value": value, "detail": detail, "probe": probe,
                             "input": None if j is None else self.names[j]}
        place = self.places[0] if self.places else None
        failed = any(c["verdict"] == "failed" for c in checks.values())
        integers = [n for n, x in zip(self.names, inputs) if isinstance(x, torch.Tensor) and not floating(x)]
        notes = [f"{probe!r} is left out: the reference is not finite there" for probe in self.left_out]
        notes += [f"also wrong: {other.words(self.names)}" for other in self.places[1:]]
        if place and place.probe != AS_GIVEN and integers:
            notes.append(f"{', '.join(integers)}: the same numbers at every probe. If they are computed from the floating inputs, "
                         "compute them within kernel and reference.")
        small, mistake = mistake_in(self, inputs, dys, also) if failed and place and place.box.everywhere else (None, None)
        dtype, inside, accumulate = (str(d).removeprefix("torch.") for d in self.contract)
        probe = place.probe if place else next((c["probe"] for c in checks.values() if c["verdict"] == "failed"), None)
        return KernelReport({
            "name": name, "dtype": dtype, "inside": inside, "accumulate": accumulate, "checks": checks,
            "place": place and [self.names[place.j], place.box.text], "box": place and [place.j, [list(r) for r in place.box.ranges]],
            "inputs": [{"name": self.names[p.j], "shape": list(p.box.shape), "errors": p.box.errors.flatten().tolist()}
                       for p in self.places if p.box.errors.numel() <= 4096],
            "probe": probe, "left_out": self.left_out, "mistake": mistake, "small": small, "notes": notes})


def _detail(check, name, where, gradient, true, error):
    if check in ("element", "finite"):
        return f"{name}{list(where)} is {gradient[where].item():.5g}, true {true[where].item():.5g}"
    if check == "slice":
        return f"{name}, index {where[1]} of axis {where[0]}"
    if check == "factor":
        factor = 1 + ((error * true).sum() / (true**2).sum()).item()
        return f"{name} is {factor:.4g} × the truth along the truth"
    return name


def _strided(x):
    """The same numbers, not contiguous."""
    return x.mT.contiguous().mT if x.ndim >= 2 else torch.stack([x, x], -1)[..., 0]


def _words(error):
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def _same(old, new):
    return torch.equal(old, new) or bool(old.is_floating_point() and torch.equal(old.nan_to_num(), new.nan_to_num())
                                         and torch.equal(old.isnan(), new.isnan()))


def _dtype(x):
    return str(x.dtype).removeprefix("torch.")
