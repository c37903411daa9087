"""The backward pass of a function of NumPy, as a program: derive."""
import inspect
import re
import textwrap

from . import _glim
from ._options import is_whole
from .gradcheck import gradcheck
from .program import write_file


class Derived:
    """What glim.derive found.

    program           the source of forward(...) and backward(dy, ...), which need NumPy alone
    forward, backward the functions of that source, which refuse arrays that the program is not for
    second            with order=2 another one: second(up, ..., v_...) gives the change of f along v (the JVP), and for each
                      argument the Hessian of Σ f ⊙ up times v
    lines             forward, and beside each line the lines of backward that it gives rise to, with the lines of f. With
                      order=2 forward and backward are at the left, and second at the right
    latex             lines as a document in LaTeX
    report            the check of backward, with order=2 of second, against differences
    """

    def __init__(self, program, functions, lines, latex, report):
        self.program, self.lines, self.latex, self.report = program, lines, latex, report
        self.forward, self.backward, *second = functions
        if second:
            self.second, = second

    def __str__(self):
        return self.lines

    def _repr_pretty_(self, printer, cycle):
        printer.text(self.lines)

    def save(self, file, overwrite=False):
        """Writes the program, whole or not at all. FileError for a symbolic link, whose target would be replaced."""
        write_file(file, self.program, overwrite)


def derive(f, *arrays, order=1, out=None, overwrite=False):
    """The backward pass of a function of NumPy arrays, written out as lines and as a program in NumPy.

        d = glim.derive(layer_norm, x, gamma, beta)
        print(d)                                # the lines
        print(d.program)                        # forward and backward, without autograd
        dx, dgamma, dbeta = d.backward(dy, x, gamma, beta)

    f is run once with Vars in place of its floating arrays: what ran is what is derived, so that loops are unrolled, and
    shapes and branches are those of these arrays. So are masks and indices: arguments of other dtypes, and what f takes
    from values by x > 0, argmax or max. The program is compared with f, and its gradients with differences of f,
    before anything is returned: a ValueError says where they differ. It is compared at other points too. Where it is not f
    there, its first line says so. out: a folder for the page of the pass. order=2: the program has `second`, too, the JVP and
    the Hessian-vector product, checked as backward is.
    """
    import numpy as np  # importing glim imports no NumPy
    if not is_whole(order) or order not in (1, 2):
        raise _glim.ValueError(f"derive: order is {order!r}, expected 1 or 2")
    names = _names(f, len(arrays))
    operands = [np.asarray(a, np.float64) if np.asarray(a).dtype.kind == "f" else a for a in arrays]
    positions = [k for k, a in enumerate(operands) if isinstance(a, np.ndarray) and a.dtype == np.float64]
    if not positions:
        raise _glim.DTypeError("derive: no argument is a floating array: pass x.astype(np.float64)")
    if not any(operands[k].size for k in positions):
        raise _glim.ValueError("derive: no floating argument has an element, so there is nothing to differentiate")
    leaves = [_glim.Var.leaf(a.copy(), names[k]) if k in positions else a for k, a in enumerate(operands)]
    with _glim.Tape(replay=True) as tape, _glim.explicit():
        y = f(*leaves)
        if not isinstance(y, _glim.Var) or tape.node_of(y) < 0:
            raise _glim.ValueError(f"derive: {_called(f)} gives {_kind(y)}; it gives one array that is computed from its arguments "
                                   "by functions of NumPy")
        lines, latex = tape.derive(), tape.derive(format="latex")
        dy = np.random.default_rng(0).normal(size=y.shape)
        forward, again, backward, helpers, constants = tape.program(y, dy)
    program = _source(f, names, positions, forward, again, backward, helpers, constants)
    space = {}
    exec(compile(program, f"<derived from {_called(f)}>", "exec"), space)
    functions = space["forward"], space["backward"]
    fixed = [k for k in range(len(arrays)) if k not in positions]
    if not _agree(functions[0], f, operands, positions):
        raise _glim.ValueError(f"derive: {_called(f)} gives other values with Vars than with arrays: it looks at the type of its "
                               "arguments, changes them in place, or says x.var(), which divides by n - 1 of a Var: np.var(x)")
    report = gradcheck(lambda *x: f(*_filled(operands, positions, x)),
                       lambda up, *x: functions[1](up, *_filled(operands, positions, x)), *[operands[k] for k in positions])
    if report.verdicts["differences"] != "passed":  # other shapes are not asked for
        raise _glim.ValueError(f"derive: the gradient of {_called(f)} is not that of its differences: a value was written into an array, "
                               f"or taken out by float(), on the way, or f is not smooth here\n{report}")
    if order == 2:
        text, second, lines, latex, report = _second(f, names, operands, positions, dy, functions[1])
        program, functions = _joined(program, text), (*functions, second)
    if out is not None:
        with _glim.Tape(replay=True) as tape, _glim.explicit():
            tape.inspect(f(*leaves).sum(), out, title=f"{_called(f)}, with the loss Σ y", overwrite=overwrite)
    why = "f was derived with another; masks and indices are part of the program"
    if alone := _only_here(functions, f, operands, positions, dy):
        program = program.replace("for arrays of these shapes", f"for these arrays alone: {alone}", 1)
        fixed, why = range(len(arrays)), f"{alone}, in the program"
    guarded = [_guarded(function, operands, fixed, names, why) for function in functions]
    return Derived(program, guarded, lines, latex, report)


def _second(f, names, operands, positions, dy, backward):
    """The source of `second` and what it needs, the function, its lines, and its check against differences of backward."""
    import numpy as np
    random = np.random.default_rng(2)
    xs, free = [operands[k] for k in positions], {*names, "y", "dy"}
    upstream = _free("up", free)
    directions = [_free("v_" + names[k], free) for k in positions]
    vs = [random.normal(size=x.shape) for x in xs]
    with _glim.Tape(replay=True) as tape, _glim.explicit():
        up = _glim.Var.leaf(dy.copy(), upstream)
        leaves = [_glim.Var.leaf(x.copy(), names[k]) for k, x in zip(positions, xs)]
        slope = tape._along(f(*_filled(operands, positions, leaves)), up, leaves, [_glim.Var.leaf(v, name) for v, name in zip(vs, directions)])
        lines, latex = tape.derive(), tape.derive(format="latex")
        _, again, lines_of_second, helpers, constants = tape.program(slope, 1.0)
    results = [f"d{name}" if re.search(rf"^    d{name} = ", lines_of_second, re.M) else f"np.zeros_like({name})"
               for name in (upstream, *(names[k] for k in positions))]
    text = "".join(f"\n{name} = {_array(value)}\n" for name, value in constants.items())
    text += f"{helpers}\n\ndef second({', '.join([upstream, *names, *directions])}):\n    dy = 1.0\n{again}{lines_of_second}    return {', '.join(results)}\n"
    text = re.sub(r"\bconstant_(\d+)\b", r"second_\1", text)
    space = {}
    exec(compile("import numpy as np\nfrom numpy import inf, nan\n" + text, "<the second order>", "exec"), space)

    def slope_of(up, *x):
        gradients = backward(up, *_filled(operands, positions, x))
        return np.sum([np.sum(g * v) for g, v in zip([gradients] if len(positions) == 1 else gradients, vs)])

    report = gradcheck(slope_of, lambda s, up, *x: [s * g for g in space["second"](up, *_filled(operands, positions, x), *vs)], dy, *xs)
    if report.verdicts["differences"] != "passed":
        raise _glim.ValueError(f"derive: the second order of {_called(f)} is not that of its gradient's differences: f has a kink here, "
                               f"or values that are computed without Vars\n{report}")
    return text, space["second"], lines, latex, report


def _joined(program, text):
    """Two sources, without functions of the second that are in the first."""
    chunks = [chunk.strip() for chunk in text.split("\n\n")]
    return program + "".join(f"\n\n{chunk}\n" for chunk in chunks if chunk and chunk not in program)


def _free(name, taken):
    while name in taken or "d" + name in taken:
        name += "_"
    taken |= {name, "d" + name}
    return name


def _guarded(function, operands, fixed, names, why):
    """The function, for the arrays alone that it was derived with, of those at `fixed`."""
    import functools

    import numpy as np
    signature = inspect.signature(function)

    @functools.wraps(function)
    def guarded(*arguments, **keywords):
        values = signature.bind(*arguments, **keywords).arguments
        for k in fixed:
            floating = getattr(operands[k], "dtype", None) == np.float64
            if not np.array_equal(values[names[k]], operands[k], equal_nan=floating):
                raise _glim.ValueError(f"derive: another {names[k]}: {why}. Derive it again with this one")
        return function(*arguments, **keywords)

    return guarded


def _only_here(functions, f, operands, positions, dy):
    """Why the program is f's for these arrays alone, or None: its values and gradients, and the second order where it is one
    of the functions, are f's at another point at least, and at each of four at which f is defined."""
    import numpy as np
    random, compared = np.random.default_rng(1), 0
    for change in (random.permutation, lambda x: -random.permutation(x), lambda x: x * random.uniform(0.5, 1.5, x.shape),
                   lambda x: x * random.uniform(0.999, 1.001, x.shape)):
        x = _filled(operands, positions, [change(operands[k].ravel()).reshape(operands[k].shape) for k in positions])
        vs = [random.normal(size=x[k].shape) for k in positions]
        if all(np.array_equal(x[k], operands[k]) for k in positions):
            continue
        try:
            with np.errstate(all="ignore"):
                expected = _by_tape(f, x, positions, dy, vs if len(functions) == 3 else None)
        except Exception:  # f is not defined there
            continue
        if not all(np.isfinite(e).all() for e in expected):
            continue
        with np.errstate(all="ignore"):
            gradients = functions[1](dy, *x)
            found = [functions[0](*x), *(gradients if len(positions) > 1 else [gradients])]
            found += functions[2](dy, *x, *vs) if len(functions) == 3 else []
        if not all(np.shape(a) == e.shape and np.allclose(a, e, rtol=1e-6, atol=1e-9 * np.abs(e).max(initial=0)) for a, e in zip(found, expected)):
            return "masks or indices are of their values"
        compared += 1
    return None if compared else "f is defined at no other point that was tried"


def _by_tape(f, x, positions, dy, vs):
    """y and its gradients; then, for directions vs, the JVP and the Hessian-vector product of Σ y dy."""
    import numpy as np
    with _glim.Tape() as tape:
        leaves = [_glim.Var.leaf(x[k].copy()) for k in positions]
        y = f(*_filled(x, positions, leaves))
        second = [tape.jvp(y, leaves, vs), *tape.hvp((y * dy).sum(), leaves, vs)] if vs else []
        tape.backward(y, dy)
        gradients = [np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
        return [y.numpy(), *gradients, *(e.numpy() for e in second)]


def _agree(program, f, operands, positions):
    """True if the values are equal but for rounding: 1e-10 of each, and what f changes by when its arguments change in their
    last bits. An absolute tolerance would take 0 for any small number."""
    import numpy as np
    random, y, expected = np.random.default_rng(0), np.asarray(program(*operands)), np.asarray(f(*operands))
    if y.shape != expected.shape:
        return False
    last_bits = [[operands[k] * (1 + random.choice([-1, 1], operands[k].shape) * 2.0 ** -51) for k in positions] for _ in range(4)]
    with np.errstate(invalid="ignore"):
        rounding = np.max([np.abs(f(*_filled(operands, positions, x)) - expected) for x in last_bits], axis=0)
        near = np.abs(y - expected) <= 1e-10 * np.abs(expected) + 1000 * rounding
    return bool(np.all(near | (y == expected) | np.isnan(y) & np.isnan(expected)))


def _filled(operands, positions, x):
    full = list(operands)
    for k, value in zip(positions, x):
        full[k] = value
    return full


def _called(f):
    name = getattr(f, "__name__", "")
    return name if name.isidentifier() else "f"  # a lambda, or a text that would be part of the program


def _kind(y):
    return f"{type(y).__name__} of shape {y.shape}" if hasattr(y, "shape") else type(y).__name__


def _names(f, count):
    """The names of f's arguments, as those of a program may be."""
    try:
        names = [p.name for p in inspect.signature(f).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    names = (names + [f"x{k}" for k in range(len(names), count)])[:count]
    taken = {"y", "dy", "np", "inf", "nan", *("d" + name for name in names)}  # by the program
    unique = []
    for name in names:
        while name in taken or "d" + name in unique or re.fullmatch(r"constant_\d+", name):
            name += "_"
        unique.append(name)
        taken |= {name, "d" + name}
    return unique


def _array(value):
    """An array as text that NumPy reads, whatever the print options are."""
    numbers = "\n    ".join(textwrap.wrap(", ".join(map(repr, value.ravel().tolist())), 96, break_on_hyphens=False))
    dtype = "" if value.size else f", {value.dtype.name!r}"  # [] is of float64
    return f"np.array([{numbers}]{dtype}).reshape({value.shape})"


def _source(f, names, positions, forward, again, backward, helpers, constants):
    taken = ", ".join(names)
    head = f'"""The function {_called(f)} and its gradients, as they were computed for arrays of these shapes."""\nimport numpy as np\n'
    text = ""
    for name, value in constants.items():
        text += f"\n{name} = {_array(value)}\n"
    text += f"{helpers}\n\ndef forward({taken}):\n{forward}    return y\n\n\ndef backward(dy, {taken}):\n{again}{backward}"
    gradients = [f"d{names[k]}" if re.search(rf"^    d{names[k]} = ", backward, re.M) else f"np.zeros_like({names[k]})" for k in positions]
    if re.search(r"(?<![\w.])(inf|nan)\b", text):
        head += "from numpy import inf, nan\n"
    return head + text + "    return " + (gradients[0] if len(gradients) == 1 else ", ".join(gradients)) + "\n"
