"""Curvature: the eigenvalues of the Hessian of a loss, of all parameters and of each, by Lanczos' method."""
from . import _glim
from ._options import is_number, is_whole


class Curvature:
    """What glim.curvature returns. print() shows it; numbers are float64 arrays.

    largest, by_size      the k largest eigenvalues by value, and by size with their sign
    lowest                the lowest one; below 0 the loss curves down in that direction
    residuals             of largest: some eigenvalue of H is no farther away than this
    blocks                {parameter: the largest eigenvalue of its own block of H}
    values                every Ritz value, ascending: the outer ones have converged
    density               probes > 0: (t, density, error of each, error in all), the integral of the density is 1
    kinks                 ops whose kinks H does not see, with their place
    products              Hessian-vector products of the whole H; block_products those of the blocks
    threshold, rate       with a preconditioner: full-batch steps are stable below rate · λ_max = threshold
    """

    def __init__(self, loss, parameters, k, blocks, preconditioner, tolerance, steps, probes, seed):
        import numpy as np
        whole, names, of_blocks, self.density, stability, self.kinks, self.float32, self.parameters = _glim._curvature(
            loss, parameters, k, blocks, preconditioner, tolerance, steps, probes, seed)
        self.values, residuals = whole
        by_size = np.argsort(-abs(self.values), kind="stable")[:k]
        self.largest, self.residuals = self.values[::-1][:k], residuals[::-1][:k]
        self.by_size, self.lowest = self.values[by_size], float(self.values[0])
        self.converged = bool((np.r_[residuals[::-1][:k], residuals[by_size], residuals[0]]
                               <= max(tolerance, 1e-5 * self.float32) * abs(self.values).max()).all())
        self.blocks = {name: float(values[-1]) for name, (values, _) in zip(names, of_blocks)}
        self.products, self.block_products = len(self.values), sum(len(values) for values, _ in of_blocks)
        self.threshold, self.rate = stability or (None, None)

    def __str__(self):
        matrix = "H" if self.threshold is None else "P^-1/2 H P^-1/2"
        lines = [f"{matrix} of {self.parameters:,} parameters, {self.products} products",
                 "largest  " + "  ".join(f"{x:.6g}" for x in self.largest), f"residual {max(self.residuals):.1g} at most",
                 "by size  " + "  ".join(f"{x:.6g}" for x in self.by_size), f"lowest   {self.lowest:.6g}"]
        if self.threshold is not None:
            lines.append(f"rate · largest = {self.rate * self.largest[0]:.4g}, stable below {self.threshold:.4g}")
        lines += [f"  {name:40} {x:.6g}" for name, x in self.blocks.items()]
        if self.density:
            lines.append(f"density: error {self.density[3]:.2g} of 1")
        if not self.converged:
            lines.append("Not converged: give more steps, or a larger tolerance.")
        if self.float32:
            lines.append("float32: digits below 1e-4 of the largest are rounding; model.to('float64') has them.")
        if self.kinks:
            lines.append(f"H is not all of the curvature: {len(self.kinks)} ops have kinks, which H takes for straight lines: "
                         + ", ".join(self.kinks[:3]) + (", ..." if len(self.kinks) > 3 else ""))
        return "\n".join(lines)


def curvature(loss, parameters, k=5, *, blocks=False, preconditioner=None, tolerance=1e-8, steps=300, probes=0, seed=0):
    """The largest and lowest eigenvalues of the Hessian H of a loss: see Curvature.

        print(glim.curvature(lambda: glim.cross_entropy(model(ids), targets), model, blocks=True))

    loss() is a Var of one element, of a model of Glim or of glim.from_torch. parameters: a module, or a list of leaves that
    the loss reads. preconditioner: an optimizer that has made updates. Adam's P is √v̂ + ε, and the eigenvalues are those of
    P^-1/2 H P^-1/2; SGD's is 1. blocks: of each parameter alone, too. Lanczos' method ends when the residuals are below
    tolerance · |λ|_max, or after `steps` products; λ_max to two digits takes k=1, tolerance=1e-2. Memory is products ×
    parameters. probes: random starts of 30 products each for the density. An eigenvalue that occurs several times is found once.
    """
    if not callable(loss):
        raise TypeError(f"curvature: loss is a {type(loss).__name__}, expected a function without arguments that gives a Var")
    if preconditioner is not None and not isinstance(preconditioner, _glim.Optimizer):
        raise TypeError(f"curvature: preconditioner is a {type(preconditioner).__name__}, expected glim.Adam, glim.AdamW or glim.SGD")
    for name, value, least in (("k", k, 1), ("steps", steps, 1), ("probes", probes, 0), ("seed", seed, 0)):
        if not is_whole(value) or value < least:
            raise _glim.ValueError(f"curvature: {name} is {value!r}, expected a whole number from {least} on")
    if probes == 1:
        raise _glim.ValueError("curvature: probes is 1; the density's error needs 2 or more")
    if not is_number(tolerance) or not 0 < tolerance < 1:
        raise _glim.ValueError(f"curvature: tolerance is {tolerance!r}, expected a number between 0 and 1")
    return Curvature(loss, parameters, int(k), bool(blocks), preconditioner, float(tolerance), int(steps), int(probes), int(seed))
