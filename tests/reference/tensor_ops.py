"""Tensor functions with the semantics of NumPy and torch; the reference call is in each line."""

import numpy as np
import torch

from common import Draw, Reference, representable

INF, NAN = float("inf"), float("nan")


def put(ref, name, config, y, **inputs):
    """NAME.X per input, NAME.y or, if y is a dictionary, NAME.KEY; and the configuration."""
    for k, t in inputs.items():
        ref.put(f"{name}.{k}", t)
    for k, t in (y if isinstance(y, dict) else {"y": y}).items():
        ref.put(f"{name}.{k}", t)
    ref.case_config(name, config)


def reductions(ref, draw):
    x = draw.normal(2, 3, 4)
    for axes in (None, [0], [1], [2], [0, 2], [-1]):
        tag = "all" if axes is None else "".join(f"_{a % 3}" for a in axes).strip("_")
        tag += "_negative" if axes == [-1] else ""
        dim = axes
        for keepdim in (False, True):
            end = tag + ("_keepdim" if keepdim else "")
            config = dict(axes=axes, keepdim=keepdim)
            for name, y in {
                "sum": torch.sum(x, dim, keepdim=keepdim),
                "mean": torch.mean(x, dim, keepdim=keepdim),
                "max": torch.amax(x, dim if axes else (0, 1, 2), keepdim=keepdim),
                "min": torch.amin(x, dim if axes else (0, 1, 2), keepdim=keepdim),
                "var": torch.var(x, dim, correction=1, keepdim=keepdim),
                "var_biased": torch.var(x, dim, correction=0, keepdim=keepdim),
                "logsumexp": torch.logsumexp(x, dim if axes else (0, 1, 2), keepdim=keepdim),
            }.items():
                more = {"correction": 0 if name == "var_biased" else 1} if "var" in name else {}
                put(ref, f"{name}_{end}", dict(op=name.split("_")[0], input="reduce.x", **config, **more), y)
    ref.put("reduce.x", x)

    far = draw.normal(8, mean=1e6)
    put(ref, "var_offset", dict(op="var", correction=1, note="a large mean: no cancellation"),
        torch.var(far, 0), x=far)
    wide = representable([[1000, 1000, 999], [-1000, -1001, -1000], [-INF, 0, -INF], [-INF] * 3, [INF, 0, 1]])
    put(ref, "logsumexp_wide", dict(op="logsumexp", axes=[1]), torch.logsumexp(wide, 1), x=wide)
    holes = representable([[1, NAN, 3], [NAN, NAN, 0], [2, INF, -INF]])
    put(ref, "max_nan", dict(op="max", axes=[1], note="NaN wins"), torch.amax(holes, 1), x=holes)
    put(ref, "argmax_nan", dict(op="argmax", axis=1, note="the first NaN"),
        np.argmax(holes.numpy(), 1), x=holes)

    ties = torch.tensor([[3.0, 7, 7, 1], [5, 5, 5, 5], [-1, -2, -1, -3]], dtype=torch.float64)
    for axis in (None, 0, 1):
        tag = "all" if axis is None else f"axis{axis}"
        put(ref, f"argmax_{tag}", dict(op="argmax", axis=axis, input="ties.x", note="the first of equals"),
            np.argmax(ties.numpy(), axis))  # torch does not promise which
        put(ref, f"argmin_{tag}", dict(op="argmin", axis=axis, input="ties.x"),
            np.argmin(ties.numpy(), axis))
    ref.put("ties.x", ties)
    integers = draw.integers(-9, 10, 3, 4)
    for axis in (0, 1):
        put(ref, f"cumsum_axis{axis}", dict(op="cumsum", axis=axis), torch.cumsum(x[0], axis), x=x[0])
        put(ref, f"cumsum_int64_axis{axis}", dict(op="cumsum", axis=axis),
            torch.cumsum(integers, axis), x=integers)
        put(ref, f"sum_int64_axis{axis}", dict(op="sum", axes=[axis]), torch.sum(integers, axis), x=integers)


def ordering(ref, draw):
    x = draw.normal(3, 6)
    for axis, k, largest in ((1, 3, True), (1, 2, False), (0, 2, True), (1, 6, True)):
        y, i = torch.topk(x, k, axis, largest=largest)
        put(ref, f"topk_axis{axis}_k{k}" + ("" if largest else "_smallest"),
            dict(op="topk", axis=axis, k=k, largest=largest, input="topk.x"), {"y": y, "indices": i})
    ref.put("topk.x", x)
    ties = torch.tensor([[2.0, 1, 2, 0, 1, 2], [-0.0, 0, 0, -1, INF, -INF]], dtype=torch.float64)
    for axis in (0, 1):
        for descending in (False, True):
            y, i = torch.sort(ties, dim=axis, descending=descending, stable=True)
            put(ref, f"sort_axis{axis}" + ("_descending" if descending else ""),
                dict(op="sort", axis=axis, descending=descending, input="sort.x",
                     note="stable: equal values keep their order, also when descending"),
                {"y": y, "indices": i})
    ref.put("sort.x", ties)
    integers = torch.tensor([5, -1, 5, 2**60, -(2**60), 0])
    y, i = torch.sort(integers, stable=True)
    put(ref, "sort_int64", dict(op="sort", axis=0, descending=False), {"y": y, "indices": i}, x=integers)
    holes = representable([3, NAN, -1, NAN, INF])
    y, i = torch.sort(holes, stable=True)
    put(ref, "sort_nan", dict(op="sort", axis=0, descending=False, note="NaN comes last"),
        {"y": y, "indices": i}, x=holes)


def indexing(ref, draw):
    x = draw.normal(3, 4)
    for axis, shape in ((0, (5, 4)), (1, (3, 2)), (0, (2, 3))):
        index = draw.integers(0, x.shape[axis], *shape)
        put(ref, f"gather_axis{axis}_{shape[0]}x{shape[1]}", dict(op="gather", axis=axis),
            torch.gather(x, axis, index), x=x, index=index)
    for axis, shape in ((0, (5, 4)), (1, (3, 6)), (1, (2, 5))):
        index, source = draw.integers(0, x.shape[axis], *shape), draw.normal(*shape)
        put(ref, f"scatter_add_axis{axis}_{shape[0]}x{shape[1]}",
            dict(op="scatter_add", axis=axis, note="indices repeat: their sources add up"),
            torch.scatter_add(x, axis, index, source), x=x, index=index, source=source)
    cube = draw.normal(2, 3, 4)
    for axis, ids in ((0, [1, 1, 0]), (1, [2, 0]), (2, [3, 3, 3, 0, 1]), (1, [])):
        index = torch.tensor(ids, dtype=torch.int64)
        put(ref, f"index_select_axis{axis}_{len(ids)}", dict(op="index_select", axis=axis),
            torch.index_select(cube, axis, index), x=cube, index=index)
    for name, shape in (("square", (4, 4)), ("wide", (3, 5)), ("tall", (5, 3)), ("batch", (2, 3, 4))):
        m = draw.normal(*shape)
        ref.put(f"tri_{name}.x", m)
        for diagonal in (-4, -1, 0, 1, 2, 5):
            for op in ("triu", "tril"):
                put(ref, f"{op}_{name}_{diagonal}", dict(op=op, diagonal=diagonal, input=f"tri_{name}.x"),
                    getattr(torch, op)(m, diagonal))
    ids = torch.tensor([[0, 3, 1], [4, 4, 0]])
    put(ref, "one_hot", dict(op="one_hot", classes=5), torch.nn.functional.one_hot(ids, 5), x=ids)

    base = torch.arange(5 * 6 * 7, dtype=torch.int64).reshape(5, 6, 7)
    ref.put("slice.x", base)
    for i, spec in enumerate((
        [[1, 4, 1]], [[None, None, 2]], [[0, 5, 3], [1, None, 2]], [[None, None, 1], [-3, -1, 1]],
        [[None, None, 2], [None, None, 3], [1, 6, 4]], [[2, 2, 1]], [[4, 1, 1]], [[1, 100, 2]],
        [[-100, 2, 1]], [[None, None, -1]], [[None, None, 1], [4, 0, -2]], [[3, None, -1], [None, 2, -1]],
    )):
        put(ref, f"slice_{i:02d}",
            dict(op="slice", input="slice.x", slices=spec,
                 note="[start, stop, step] per leading axis, as in Python; null = left out"),
            np.ascontiguousarray(base.numpy()[tuple(slice(*s) for s in spec)]))


def products(ref, draw):
    for a, b in (
        ((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (4, 5)), ((1, 3, 4), (6, 4, 1)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)),
        ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((3, 0), (0, 2)), ((0, 4), (4, 2)), ((2, 1, 1), (2, 1, 3)),
    ):
        x, y = draw.normal(*a), draw.normal(*b)
        tag = "_".join("x".join(map(str, s)) for s in (a, b))
        put(ref, f"matmul_{tag}", dict(op="matmul"), torch.matmul(x, y), a=x, b=y)
    x, y = draw.normal(2, 4, 3), draw.normal(2, 5, 4)
    put(ref, "matmul_transposed", dict(op="matmul", note="y = transpose(a) transpose(b), last two axes"),
        x.mT @ y.mT, a=x, b=y)
    for name, f in dict(add=torch.add, sub=torch.sub, mul=torch.mul, div=torch.div,
                        maximum=torch.maximum, minimum=torch.minimum).items():
        a, b = draw.normal(2, 1, 4), draw.normal(3, 1)
        put(ref, f"broadcast_{name}", dict(op=name), f(a, b), a=a, b=b)
    keep, a, b = draw.keep(2, 1, 4), draw.normal(3, 1), draw.normal(4)
    put(ref, "where", dict(op="where"), torch.where(keep, a, b), condition=keep, a=a, b=b)
    parts = {f"x{i}": draw.normal(2, n, 3) for i, n in enumerate((1, 4, 0, 2))}
    put(ref, "concatenate", dict(op="concatenate", axis=1), torch.cat(list(parts.values()), 1), **parts)
    same = {f"x{i}": draw.normal(2, 3) for i in range(3)}
    for axis in (0, 1, 2):
        inputs = same if axis == 0 else {}
        put(ref, f"stack_axis{axis}", dict(op="stack", axis=axis, input="stack_axis0.x0, x1, x2"),
            torch.stack(list(same.values()), axis), **inputs)


def elementwise(ref):
    x = representable([-INF, -1000, -88, -2.5, -1, -1e-3, -1e-30, -0.0, 0, 1e-30, 1e-3, 0.5, 1, 2.5, 88,
                       1000, INF, NAN])
    ref.put("elementwise.x", x)
    for name in ("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "abs", "neg", "sign", "sin",
                 "cos", "tanh", "sigmoid", "erf", "square", "floor", "ceil", "isnan", "isinf"):
        y = np.sign(x.numpy()) if name == "sign" else getattr(torch, name)(x)  # torch: sign(NaN) = 0
        put(ref, f"elementwise_{name}", dict(op=name, input="elementwise.x"), y)
    grid = representable([-2, -1, -0.5, 0, 0.5, 1, 2, 3])
    base, power = (t.reshape(-1).clone() for t in torch.meshgrid(grid, grid, indexing="ij"))
    put(ref, "pow", dict(op="pow", note="a to the power b; NaN for a negative base and a broken power"),
        torch.pow(base, power), a=base, b=power)


def make():
    draw = Draw(73)
    ref = Reference(
        "tensor_ops",
        "NAME.X inputs and NAME.y (or NAME.y and NAME.indices); where config has `input`, the input is "
        "the tensor of that key, shared by several cases.",
    )
    for part in (reductions, ordering, indexing, products):
        part(ref, draw)
    elementwise(ref)
    return [ref]
