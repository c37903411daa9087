"""Right solutions in other words: other orders of operations, loops, einsum, work in place on own copies, equal formulas."""

from . import solutions
from .judge import changed

SHAPES = {
    "sums": [None, [(1, 2, 3), (2, 1), (3,)], [(3, 3, 3), (3, 1), (3,)], [(2, 1, 2), (1, 1), (2,)]],
    "linear": [None, [(1, 2, 3), (2, 3), (2,)], [(3, 1, 3), (3, 3), (3,)], [(2, 2, 1), (2, 1), (2,)]],
    "softmax": [None, [(1, 4)], [(4, 4)], [(5, 2)]],
    "cross_entropy": [None, [(1, 4), (4, 1)], [(4, 4), (4, 4)], [(5, 2), (2, 5)]],
    "layer_norm": [None, [(1, 2, 4), (4,), (4,)], [(2, 2, 3), (3,), (3,)], [(3, 1, 6), (6,), (6,)]],
    "attention": [None, [(1, 2, 3), (1, 3, 3), (1, 3, 2)], [(2, 2, 2), (2, 2, 2), (2, 2, 2)], [(1, 1, 3), (1, 4, 3), (1, 4, 3)]],
    "masked_attention": [None, [(1, 2, 3), (1, 3, 3), (1, 3, 2), (1, 2, 3)], [(2, 2, 2), (2, 2, 2), (2, 2, 2), (2, 2, 2)],
                         [(1, 3, 3), (1, 4, 3), (1, 4, 2), (1, 3, 4)]],
    "multihead_attention": [[(1, 2, 4), (12, 4), (4, 4)], [(2, 2, 2), (6, 2), (2, 2)], [(1, 3, 4), (12, 4), (4, 4)]],
    "post_norm": [[(1, 2, 4), (3, 4), (4, 3), (4,), (4,)], [(2, 2, 3), (3, 3), (3, 3), (3,), (3,)]],
    "pre_norm": [[(1, 2, 4), (3, 4), (4, 3), (4,), (4,)], [(2, 2, 3), (3, 3), (3, 3), (3,), (3,)]],
    "label_smoothing": [None, [(1, 4), (4, 1)], [(4, 4), (4, 4)], [(5, 2), (2, 5)]],
}
SEEDS = range(5)

T, SW = "(dy * y).sum(axis=-1, keepdims=True)", "(dweights * weights).sum(axis=-1, keepdims=True)"
CONTEXT = [
    ("einsum for dweights", "dy @ value.swapaxes(-1, -2)", 'np.einsum("bte,bse->bts", dy, value)'),
    ("einsum for dvalue", "weights.swapaxes(-1, -2) @ dy", 'np.einsum("bts,bte->bse", weights, dy)'),
    ("einsum for dkey", "dscores.swapaxes(-1, -2) @ query", 'np.einsum("bts,btd->bsd", dscores, query)'),
    ("einsum for dquery", "dscores @ key", 'np.einsum("bts,bsd->btd", dscores, key)'),
    ("a loop over sentences", "dquery = dscores @ key", "dquery = np.stack([s @ k for s, k in zip(dscores, key)])"),
    ("np.transpose", "dscores.swapaxes(-1, -2) @ query", "np.transpose(dscores, (0, 2, 1)) @ query"),
    ("the sum as dy · y", SW, "(dy * (weights @ value)).sum(axis=-1, keepdims=True)"),
    ("the Jacobian's product", SW, 'np.einsum("bts,bts->bt", dweights, weights)[..., None]'),
    ("the scale later", "dquery = dscores @ key", "dquery = (dscores / scale) @ (key * scale)"),
    ("in place on an own array", "dquery = dscores @ key", "dquery = np.zeros_like(query)\n    dquery += dscores @ key"),
    ("dkey the other way round", "dscores.swapaxes(-1, -2) @ query", "(query.swapaxes(-1, -2) @ dscores).swapaxes(-1, -2)"),
]
TARGETS = [
    ("in another order", "dy * (p - q) / n", "(p - q) * (dy / n)"), ("minus outside", "(p - q)", "-(q - p)"),
    ("two terms", "dy * (p - q) / n", "dy * p / n - dy * q / n"), ("len for n", "/ n", "/ len(target)"),
    ("a loop over rows", "dy * (p - q) / n", "np.stack([dy * (a - b) / n for a, b in zip(p, q)])"),
    ("in place on an own copy", "dlogits = dy * (p - q) / n", "dlogits = p.copy(); dlogits -= q; dlogits *= dy / n"),
    ("exp of log softmax", "p = softmax(logits)", "p = np.exp(logits - logits.max(axis=-1, keepdims=True)); p = p / p.sum(axis=-1, keepdims=True)"),
    ("log-sum-exp", "p = softmax(logits)", "p = np.exp(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))"),
    ("one_hot by comparison", "np.eye(classes)[target]", "(np.arange(classes) == target[:, None])"),
    ("one_hot by assignment", "q = ", "o = np.zeros((n, classes)); o[np.arange(n), target] = 1; q = ", "np.eye(classes)[target]", "o"),
    ("through the Jacobian of softmax", "dlogits = dy * (p - q) / n", "dp = -dy * q / p / n; dlogits = p * (dp - (dp * p).sum(axis=-1, keepdims=True))"),
]
NORM = [
    ("in another order", "dx = dsummed + dhidden @ weight1", "dx = dhidden @ weight1 + dsummed"),
    ("einsum for a product", "dactive = dsummed @ weight2", 'dactive = np.einsum("bto,oi->bti", dsummed, weight2)'),
    ("np.where for relu", "dactive * (hidden > 0)", "np.where(hidden > 0, dactive, 0)"),
    ("a mask from the active", "(hidden > 0)", "(active > 0)"), ("heaviside", "(hidden > 0)", "np.heaviside(hidden, 0)"),
    ("in place on an own copy", "dhidden = dactive * (hidden > 0)", "dhidden = dactive.copy(); dhidden[hidden <= 0] = 0"),
    ("rows", 'np.einsum("bto,bti->oi", dhidden, x)', "dhidden.reshape(-1, dhidden.shape[-1]).T @ x.reshape(-1, x.shape[-1])"),
    ("a sum over sentences", 'np.einsum("bto,bti->oi", dhidden, x)', "sum(d.T @ a for d, a in zip(dhidden, x))"),
    ("tensordot", 'np.einsum("bto,bti->oi", dsummed, active)', "np.tensordot(dsummed, active, axes=((0, 1), (0, 1)))"),
    ("batched products", 'np.einsum("bto,bti->oi", dsummed, active)', "(dsummed.swapaxes(1, 2) @ active).sum(axis=0)"),
]
VARIANTS = {
    "sums": [
        ("in another order", "dy * scale", "scale * dy"), ("einsum", "dx = dy * scale", 'dx = np.einsum("btd,t->btd", dy, scale[:, 0])'),
        ("einsum for dscale", "(dy * x).sum(axis=(0, 2))[:, None]", 'np.einsum("btd,btd->t", dy, x)[:, None]'),
        ("two sums", "(dy * x).sum(axis=(0, 2))[:, None]", "(dy * x).sum(axis=0).sum(axis=1, keepdims=True)"),
        ("keepdims", "(dy * x).sum(axis=(0, 2))[:, None]", "(dy * x).sum(axis=(0, 2), keepdims=True)[0]"),
        ("a loop", "(dy * x).sum(axis=(0, 2))[:, None]", "np.array([[(dy[:, t] * x[:, t]).sum()] for t in range(x.shape[1])])"),
        ("rows", "dy.sum(axis=(0, 1))", "dy.reshape(-1, dy.shape[-1]).sum(axis=0)"), ("a product with ones", "dy.sum(axis=(0, 1))", "np.ones(dy[..., 0].size) @ dy.reshape(-1, dy.shape[-1])"),
        ("a loop over rows", "dy.sum(axis=(0, 1))", "sum(row for rows in dy for row in rows)"),
        ("in place on an own copy", "dx = dy * scale", "dx = dy.copy(); dx *= scale"), ("moved axes", "dy.sum(axis=(0, 1))", "np.moveaxis(dy, -1, 0).reshape(dy.shape[-1], -1).sum(axis=1)"),
    ],
    "linear": [
        ("einsum for dx", "dy @ weight", 'np.einsum("bto,oi->bti", dy, weight)'), ("transposed", "dy @ weight", "(weight.T @ dy.swapaxes(1, 2)).swapaxes(1, 2)"),
        ("einsum for dweight", "rows.T @ x.reshape(-1, x.shape[-1])", 'np.einsum("bto,bti->oi", dy, x)'),
        ("batched", "rows.T @ x.reshape(-1, x.shape[-1])", "(dy.swapaxes(1, 2) @ x).sum(axis=0)"),
        ("outer products", "rows.T @ x.reshape(-1, x.shape[-1])", "sum(np.outer(d, a) for d, a in zip(rows, x.reshape(-1, x.shape[-1])))"),
        ("tensordot", "rows.T @ x.reshape(-1, x.shape[-1])", "np.tensordot(dy, x, axes=((0, 1), (0, 1)))"),
        ("the transpose of the other", "rows.T @ x.reshape(-1, x.shape[-1])", "(x.reshape(-1, x.shape[-1]).T @ rows).T"),
        ("accumulated", "dweight = rows.T @ x.reshape(-1, x.shape[-1])", "dweight = np.zeros_like(weight)\n    for b in range(len(x)):\n        dweight += dy[b].T @ x[b]"),
        ("rows for dbias", "dy.sum(axis=(0, 1))", "rows.sum(axis=0)"), ("einsum for dbias", "dy.sum(axis=(0, 1))", 'np.einsum("bto->o", dy)'),
        ("dot", "dy @ weight", "np.dot(dy, weight)"),
    ],
    "softmax": [
        ("in another order", "y * (dy - total)", "(dy - total) * y"), ("expanded", "y * (dy - total)", "dy * y - y * total"),
        ("einsum", T, 'np.einsum("rc,rc->r", dy, y)[:, None]'), ("a product with ones", T, "(dy * y) @ np.ones((y.shape[1], 1))"),
        ("the Jacobian of each row", "dx = y * (dy - total)", "dx = np.stack([(np.diag(s) - np.outer(s, s)) @ d for s, d in zip(y, dy)])"),
        ("loops", "dx = y * (dy - total)", "dx = np.zeros_like(x)\n    for i in range(len(x)):\n        for j in range(x.shape[1]):\n            dx[i, j] = y[i, j] * (dy[i, j] - (dy[i] * y[i]).sum())"),
        ("in place on an own copy", "dx = y * (dy - total)", "dx = dy - total; dx *= y"), ("without the largest", "softmax(x)", "np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)"),
        ("log softmax", "softmax(x)", "np.exp(x - np.log(np.exp(x).sum(axis=-1, keepdims=True)))"), ("axis 1", "axis=-1", "axis=1"),
        ("a mean times n", T, "(dy * y).mean(axis=-1, keepdims=True) * y.shape[-1]"),
    ],
    "cross_entropy": TARGETS, "label_smoothing": TARGETS,
    "layer_norm": [
        ("n dnormed - ...", "rstd * (dnormed - first - normed * second)", "rstd / x.shape[-1] * (x.shape[-1] * dnormed - dnormed.sum(axis=-1, keepdims=True) - normed * (dnormed * normed).sum(axis=-1, keepdims=True))"),
        ("std for rstd", "rstd * (dnormed - first - normed * second)", "(dnormed - first - normed * second) / (1 / rstd)"),
        ("through mean and variance", "dx = rstd * (dnormed - first - normed * second)",
         "dvar = (dnormed * centred * -0.5 * rstd**3).sum(axis=-1, keepdims=True); dmean = (-dnormed * rstd).sum(axis=-1, keepdims=True); dx = dnormed * rstd + dvar * 2 * centred / x.shape[-1] + dmean / x.shape[-1]"),
        ("a Jacobian a row", "dx = rstd * (dnormed - first - normed * second)",
         "n = x.shape[-1]; J = rstd[..., None] * (np.eye(n) - 1 / n - normed[..., :, None] * normed[..., None, :] / n); dx = (J @ dnormed[..., None])[..., 0]"),
        ("np.var", "(centred**2).mean(axis=-1, keepdims=True)", "x.var(axis=-1, keepdims=True)"), ("power of -0.5", "1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)", "((centred**2).mean(axis=-1, keepdims=True) + 1e-5) ** -0.5"),
        ("einsum for dweight", "(dy * normed).sum(axis=(0, 1))", 'np.einsum("btd,btd->d", dy, normed)'), ("rows", "dy.sum(axis=(0, 1))", "dy.reshape(-1, dy.shape[-1]).sum(axis=0)"),
        ("two sums", "(dy * normed).sum(axis=(0, 1))", "(dy * normed).sum(axis=0).sum(axis=0)"), ("E x² - (E x)²", "(centred**2).mean(axis=-1, keepdims=True)", "((x**2).mean(axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True) ** 2)"),
        ("in place on an own copy", "dx = rstd * (dnormed - first - normed * second)", "dx = dnormed.copy(); dx -= first; dx -= normed * second; dx *= rstd"),
    ],
    "attention": CONTEXT,
    "masked_attention": [*CONTEXT, ("without the second mask", "np.where(keep, dkept, 0) * scale", "dkept * scale"), ("the mask as a factor", "np.where(keep, dkept, 0)", "keep * dkept")],
    "multihead_attention": [
        ("rows", 'np.einsum("bto,bti->oi", dprojected, x)', "dprojected.reshape(-1, dprojected.shape[-1]).T @ x.reshape(-1, x.shape[-1])"),
        ("a sum over sentences", 'np.einsum("bto,bti->oi", dprojected, x)', "sum(d.T @ a for d, a in zip(dprojected, x))"),
        ("three products", "dx = dprojected @ in_proj_weight", "wq, wk, wv = np.split(in_proj_weight, 3); dx = merge_heads(dquery) @ wq + merge_heads(dkey) @ wk + merge_heads(dvalue) @ wv"),
        ("einsum", "dx = dprojected @ in_proj_weight", 'dx = np.einsum("bto,oi->bti", dprojected, in_proj_weight)'),
        ("three weights", 'np.einsum("bto,bti->oi", dprojected, x)', 'np.concatenate([np.einsum("bto,bti->oi", merge_heads(d), x) for d in (dquery, dkey, dvalue)])'),
        ("in place on an own copy", "dx = dprojected @ in_proj_weight", "dx = np.zeros_like(x); dx += dprojected @ in_proj_weight"),
        ("tensordot", 'np.einsum("bto,bti->oi", dy, context)', "np.tensordot(dy, context, axes=((0, 1), (0, 1)))"),
        ("batched", 'np.einsum("bto,bti->oi", dy, context)', "(dy.swapaxes(1, 2) @ context).sum(axis=0)"),
    ],
    "post_norm": NORM,
    "pre_norm": [tuple(t.replace("dhidden, x)", "dhidden, normed)").replace("dsummed", "dy").replace("zip(dhidden, x)", "zip(dhidden, normed)").replace("@ x.reshape(-1, x.", "@ normed.reshape(-1, x.") for t in v) for v in NORM[1:]]
    + [("in another order", "dx = dy + dpath", "dx = dpath + dy")],
}


def variants():
    """(name, function, text, inputs)"""
    for function, all_changes in VARIANTS.items():
        for name, *changes in [("as written",), *all_changes]:
            text = changed(function, list(zip(changes[::2], changes[1::2])))
            for number, shapes in enumerate(SHAPES[function]):
                for seed in SEEDS:
                    yield f"{function}: {name}, shapes {number}, seed {seed}", function, text, solutions.inputs_of(function, seed, shapes)
