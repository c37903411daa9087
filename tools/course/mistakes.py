"""What a wrong solution is: the right one with one mistake in it.

    python3 mistakes.py <request.json

The request has the solution's text, the function, and some calls of it, each with the student's results:
    {"solution": "...", "function": "softmax_backward", "calls": [{"arguments": [...], "results": [...]}, ...]}
The reply has for each result null if it is right or unknown, else its name and the line that it is about:
    [{"name": "`total` is added instead of subtracted", "line": "dx = y * (dy - total)"}]
Results are equal to one mistake's at all calls, or there is no name.
"""

import ast
import copy
import json
import sys
import warnings

import numpy as np

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
        yield f"the sign of {says(n)} is wrong", expression("-(n)", n=n)
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
        yield f"the {name} of {says(x)} has the first example alone", expression("r", r=_with_first(n, x[:1] if False else expression("x[:1]", x=x), method))
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
        yield f"{name} of {says(x)} is there twice", _with_first(n, n, method)


def _with_first(call, x, method):
    call = copy.deepcopy(call)
    if method:
        call.func.value = x
    else:
        call.args[0] = x
    return call


def of_names(n, known):
    """Another value in the place of the right one."""
    if isinstance(n, ast.Name) and n.id in known:
        for other in known:
            if other != n.id:
                yield f"`{other}` is in the place of `{n.id}`", ast.Name(other, ast.Load())
        yield f"`{n.id}` is used as ones", expression("np.ones_like(x)", x=n)
    if isinstance(n, ast.Constant) and isinstance(n.value, (int, float)) and not isinstance(n.value, bool):
        for c in (2 * n.value, n.value + 1):
            yield f"`{c}` is in the place of `{n.value}`", ast.Constant(c)


def mistakes(text, function):
    """(name, line, the tree of the program) of each solution with one mistake."""
    tree = ast.parse(text)
    [body] = [f.body for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == function]
    [arguments] = [[a.arg for a in f.args.args] for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == function]
    constants = sorted({n.value for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Constant) and isinstance(n.value, float)})
    late = []
    known = list(arguments)
    for statement in body:
        if not isinstance(statement, ast.Assign):
            continue
        line = ast.unparse(statement)
        target = ast.unparse(statement.targets[0])
        whole = statement.value
        for parent, field, at, node in places(statement):
            for kind in (of_operators(node), of_calls(node)):
                for name, other in kind:
                    yield name, line, replaced(tree, parent, field, at, other)
            late += [(name, line, parent, field, at, other) for name, other in of_names(node, known)]
            if isinstance(node, ast.Constant) and isinstance(node.value, float):
                late += [(f"`{c}` is in the place of `{node.value}`", line, parent, field, at, ast.Constant(c)) for c in constants if c != node.value]
        if isinstance(statement.targets[0], ast.Name):
            late.append((f"the path through `{target}` is forgotten", line, statement, "value", None, expression("0 * (w)", w=whole)))
            late += [(f"`{target}` is `{k}` passed on", line, statement, "value", None, ast.Name(k, ast.Load())) for k in known]
        known += [n.id for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name) and n.id not in known]
    for name, line, *place in late:
        yield name, line, replaced(tree, *place)


def places(statement):
    for parent in ast.walk(statement):
        for field, value in ast.iter_fields(parent):
            if field in ("targets", "keywords", "ctx", "slice"):
                continue
            if isinstance(value, ast.expr):
                yield parent, field, None, value
            elif isinstance(value, list):
                yield from ((parent, field, i, v) for i, v in enumerate(value) if isinstance(v, ast.expr))


def replaced(tree, parent, field, at, other):
    """A copy of the tree with another node at a place."""
    old = getattr(parent, field) if at is None else getattr(parent, field)[at]
    put(parent, field, at, other)
    changed = copy.deepcopy(tree)
    put(parent, field, at, old)
    return ast.fix_missing_locations(changed)


def put(parent, field, at, node):
    if at is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[at] = node


def results_of(tree, function, calls, space=None):
    """Of each call, or None if it fails."""
    space = dict(space or {}, np=np)
    try:
        exec(compile(tree, "solution", "exec"), space)
        all_results = []
        for call in calls:
            y = space[function](*[np.array(x) for x in call])
            all_results.append([np.asarray(r) for r in (y if isinstance(y, tuple) else (y,))])
        return all_results
    except Exception:
        return None


def equal(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-9 * (1 + np.abs(b).max(initial=0)), equal_nan=False)


def names_of(text, function, calls, results, space=None):
    """For each result of the student: None, or (name, line). A mistake that explains all wrong results is preferred."""
    right = results_of(ast.parse(text), function, calls, space)
    wrong = [k for k in range(len(right[0])) if not all(equal(r[k], s[k]) for r, s in zip(right, results))]
    found, best = {}, 0
    for name, line, tree in mistakes(text, function):
        now = results_of(tree, function, calls, space)
        if now is None or any(len(n) != len(r) for n, r in zip(now, right)):
            continue
        explains = [k for k in wrong if all(equal(n[k], s[k]) for n, s in zip(now, results))]
        if len(explains) > best:
            best = len(explains)
            found.update({k: (name, line) for k in explains})
        for k in explains:
            found.setdefault(k, (name, line))
        if best == len(wrong):
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
