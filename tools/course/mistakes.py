"""Names a wrong solution by the right one with one mistake in it.

    python3 mistakes.py <request.json

The request has the solution's text, the function, and some calls of it, each with the student's results:
    {"solution": "...", "function": "softmax_backward", "calls": [{"arguments": [...], "results": [...]}, ...]}
The reply has for each result null if it is right or unknown, else its name and the line that it is about:
    [{"name": "`total` is added instead of subtracted", "line": "dx = y * (dy - total)"}]
A mistake is named if it gives the student's results in all calls.
"""

import ast
import copy
import itertools
import json
import sys
import warnings

import numpy as np

KNOWN_NUMBERS = (0.0, 0.05, 0.1, 0.2, 1.0, 0.9, 0.98, 0.99, 0.999, 1e-3, 1e-5, 1e-6, 1e-8)
PAIRS = 1500  # of mistakes that are tried, if none explains a result alone
# The solutions of two exercises as students write them: tools/derive writes them through log softmax.
FORMS = """
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def cross_entropy_backward(dy, logits, target):
    n, classes = logits.shape
    p = softmax(logits)
    q = np.eye(classes)[target]
    dlogits = dy * (p - q) / n
    return dlogits

def label_smoothing_backward(dy, logits, target):
    n, classes = logits.shape
    p = softmax(logits)
    q = 0.9 * np.eye(classes)[target] + 0.1 / classes
    dlogits = dy * (p - q) / n
    return dlogits
"""
HALVES = {ast.Add: ("added", "subtracted"), ast.Sub: ("subtracted", "added")}
TURNS = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE, ast.NotEq: ast.Eq, ast.Eq: ast.NotEq}


def says(node):
    return f"`{ast.unparse(node)}`"


def expression(text, **parts):
    """The expression of a text in which names stand for nodes."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, name):
            return copy.deepcopy(parts[name.id]) if name.id in parts else name

    return Fill().visit(ast.parse(text, mode="eval").body)


def of_operators(n):
    """Mistakes at a sum, a product, a sign or a power: (what it is, the node in its place)."""
    if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub):
        yield f"the sign of {says(n.operand)} is wrong", n.operand
    if isinstance(n, ast.Compare):
        yield f"the mask {says(n)} is the wrong way round", expression("~(n)", n=n)
    if not isinstance(n, ast.BinOp):
        return
    a, b, kind = n.left, n.right, type(n.op)
    if kind in HALVES:
        is_now, should = HALVES[kind][::-1]
        yield f"{says(b)} is {is_now} instead of {should}", expression("a - b" if kind is ast.Add else "a + b", a=a, b=b)
        yield f"the term {says(b)} is missing", a
        yield f"the term {says(a)} is missing", expression("b" if kind is ast.Add else "-b", b=b)
        yield f"the sign of {says(n)} is wrong", expression("-(n)", n=n)
        for twice in (b, a):
            yield f"the term {says(twice)} is there twice", expression("n - t" if kind is ast.Sub and twice is b else "n + t", n=n, t=twice)
    elif kind in (ast.Mult, ast.Div):
        times = kind is ast.Mult
        yield (f"the factor {says(b)} is missing" if times else f"the division by {says(b)} is missing"), a
        yield f"the factor {says(a)} is missing", expression("b" if times else "1 / b", b=b)
        yield (f"{says(b)} is " + ("a divisor instead of a factor" if times else "a factor instead of a divisor"),
               expression("a / b" if times else "a * b", a=a, b=b))
        for twice in (b, a):
            yield f"the factor {says(twice)} is there twice", expression("n / t" if not times and twice is b else "n * t", n=n, t=twice)
    elif kind is ast.Pow:
        yield f"the power {says(b)} of {says(a)} is missing", a
        yield f"the power {says(b)} has the wrong sign", expression("a ** -(b)", a=a, b=b)
    elif kind is ast.MatMult:
        for side, other in (("left", "right"), ("right", "left")):
            x = getattr(n, side)
            for text, name in (("np.swapaxes(x, -1, -2)", "is transposed, and should not be"), ("np.ones_like(x)", "is used as ones"),
                               ("x[:1]", "is that of the first example alone"),
                               ("np.swapaxes(x, -1, -2).reshape(np.shape(x))", "has its elements in another order")):
                yield f"{says(x)} {name}", ast.BinOp(**{side: expression(text, x=x), other: getattr(n, other)}, op=n.op)


def of_calls(n):
    """Mistakes at a reduction, a transpose, a mask or another function."""
    if isinstance(n, ast.Attribute) and n.attr == "T":
        yield f"{says(n.value)} is not transposed", n.value
        yield f"{says(n.value)} is reshaped where it should be transposed", expression("x.reshape(n.shape)", x=n.value, n=n)
    if not isinstance(n, ast.Call):
        return
    method = isinstance(n.func, ast.Attribute) and not (isinstance(n.func.value, ast.Name) and n.func.value.id == "np")
    name = n.func.attr if isinstance(n.func, ast.Attribute) else n.func.id
    if not n.args and not method:
        return
    x = n.func.value if method else n.args[0]
    if name in ("sum", "mean", "max"):
        axis = next((k.value for k in n.keywords if k.arg == "axis"), n.args[0 if method else 1] if len(n.args) > (0 if method else 1) else None)
        kept = any(k.arg == "keepdims" for k in n.keywords)
        for other in {"sum", "mean", "max"} - {name}:
            yield f"{says(x)} has a {other} instead of a {name}", expression(f"np.{other}(x, axis={ast.unparse(axis) if axis else None}, keepdims={kept})", x=x)
        yield f"the {name} of {says(x)} is missing", x
        for along in ("-1", "-2", "0", "(-2, -1)", "None"):
            if axis is None or ast.unparse(axis) != along:
                text = "all" if along == "None" else f"axis {along}"
                yield f"the {name} of {says(x)} is along {text} instead of axis {ast.unparse(axis) if axis else None}", expression(f"np.{name}(x, axis={along}, keepdims={kept})", x=x)
        yield f"the {name} of {says(x)} has the first example alone", _with_first(n, expression("x[:1]", x=x), method)
    elif name in ("swapaxes", "transpose"):
        yield f"{says(x)} is not transposed", x
        yield f"{says(x)} is reshaped where it should be transposed", expression("x.reshape(n.shape)", x=x, n=n)
    elif name == "where" and len(n.args) == 3:
        mask, one, other = n.args
        yield f"the mask {says(mask)} is ignored", one
        yield f"the mask {says(mask)} is ignored", other
        yield f"the mask {says(mask)} is the wrong way round", expression("np.where(m, b, a)", m=mask, a=one, b=other)
    elif name == "min" or name == "maximum":
        for one, other in (n.args[:2], n.args[1::-1]):
            yield f"{says(other)} is forgotten in the {name}", one
        yield f"{name} is the wrong way round", expression("max(a, b)" if name == "min" else "np.minimum(a, b)", a=n.args[0], b=n.args[1])
    elif not method or name == "reshape":
        yield f"{name} of {says(x)} is forgotten", x
        for other in ("np.exp", "np.sqrt", "np.abs", "np.log", "softmax"):
            yield f"{other} is in the place of {name}", expression(f"{other}(x)", x=x)
        yield f"{name} of {says(x)} is there twice", _with_first(n, n, method)


def _with_first(call, x, method):
    call = copy.deepcopy(call)
    if method:
        call.func.value = x
    else:
        call.args[0] = x
    return call


def of_values(n, known, numbers):
    """Another value in the place of the right one."""
    if isinstance(n, ast.Name) and known:
        for text, name in (("np.ones_like(x)", "is ignored (ones in its place)"), ("x[:1]", "is that of the first example alone"),
                           ("np.broadcast_to(x[:, -1:], np.shape(x))", "is that of the last row alone"), ("x[::-1]", "is in reverse order"),
                           ("np.roll(x, 1, -1)", "is off by one"), ("np.roll(x, -1, -1)", "is off by one"), ("~x", "is the wrong way round"),
                           ("1 - x", "is taken from 1")):
            yield f"`{n.id}` {name}", expression(text, x=n)
        for other in known:
            if other != n.id:
                yield f"`{other}` is in the place of `{n.id}`", ast.Name(other, ast.Load())
    if isinstance(n, ast.Constant) and type(n.value) in (int, float):
        for c in [*numbers, 2 * n.value, n.value + 1, n.value - 1]:
            yield f"`{c}` is in the place of `{n.value}`", ast.Constant(c)


def of_factors(whole, target, known):
    """A factor or a term too many."""
    for text, name in (("w * k", "the factor `{}` is too many"), ("w / k", "the division by `{}` is too many"), ("w * (1 - k)", "the factor `1 - {}` is too many"),
                       ("w * k * (1 - k)", "the factor `{0} (1 - {0})` is too many"), ("w + k", "the term `{}` is too many"), ("w - k", "the term `-{}` is too many")):
        for k in known:
            yield f"{name.format(k)} in `{target}`", expression(text, w=whole, k=ast.Name(k, ast.Load()))


def mistakes(tree, function, operators_alone=False, shapes=None):
    """(name, line) of each solution with one mistake, while the tree has it. `shapes`: of its values by name."""
    [f] = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == function]
    known, late, before = [a.arg for a in f.args.args], [], []
    numbers = sorted({n.value for n in ast.walk(f) if isinstance(n, ast.Constant) and isinstance(n.value, float)})
    for statement in f.body:
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)):
            before.insert(0, (statement, list(known)))
        if isinstance(statement, ast.Assign):
            known += [n.id for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name) and n.id not in known]
    for statement, known in before:  # from the end: the lines of the gradients are the student's
        line, whole = ast.unparse(statement), statement.value
        for *place, node in list(places(statement)):
            yield from at_place(line, place, [*of_operators(node), *of_calls(node)])
            late.append((line, place, list(of_values(node, alike(node, known, shapes), numbers))))
        if not isinstance(statement, ast.Assign):
            continue
        place, target = (statement, "value", None), ast.unparse(statement.targets[0])
        late.append((line, place, [(f"the sign of `{target}` is wrong", expression("-(w)", w=whole))]))
        if isinstance(statement.targets[0], ast.Name):
            late.append((line, place, [(f"the path through `{target}` is forgotten", expression("0 * w", w=whole))]))
            late.append((line, place, [(f"`{target}` is `{k}` passed on", ast.Name(k, ast.Load())) for k in alike(statement.targets[0], known, shapes)]))
        late.append((line, place, list(of_factors(whole, target, known))))
    for line, place, others in late if not operators_alone else ():
        yield from at_place(line, place, others)
    if operators_alone:
        return
    nodes = [n for n in ast.walk(f) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
    for value, c in itertools.product(numbers, (*numbers, *KNOWN_NUMBERS)):
        rest = round(1 - value, 12)
        turned = {value: c, rest: 1 - c} if rest in numbers else {value: c}  # 1 - ε and ε together
        was = [n.value for n in nodes]
        for n in nodes:
            n.value = turned.get(n.value, n.value)
        yield " and ".join(f"`{new:.6g}` is in the place of `{old:.6g}`" for old, new in turned.items()), ""
        for n, old in zip(nodes, was):
            n.value = old


def alike(node, known, shapes):
    """Other names of the same shape."""
    shape = shapes and isinstance(node, ast.Name) and shapes.get(node.id)
    return [k for k in known if shapes is None or shapes.get(k) == shape]


def shapes_of(text, function, call, space):
    """Of the values that the function computes, by name."""
    tree = ast.parse(text)
    for n in ast.walk(tree):
        if isinstance(n, ast.FunctionDef) and n.name == function:
            n.body[-1] = ast.Return(expression("locals()"))
    space = dict(space or {}, np=np)
    exec(compile(ast.fix_missing_locations(tree), "solution", "exec"), space)
    return {name: np.shape(x) for name, x in space[function](*[np.array(x) if isinstance(x, list) else x for x in call]).items()}


def at_place(line, place, others):
    """Each of other nodes at a place."""
    old = node_at(*place)
    for name, other in others:
        put(*place, ast.fix_missing_locations(ast.copy_location(other, old)))
        yield name, line
    put(*place, old)


def places(statement):
    for parent in ast.walk(statement):
        for field, value in ast.iter_fields(parent):
            if field in ("targets", "keywords", "ctx", "slice"):
                continue
            if isinstance(value, ast.expr):
                yield parent, field, None, value
            elif isinstance(value, list):
                yield from ((parent, field, i, v) for i, v in enumerate(value) if isinstance(v, ast.expr))


def node_at(parent, field, index):
    return getattr(parent, field) if index is None else getattr(parent, field)[index]


def put(parent, field, index, node):
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def pairs(tree, function):
    def simple():
        return (m for m in mistakes(tree, function, True) if m[0].endswith(("is missing", "is wrong")))

    return ((name, second, line) for name, line in simple() for second, _ in simple())


def results_of(tree, function, calls, space=None):
    """Of each call, or None if it fails."""
    space = dict(space or {}, np=np)
    try:
        exec(compile(tree, "solution", "exec"), space)
        every = [space[function](*[np.array(x) if isinstance(x, (list, np.ndarray)) else x for x in call]) for call in calls]
        return [[np.asarray(r) for r in (y if isinstance(y, tuple) else (y,))] for y in every]
    except Exception:
        return None


def equal(a, b):
    """Of shape and, but for rounding, of values, which are numbers."""
    return a.shape == b.shape and bool(np.isfinite(a).all() and np.isfinite(b).all()) and np.allclose(a, b, rtol=1e-6, atol=1e-9 * np.abs(b).max(initial=1e-30))


def names_of(text, function, calls, results, space=None):
    """For each result of the student: None, or (name, line). A mistake that explains all wrong results is preferred."""
    found = names_in(text, function, calls, results, space)
    return names_in(FORMS, function, calls, results) if not any(found) and f"def {function}(" in FORMS else found


def names_in(text, function, calls, results, space=None):
    tree = ast.parse(text)
    right = results_of(tree, function, calls, space)
    wrong = [k for k in range(len(right[0])) if not all(equal(s[k], r[k]) for r, s in zip(right, results))]
    found = {}

    def explains(name, line):
        """True if all is explained."""
        now = results_of(tree, function, calls, space)
        if now is None or any(len(n) != len(right[0]) for n in now):
            return False
        matches = [k for k in wrong if all(equal(s[k], n[k]) for n, s in zip(now, results))]
        found.update({k: (name, line) for k in matches if k not in found or len(matches) == len(wrong)})
        return len(matches) == len(wrong)

    shapes = shapes_of(text, function, calls[0], space)
    if wrong and not any(explains(*mistake) for mistake in mistakes(tree, function, False, shapes)) and not found:
        tree = ast.parse(text)
        for name, second, line in itertools.islice(pairs(tree, function), PAIRS):
            if explains(f"{name}; {second}", line):
                break
    return [found.get(k) for k in range(len(right[0]))]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    request = json.load(sys.stdin)
    calls = [c["arguments"] for c in request["calls"]]
    student = [[np.array(r) for r in c["results"]] for c in request["calls"]]
    names = names_of(request["solution"], request["function"], calls, student)
    print(json.dumps([name and {"name": name[0], "line": name[1]} for name in names]))
