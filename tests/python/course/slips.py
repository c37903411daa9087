"""Wrong solutions by hand: the mistakes that students make, at least 20 an exercise.

Each is a right solution with one text in place of another, and the names that would be true of it (corpus/layer.py).
All were written, with their names, before the grader had seen any of them. ALSO has other names that are true of some.
"""

from corpus.layer import *

SLIPS = []  # (function, names that are true, what is wrong, changes of the solution's text)
ALSO = {
    "scale as a row": TRANSPOSED, "transposed": TRANSPOSED, "bias times scale": IS, "x forgotten in scale": PASSED,
    "dy multiplied in place": TOO_MANY, "dbias times bias": TOO_MANY, "dy in place": FACTOR, "nothing returned": NONE, "dy passed on": OWN,
    "log softmax's": LAST_FUNCTION, "dy's size alone": SIZE[1], "γ outside the means": TRANSPOSE, "γ from dnormed": TOO_MANY,
    "β from dnormed": TOO_MANY, "the sum over the sentence": IGNORED, "the hidden keys": NONE, "the mask the wrong way round in the weights": NONE,
    "the mask without a softmax": OUT_FACTOR, "out_proj's gradient transposed": EXCHANGED, "the first head alone": LOST,
    "the key's path forgotten": LOST, "the query's path forgotten": LOST, "the value's path forgotten": LOST, "three paths averaged": FACTOR,
    "scale of the whole width": IN_FACTOR, "relu at dactive": "not linear in dy", "weight1 without relu": IGNORED, "weight2 from hidden": IGNORED,
    "relu passed over": IGNORED, "dy added before the norm": "a term dy is too many", "the layer's path forgotten": OWN,
    "γ and β in the other order": ANOTHER, "γ from x̂ with dy": IS, "a large number for hidden scores": "whatever dy is",
}


def slip(looks, name, *changes, function=None):
    looks = (looks,) if isinstance(looks, str) else tuple(name for look in looks for name in ((look,) if isinstance(look, str) else look))
    SLIPS.append((function or of, (*looks, *([ALSO[name]] if name in ALSO else [])), name, list(zip(changes[::2], changes[1::2]))))


of = "sums"
DSCALE, DBIAS = "(dy * x).sum(axis=(0, 2))[:, None]", "dy.sum(axis=(0, 1))"
slip((PASSED, MISSING), "scale forgotten", "dy * scale", "dy")
slip((ANOTHER, UPSTREAM[1], IS), "x for scale", "dx = dy * scale", "dx = dy * x")
slip(UPSTREAM, "dy forgotten", "dx = dy * scale", "dx = scale + 0 * dy")
slip(SIGN, "sign", "dx = dy * scale", "dx = -dy * scale")
slip((OUT_FACTOR, IN_FACTOR, MISSING, TOO_MANY, IS), "divided by scale", "dy * scale", "dy / scale")
slip((TOO_MANY, IS), "scale squared", "dx = dy * scale", "dx = dy * scale**2")
slip((LOST, OTHER_AXIS, SHAPE), "scale's sum without the batch", DSCALE, "(dy * x)[0].sum(axis=1)[:, None]")
slip((LOST, BROADCAST, SHAPE), "scale not summed over the features", DSCALE, "(dy * x).sum(axis=0)")
slip((BROADCAST, SHAPE), "scale not summed at all", DSCALE, "dy * x")
slip((IGNORED,), "scale summed over everything", DSCALE, "np.full((3, 1), (dy * x).sum())")
slip(FACTOR, "scale as a mean", DSCALE, "(dy * x).mean(axis=(0, 2))[:, None]")
slip((ANOTHER, MISSING, WRONG_FACTOR, IS), "x forgotten in scale", DSCALE, "dy.sum(axis=(0, 2))[:, None]")
slip(SHAPE, "scale without its axis of one", "(0, 2))[:, None]", "(0, 2))")
slip(SHAPE, "scale as a row", "(0, 2))[:, None]", "(0, 2))[None]")
slip(UPSTREAM, "dy forgotten in scale", DSCALE, "x.sum(axis=(0, 2))[:, None] + 0 * dy[0, :, :1]")
slip(SQUARED, "dy squared in scale", "(dy * x)", "(dy * dy * x)")
slip((BROADCAST, SHAPE), "bias not summed", DBIAS, "dy")
slip((BROADCAST, SHAPE), "bias summed over the batch alone", DBIAS, "dy.sum(axis=0)")
slip(LOST, "bias of the first example", DBIAS, "dy[0].sum(axis=0)")
slip(LOST, "bias of the first row", DBIAS, "dy.sum(axis=0)[0]")
slip(FACTOR, "bias as a mean", DBIAS, "dy.mean(axis=(0, 1))")
slip(IGNORED, "bias summed over everything", DBIAS, "np.full(4, dy.sum())")
slip(UPSTREAM, "bias from ones", DBIAS, "np.full(4, 6.0)")
slip((NONE,), "bias without a gradient", DBIAS, "np.zeros(4)")
slip((ADDED,), "bias adds itself", DBIAS, "dy.sum(axis=(0, 1)) + bias")
slip(ORDER, "scale and bias in the other order", "dx, dscale, dbias", "dx, dbias, dscale")
slip(IN_PLACE, "dy multiplied in place", "dx = dy * scale", "dx = dy; dx *= scale")
slip(("scale", MISSING, IN_FACTOR, TOO_MANY), "bias times scale", DBIAS, "(dy * scale).sum(axis=(0, 1))")

of = "linear"
DW = "rows.T @ x.reshape(-1, x.shape[-1])"
slip(("cannot", "mismatch", "TypeError", "ValueError"), "weight transposed in dx", "dy @ weight", "dy @ weight.T")
slip((FACTOR,), "dx halved", "dy @ weight", "dy @ weight / 2")
slip(SIGN, "sign", "dy @ weight", "-dy @ weight")
slip((LOST, ), "dx from the first output alone", "dy @ weight", "dy[..., :1] @ weight[:1]")
slip(UPSTREAM, "dy forgotten in dx", "dy @ weight", "np.ones_like(dy) @ weight")
slip((SHAPE, TRANSPOSED), "dweight transposed", DW, "x.reshape(-1, x.shape[-1]).T @ rows")
slip((PLACES,), "dweight reshaped for a transpose", DW, "(x.reshape(-1, x.shape[-1]).T @ rows).reshape(weight.shape)")
slip(FACTOR, "dweight divided by the batch", DW, DW + " / len(x)")
slip(FACTOR, "dweight divided by the rows", DW, DW + " / len(rows)")
slip(LOST, "dweight of the first example", DW, "dy[0].T @ x[0]")
slip(LOST, "dweight of the last example", DW, "dy[-1].T @ x[-1]")
slip((SHAPE, BROADCAST), "dweight not summed over the batch", DW, "dy.swapaxes(1, 2) @ x")
slip((OFF, PLACES, BATCH), "rows of x in Fortran's order", "x.reshape(-1, x.shape[-1])", "x.reshape((-1, x.shape[-1]), order='F')")
slip(SIGN, "dweight's sign", "dweight = rows", "dweight = -rows")
slip(UPSTREAM, "dweight from ones", DW, "np.ones_like(rows).T @ x.reshape(-1, x.shape[-1])")
slip(ADDED, "weight decay added", DW, DW + " + 0.01 * weight")
slip(SQUARED, "dy squared in dweight", DW, "(rows**2).T @ x.reshape(-1, x.shape[-1])")
slip(LOST, "dbias of the first row", DBIAS, "dy[0, 0]")
slip(FACTOR, "dbias as a mean", DBIAS, "dy.mean(axis=(0, 1))")
slip((SHAPE, BROADCAST), "dbias summed over the batch alone", DBIAS, "dy.sum(axis=0)")
slip((SHAPE,), "dbias with its axes kept", DBIAS, "dy.sum(axis=(0, 1), keepdims=True)")
slip(NONE, "dbias forgotten", DBIAS, "np.zeros_like(bias)")
slip(("dy times", MISSING, IS, WRONG_FACTOR, IN_FACTOR), "dbias times bias", DBIAS, DBIAS + " * bias")
slip(IN_PLACE, "dy in place", "dx = dy @ weight", "dy /= 2; dx = 2 * dy @ weight")
slip(("None",), "nothing returned", "return dx, dweight, dbias", "return None")
slip(ORDER, "dweight and dx in the other order", "return dx, dweight, dbias", "return dweight, dx, dbias")
slip((SHAPE, "list"), "dbias as a list", DBIAS, "sum(dy).sum(axis=0).tolist()")

of = "softmax"
TOTAL, DX = "(dy * y).sum(axis=-1, keepdims=True)", "y * (dy - total)"
slip(OWN, "the diagonal y (1 - y)", DX, "dy * y * (1 - y)")
slip(OWN, "no sum over the row", DX, "y * dy")
slip((MISSING, OUT_FACTOR), "y forgotten outside", DX, "dy - total")
slip(TERM, "y forgotten in the sum", TOTAL, "dy.sum(axis=-1, keepdims=True)")
slip(TERM, "mean for sum", TOTAL, "(dy * y).mean(axis=-1, keepdims=True)")
slip(TERM, "plus for minus", "dy - total", "dy + total")
slip(SIGN, "sign", "dy - total", "total - dy")
slip(OTHER_AXIS, "the other axis", "axis=-1", "axis=0")
slip(BATCH, "the sum of everything", TOTAL, "(dy * y).sum()")
slip((NONE,), "ones for dy", DX, "y * (1 - y.sum(axis=-1, keepdims=True)) + 0 * total")
slip(UPSTREAM, "dy forgotten", DX, "y * (1 - y)")
slip((TERM, READS_X), "x for y in the sum", "(dy * y)", "(dy * x)")
slip((OUT_FACTOR, MISSING, TOO_MANY, WRONG_FACTOR, READS_X), "x for y outside", DX, "x * (dy - total)")
slip((TOO_MANY, OUT_FACTOR), "y twice", DX, "y * y * (dy - total)")
slip((PASSED,), "dy passed on", DX, "dy + 0 * total")
slip((PASSED, MISSING), "the sum alone", DX, "-total * y")
slip((BATCH, LOST), "the first row's y for all", DX, "y[0] * (dy - total)")
slip((TERM,), "the sum twice", "dy - total", "dy - 2 * total")
slip((SQUARED), "dy squared", "(dy * y)", "(dy * dy * y)")
slip((OTHER_AXIS, SHAPE, "shape"), "keepdims forgotten", "(axis=-1, keepdims=True)", "(axis=-1)")
slip((AT_Y, READS_X), "softmax of the softmax", "softmax(x)", "softmax(softmax(x))")
slip((TERM, OUT_FACTOR), "exp for softmax", "y = softmax(x)", "y = np.exp(x)")
slip((OUT_FACTOR, MISSING, TOO_MANY), "log softmax's", DX, "dy - y * dy.sum(axis=-1, keepdims=True) + 0 * total")
slip(IN_PLACE, "dy changed", "dx = y * (dy - total)", "dy -= total; dx = y * dy")
slip(("None",), "no return", "return dx", "pass")
slip(FACTOR, "divided by the rows", DX, DX + " / len(x)")
slip((PLACES, SHAPE), "transposed", "return dx", "return dx.T")

of = "cross_entropy"
DL, Q = "dy * (p - q) / n", "q = np.eye(classes)[target]"
slip(FACTOR, "rows' mean forgotten", DL, "dy * (p - q)")
slip(FACTOR, "divided by the classes", DL, "dy * (p - q) / classes")
slip(FACTOR, "divided by all elements", DL, "dy * (p - q) / p.size")
slip(SIGN, "q - p", "(p - q)", "(q - p)")
slip(UPSTREAM, "dy forgotten", DL, "(p - q) / n")
slip((TERM_MISSING, "own", TERM, LOST), "q forgotten", "(p - q)", "p")
slip((LOST, TERM, OWN), "p forgotten", "(p - q)", "-q")
slip((FACTOR, "sign"), "p + q", "(p - q)", "(p + q)")
slip((OFF,), "classes from 1", Q, "q = np.eye(classes)[(target + 1) % classes]")
slip((OFF, "index"), "classes from 1, downwards", Q, "q = np.eye(classes)[target - 1]")
slip((BATCH, OFF), "targets in reverse", Q, "q = np.eye(classes)[target[::-1]]")
slip((BATCH, ), "the first target for all", Q, "q = np.eye(classes)[target[:1]]")
slip((IN_FACTOR, MISSING), "softmax's derivative once more", DL, "dy * (p - q) * p / n")
slip((IN_FACTOR, MISSING), "sigmoid's derivative", DL, "dy * (p - q) * p * (1 - p) / n")
slip((LOST,), "the target's element alone", DL, "dy * (p - q) * q / n")
slip((LOST,), "all but the target's element", DL, "dy * (p - q) * (1 - q) / n")
slip((IN_FACTOR, LOST), "-1/p at the target", DL, "-dy * q / p / n")
slip((OTHER_AXIS,), "softmax over the rows", "softmax(logits)", "softmax(logits.T).T")
slip(("logits",), "logits for p", "p = softmax(logits)", "p = logits")
slip(("exp",), "exp for softmax", "p = softmax(logits)", "p = np.exp(logits)")
slip((FACTOR, ), "the derivative of the squared error", "(p - q) /", "2 * (p - q) /")
slip(NOT_LINEAR, "dy's size alone", DL, "np.sign(dy) * (p - q) / n")
slip(SQUARED, "dy squared", DL, "dy**2 * (p - q) / n")
slip((LOST, ), "the last row without a gradient", "return dlogits", "dlogits[-1] = 0; return dlogits")
slip((LOST, ), "padding's row without a gradient", "return dlogits", "dlogits[target == target[0]] = 0; return dlogits")
slip((SHAPE,), "transposed", "return dlogits", "return dlogits.T")
slip(IN_PLACE, "logits changed", "p = softmax(logits)", "logits -= logits.max(); p = softmax(logits)")
slip(NONE, "zeros", DL, "np.zeros_like(p)")

of = "layer_norm"
DX, S = "rstd * (dnormed - first - normed * second)", "second = (dnormed * normed).mean(axis=-1, keepdims=True)"
F = "first = dnormed.mean(axis=-1, keepdims=True)"
slip(OWN, "mean and deviation as constants", DX, "rstd * dnormed")
slip(TERM, "the mean's path forgotten", DX, "rstd * (dnormed - normed * second)")
slip(TERM, "the deviation's path forgotten", DX, "rstd * (dnormed - first)")
slip(TERM, "plus for the deviation's path", "- normed * second", "+ normed * second")
slip(TERM, "plus for the mean's path", "dnormed - first", "dnormed + first")
slip(TERM, "sum for mean in the deviation's path", S, S.replace("mean", "sum"))
slip(TERM, "sum for mean in the mean's path", F, F.replace("mean", "sum"))
slip(TERM, "x̂ forgotten in the deviation's path", DX, "rstd * (dnormed - first - second)")
slip(TERM, "x̂ forgotten in the mean of the products", S, "second = dnormed.mean(axis=-1, keepdims=True)")
slip(TERM, "x for x̂", "normed * second", "x * second")
slip(TERM, "the centred x for x̂", "normed * second", "centred * second")
slip((IN_FACTOR, BATCH), "1/σ forgotten", DX, "dnormed - first - normed * second")
slip((IN_FACTOR, OUT_FACTOR), "1/σ²", "rstd * (dnormed", "rstd**2 * (dnormed")
slip((IN_FACTOR, OUT_FACTOR, "factor"), "σ for 1/σ", "rstd * (dnormed", "1 / rstd * (dnormed")
slip((OUT_FACTOR, TERM), "γ forgotten", "dy * weight", "dy + 0 * weight")
slip((IN_FACTOR, TERM), "γ outside the means", "dnormed = dy * weight", "dnormed = dy", "dx = rstd", "dx = weight * rstd")
slip(SIGN, "sign", "dx = rstd", "dx = -rstd")
slip(OTHER_AXIS, "batch norm's axis", "axis=-1", "axis=0")
slip((TERM, "epsilon"), "ε as 1e-3", "1e-5", "1e-3")
slip("epsilon", "ε beside the square root", "np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)", "(np.sqrt((centred**2).mean(axis=-1, keepdims=True)) + 1e-5)")
slip(("epsilon", FACTOR, IN_FACTOR, TERM), "n - 1 for n in the variance", "(centred**2).mean(axis=-1, keepdims=True)", "(centred**2).sum(axis=-1, keepdims=True) / 4")
slip((IS, TERM), "γ from x, not from x̂", "(dy * normed)", "(dy * x)")
slip((ANOTHER, IS), "γ as β", "(dy * normed)", "dy")
slip((ANOTHER, "a known"), "γ from dnormed", "dweight = (dy * normed)", "dweight = (dnormed * normed)")
slip(FACTOR, "γ as a mean", "(dy * normed).sum", "(dy * normed).mean")
slip((SHAPE, BROADCAST), "γ summed over the batch alone", "(dy * normed).sum(axis=(0, 1))", "(dy * normed).sum(axis=0)")
slip(LOST, "γ of the first example", "(dy * normed).sum(axis=(0, 1))", "(dy * normed)[0].sum(axis=0)")
slip((IS, MISSING, "weight"), "β from dnormed", DBIAS, "dnormed.sum(axis=(0, 1))")
slip(NONE, "β forgotten", DBIAS, "np.zeros_like(bias)")
slip(FACTOR, "β as a mean", DBIAS, "dy.mean(axis=(0, 1))")
slip((ORDER, ANOTHER), "γ and β in the other order", "dx, dweight, dbias", "dx, dbias, dweight")

of = "attention"
DS = "weights * (dweights - total) * scale"
slip(FACTOR, "√d forgotten", DS, "weights * (dweights - total)")
slip(FACTOR, "√d twice", DS, DS + " * scale")
slip(FACTOR, "√d of the query alone", "dkey = dscores", "dkey = dscores / scale")
slip(FACTOR, "√d divided by", DS, "weights * (dweights - total) / scale")
slip((FACTOR,), "√d of the value's width", DS, "weights * (dweights - total) / np.sqrt(value.shape[-1])")
slip(TERM, "softmax's sum forgotten", DS, "weights * dweights * scale")
slip((), "softmax's diagonal", DS, "weights * (1 - weights) * dweights * scale")
slip((), "softmax passed over", DS, "dweights * scale")
slip((), "weights forgotten outside", DS, "(dweights - total) * scale")
slip((TERM,), "weights forgotten in the sum", "(dweights * weights).sum(axis=-1, keepdims=True)", "dweights.sum(axis=-1, keepdims=True)")
slip((TERM,), "mean for sum", "(dweights * weights).sum", "(dweights * weights).mean")
slip((TERM,), "plus for minus", "dweights - total", "dweights + total")
slip((OTHER_AXIS,), "the sum over the queries", "(dweights * weights).sum(axis=-1, keepdims=True)", "(dweights * weights).sum(axis=-2, keepdims=True)")
slip((BATCH,), "the sum over the sentence", "(dweights * weights).sum(axis=-1, keepdims=True)", "(dweights * weights).sum(axis=(-2, -1), keepdims=True)")
slip((SIGN,), "total - dweights", "dweights - total", "total - dweights")
slip((NONE,), "no gradient to the key", "dkey = dscores.swapaxes(-1, -2) @ query", "dkey = np.zeros_like(key)")
slip((SHAPE, TRANSPOSED), "key's gradient transposed", "dkey = dscores.swapaxes(-1, -2) @ query", "dkey = query.swapaxes(-1, -2) @ dscores")
slip((PLACES,), "key's gradient reshaped for a transpose", "dkey = dscores.swapaxes(-1, -2) @ query", "dkey = (query.swapaxes(-1, -2) @ dscores).reshape(key.shape)")
slip((), "scores reshaped for a transpose", "dscores.swapaxes(-1, -2)", "dscores.reshape(2, 5, 3)")
slip((PLACES, EXCHANGED), "weights reshaped for a transpose", "weights.swapaxes(-1, -2) @ dy", "weights.reshape(2, 5, 3) @ dy")
slip(UPSTREAM, "value's gradient from ones", "weights.swapaxes(-1, -2) @ dy", "weights.swapaxes(-1, -2) @ np.ones_like(dy)")
slip((), "weights without a softmax", "weights = softmax(query @ key.swapaxes(-1, -2) * scale)", "weights = query @ key.swapaxes(-1, -2) * scale")
slip((), "softmax without the scale", "weights = softmax(query @ key.swapaxes(-1, -2) * scale)", "weights = softmax(query @ key.swapaxes(-1, -2))")
slip((OTHER_AXIS,), "softmax over the queries", "softmax(query @ key.swapaxes(-1, -2) * scale)", "softmax(key @ query.swapaxes(-1, -2) * scale).swapaxes(-1, -2)")
slip((UPSTREAM), "dy forgotten in the weights", "dweights = dy @", "dweights = np.ones_like(dy) @")
slip((BATCH,), "the first sentence's keys", "dquery = dscores @ key", "dquery = dscores @ key[:1]")
slip((BATCH, LOST), "the first sentence's values", "dy @ value.swapaxes", "dy @ value[:1].swapaxes")
slip((FACTOR,), "key's gradient as a mean over the queries", "dscores.swapaxes(-1, -2) @ query", "dscores.swapaxes(-1, -2) @ query / 3")
slip(ORDER, "value before key", "return dquery, dkey, dvalue", "return dquery, dvalue, dkey")
slip((SIGN,), "query's sign", "dquery = dscores", "dquery = -dscores")
slip((FACTOR,), "value's gradient with the scale", "dvalue = weights", "dvalue = scale * weights")

of = "masked_attention"
DK = "weights * (dweights - total)"
slip(FACTOR, "√d forgotten", "np.where(keep, dkept, 0) * scale", "np.where(keep, dkept, 0)")
slip((IGNORED,), "the mask forgotten in the weights", "weights = masked_softmax(query @ key.swapaxes(-1, -2) * scale, keep)", "weights = softmax(query @ key.swapaxes(-1, -2) * scale)")
slip((IGNORED,), "the mask forgotten in the value's gradient", "dvalue = weights.swapaxes", "dvalue = softmax(query @ key.swapaxes(-1, -2) * scale).swapaxes")
slip((ROUND,), "the hidden keys", "np.where(keep, dkept, 0)", "np.where(keep, 0, dkept)")
slip((ROUND,), "the mask the wrong way round in the weights", "scale, keep)", "scale, ~keep)")
slip((), "a large number for hidden scores", "np.where(keep, dkept, 0)", "np.where(keep, dkept, -1e9)")
slip(ADDED, "the fill in the scores' gradient", "np.where(keep, dkept, 0)", "np.where(keep, dkept, -1)")
slip((TERM,), "softmax's sum forgotten", DK, "weights * dweights")
slip((), "softmax's diagonal", DK, "weights * (1 - weights) * dweights")
slip((), "softmax passed over", DK, "dweights")
slip((), "weights forgotten outside", DK, "dweights - total")
slip((TERM,), "sum over the kept, of dweights alone", "(dweights * weights).sum(", "np.where(keep, dweights, 0).sum(")
slip((TERM,), "plus for minus", "dweights - total", "dweights + total")
slip((TERM,), "mean for sum", "(dweights * weights).sum", "(dweights * weights).mean")
slip((TERM,), "masked twice: mean over the kept", "(dweights * weights).sum(axis=-1, keepdims=True)", "(dweights * weights).sum(axis=-1, keepdims=True) / np.maximum(1, keep.sum(axis=-1, keepdims=True))")
slip((SIGN,), "total - dweights", "dweights - total", "total - dweights")
slip((BATCH,), "the first sentence's mask", "scale, keep)", "scale, keep[:1])")
slip((LOST,), "the first query's mask for all", "scale, keep)", "scale, keep[:, -1:])")
slip((IGNORED,), "a softmax over a row without keys", "scale, keep)", "scale, keep | ~keep.any(axis=-1, keepdims=True))")
slip(("NaN", "nan", "not finite", "finite"), "a row without keys divides by zero", "weights = masked_softmax(query @ key.swapaxes(-1, -2) * scale, keep)", "s = np.where(keep, np.exp(query @ key.swapaxes(-1, -2) * scale), 0); weights = s / s.sum(axis=-1, keepdims=True)")
slip((NONE,), "no gradient to the key", "dkey = dscores.swapaxes(-1, -2) @ query", "dkey = np.zeros_like(key)")
slip((IGNORED, "mask"), "the mask without a softmax", "weights = masked_softmax(query @ key.swapaxes(-1, -2) * scale, keep)", "weights = np.where(keep, softmax(query @ key.swapaxes(-1, -2) * scale), 0)")
slip((LOST,), "key's gradient of the last query", "dkey = dscores.swapaxes(-1, -2) @ query", "dkey = dscores[:, -1:].swapaxes(-1, -2) @ query[:, -1:]")
slip((FACTOR,), "value's gradient as a mean", "weights.swapaxes(-1, -2) @ dy", "weights.swapaxes(-1, -2) @ dy / 3")
slip((PLACES,), "the mask reshaped for a transpose", "dscores.swapaxes(-1, -2)", "dscores.reshape(2, 5, 3)")
slip((UPSTREAM), "value's gradient from ones", "@ dy\n", "@ np.ones_like(dy)\n")
slip(ORDER, "value before key", "return dquery, dkey, dvalue", "return dquery, dvalue, dkey")
slip((LOST,), "the first key hidden too", "np.where(keep, dkept, 0)", "np.where(keep & (np.arange(5) > 0), dkept, 0)")

of = "multihead_attention"
CAT = "[merge_heads(dquery), merge_heads(dkey), merge_heads(dvalue)]"
slip((), "the value's path forgotten", CAT, "[merge_heads(dquery), merge_heads(dkey), 0 * merge_heads(dvalue)]")
slip((), "the query's path forgotten", CAT, "[0 * merge_heads(dquery), merge_heads(dkey), merge_heads(dvalue)]")
slip((), "the key's path forgotten", CAT, "[merge_heads(dquery), 0 * merge_heads(dkey), merge_heads(dvalue)]")
slip((PLACES,), "key before query", CAT, "[merge_heads(dkey), merge_heads(dquery), merge_heads(dvalue)]")
slip((PLACES,), "value first", CAT, "[merge_heads(dvalue), merge_heads(dquery), merge_heads(dkey)]")
slip((PLACES,), "heads merged by reshape", CAT, "[a.reshape(2, 3, 8) for a in (dquery, dkey, dvalue)]")
slip((PLACES,), "context merged by reshape", "context = merge_heads(attention(query, key, value))", "context = attention(query, key, value).reshape(2, 3, 8)")
slip((), "dcontext split by reshape", "dcontext = split_heads(dy @ out_proj_weight)", "dcontext = (dy @ out_proj_weight).reshape(2, 2, 3, 4)")
slip((), "out_proj transposed in dcontext", "dy @ out_proj_weight", "dy @ out_proj_weight.T")
slip((), "out_proj passed over", "split_heads(dy @ out_proj_weight)", "split_heads(dy)")
slip((TRANSPOSED, PLACES), "out_proj's gradient transposed", 'np.einsum("bto,bti->oi", dy, context)', 'np.einsum("bto,bti->io", dy, context)')
slip((LOST,), "out_proj of the first sentence", 'np.einsum("bto,bti->oi", dy, context)', 'dy[0].T @ context[0]')
slip((FACTOR,), "out_proj as a mean", 'np.einsum("bto,bti->oi", dy, context)', 'np.einsum("bto,bti->oi", dy, context) / 2')
slip((FACTOR,), "out_proj summed twice", 'np.einsum("bto,bti->oi", dy, context)', '2 * np.einsum("bto,bti->oi", dy, context)')
slip((), "out_proj from dcontext", 'np.einsum("bto,bti->oi", dy, context)', 'np.einsum("bto,bti->oi", dy @ out_proj_weight, context)')
slip((), "out_proj from x", 'np.einsum("bto,bti->oi", dy, context)', 'np.einsum("bto,bti->oi", dy, x)')
slip((LOST,), "in_proj of the last sentence", 'np.einsum("bto,bti->oi", dprojected, x)', 'dprojected[-1].T @ x[-1]')
slip((FACTOR,), "in_proj as a mean over the words", 'np.einsum("bto,bti->oi", dprojected, x)', 'np.einsum("bto,bti->oi", dprojected, x) / 3')
slip((SHAPE, TRANSPOSED), "in_proj's gradient transposed", 'np.einsum("bto,bti->oi", dprojected, x)', 'np.einsum("bto,bti->io", dprojected, x)')
slip((), "in_proj from the context", 'np.einsum("bto,bti->oi", dprojected, x)', 'np.einsum("bto,bti->oi", dprojected, context)')
slip((), "three paths averaged", "dx = dprojected @ in_proj_weight", "dx = dprojected @ in_proj_weight / 3")
slip((SKIP, "residual", TWICE), "dy added as in a residual", "dx = dprojected @ in_proj_weight", "dx = dy + dprojected @ in_proj_weight")
slip((), "dx of the query alone", "dx = dprojected @ in_proj_weight", "dx = dprojected[..., :8] @ in_proj_weight[:8]")
slip((), "dx without the query", "dx = dprojected @ in_proj_weight", "dx = dprojected[..., 8:] @ in_proj_weight[8:]")
slip((), "the first head alone", "dcontext = split_heads(dy @ out_proj_weight)", "dcontext = split_heads(dy @ out_proj_weight) * np.array([1, 0])[:, None, None]")
slip((), "attention without heads", "query, key, value = split_heads(query), split_heads(key), split_heads(value)", "query, key, value = query[:, None], key[:, None], value[:, None]", "dcontext = split_heads(dy @ out_proj_weight)", "dcontext = (dy @ out_proj_weight)[:, None]")
slip((), "scale of the whole width", "attention_backward(dcontext, query, key, value)", "[a / s for a, s in zip(attention_backward(dcontext, query, key, value), (2**0.5, 2**0.5, 1))]")
slip((SIGN,), "sign of dx", "dx = dprojected", "dx = -dprojected")

of = "post_norm"
slip((SKIP,), "the residual path forgotten", "dx = dsummed + dhidden @ weight1", "dx = dhidden @ weight1")
slip((), "the layer's path forgotten", "dx = dsummed + dhidden @ weight1", "dx = dsummed")
slip((), "dy in place of the norm's gradient", "dx = dsummed + dhidden @ weight1", "dx = dy + dhidden @ weight1")
slip((), "minus for plus", "dsummed + dhidden", "dsummed - dhidden")
slip((IGNORED,), "relu passed over", "dactive * (hidden > 0)", "dactive")
slip((ROUND,), "relu the wrong way round", "(hidden > 0)", "(hidden < 0)")
slip((), "relu at dactive", "(hidden > 0)", "(dactive > 0)")
slip((), "weight2 from hidden", "dsummed, active)", "dsummed, hidden)")
slip((), "weight2 from dy", 'np.einsum("bto,bti->oi", dsummed', 'np.einsum("bto,bti->oi", dy')
slip((), "weight1 without relu", 'np.einsum("bto,bti->oi", dhidden', 'np.einsum("bto,bti->oi", dactive')
slip((), "weight1 from summed", "dhidden, x)", "dhidden, summed)")
slip((), "norm at x instead of the sum", "layer_norm_backward(dy, summed", "layer_norm_backward(dy, x")
slip((TWICE,), "the residual path twice", "dx = dsummed +", "dx = 2 * dsummed +")
slip((FACTOR,), "weight1 as a mean", 'np.einsum("bto,bti->oi", dhidden, x)', 'np.einsum("bto,bti->oi", dhidden, x) / 2')

of = "pre_norm"
slip((SKIP,), "the residual path forgotten", "dx = dy + dpath", "dx = dpath")
slip((PASSED,), "the layer's path forgotten", "dx = dy + dpath", "dx = dy")
slip((), "the norm passed over", "dx = dy + dpath", "dx = dy + dnormed")
slip((), "minus for plus", "dy + dpath", "dy - dpath")
slip((TWICE,), "dy added twice", "dy + dpath", "2 * dy + dpath")
slip((), "relu passed over", "dactive * (hidden > 0)", "dactive")
slip((), "relu the wrong way round", "(hidden > 0)", "(hidden < 0)")
slip((), "weight1 from x", "dhidden, normed)", "dhidden, x)")
slip((), "weight2 from hidden", "dy, active)", "dy, hidden)")
slip((), "γ from x̂ with dy", "layer_norm_backward(dnormed, x, gamma, beta)", "layer_norm_backward(dnormed, x, gamma, beta)[:1] + layer_norm_backward(dy, x, gamma, beta)[1:]")
slip((), "dy added before the norm", "layer_norm_backward(dnormed,", "layer_norm_backward(dnormed + dy,", "dy + dpath", "dpath")
slip((), "γ and β in the other order", "dgamma, dbeta\n", "dbeta, dgamma\n")
slip((NONE,), "β without a gradient", "dpath, dgamma, dbeta = layer_norm_backward(dnormed, x, gamma, beta)", "dpath, dgamma, dbeta = layer_norm_backward(dnormed, x, gamma, beta); dbeta = 0 * dbeta")
slip((UPSTREAM), "dy as ones in weight2", "dweight2 = np.einsum(\"bto,bti->oi\", dy,", "dweight2 = np.einsum(\"bto,bti->oi\", np.ones_like(dy),")

of = "label_smoothing"
DL, Q = "dy * (p - q) / n", "q = 0.9 * np.eye(classes)[target] + 0.1 / classes"
slip(FACTOR, "rows' mean forgotten", DL, "dy * (p - q)")
slip(FACTOR, "divided by all elements", DL, "dy * (p - q) / p.size")
slip(SIGN, "q - p", "(p - q)", "(q - p)")
slip(UPSTREAM, "dy forgotten", DL, "(p - q) / n")
slip((), "without smoothing", Q, "q = np.eye(classes)[target]")
slip((), "ε for the others, not spread", Q, "q = np.where(np.eye(classes)[target] > 0, 0.9, 0.1)")
slip((), "ε spread over the other classes", Q, "q = np.where(np.eye(classes)[target] > 0, 0.9, 0.1 / (classes - 1))")
slip((), "ε / classes of the target forgotten", Q, "q = np.where(np.eye(classes)[target] > 0, 0.9, 0.1 / classes)")
slip((), "1 - ε forgotten", Q, "q = np.eye(classes)[target] + 0.1 / classes")
slip((), "ε as 0.2", Q, "q = 0.8 * np.eye(classes)[target] + 0.2 / classes")
slip((), "the uniform part alone", Q, "q = 0 * np.eye(classes)[target] + 0.1 / classes")
slip((), "ε and 1 - ε exchanged", Q, "q = 0.1 * np.eye(classes)[target] + 0.9 / classes")
slip((), "ε divided by the rows", Q, "q = 0.9 * np.eye(classes)[target] + 0.1 / n")
slip((OFF,), "classes from 1", "[target]", "[(target + 1) % classes]")
slip((), "targets in reverse", "[target]", "[target[::-1]]")
slip((), "q forgotten", "(p - q)", "p")
slip((OWN, LOST), "p forgotten", "(p - q)", "-q")
slip((), "p + q", "(p - q)", "(p + q)")
slip((), "log p for p", "(p - q)", "(np.log(p) - q)")
slip((OTHER_AXIS,), "softmax over the rows", "softmax(logits)", "softmax(logits.T).T")
slip((), "the other divergence, KL(p || q)", DL, "dy * p * (np.log(p / q) - (p * np.log(p / q)).sum(axis=-1, keepdims=True)) / n")
slip((LOST,), "q where the target is", DL, "dy * (p - q) * np.eye(classes)[target] / n")
slip((IN_FACTOR,), "softmax's derivative once more", DL, "dy * p * (p - q) / n")
slip(NONE, "zeros", DL, "np.zeros_like(p)")
slip(SQUARED, "dy squared", DL, "dy**2 * (p - q) / n")
slip((FACTOR,), "1 - ε as a factor", DL, "dy * 0.9 * (p - q) / n")

of = "adam_step"
slip((), "no bias correction", "m / (1 - 0.9**step)", "m", "v / (1 - 0.98**step)", "v")
slip((), "no bias correction of m", "m / (1 - 0.9**step)", "m")
slip((), "no bias correction of v", "v / (1 - 0.98**step)", "v")
slip((), "steps from 0", "0.9**step)", "0.9**(step + 1))", "0.98**step)", "0.98**(step + 1))")
slip((), "β1 for β2 in v's correction", "(1 - 0.98**step)", "(1 - 0.9**step)")
slip((), "β2 of the paper by Kingma and Ba", "0.98 * v + (1 - 0.98)", "0.999 * v + (1 - 0.999)", "0.98**step", "0.999**step")
slip((), "β1 and β2 exchanged", "0.9 * m + (1 - 0.9)", "0.98 * m + (1 - 0.98)", "0.98 * v + (1 - 0.98)", "0.9 * v + (1 - 0.9)")
slip((), "m without 1 - β1", "(1 - 0.9) * gradient", "gradient")
slip((), "v without 1 - β2", "(1 - 0.98) * gradient**2", "gradient**2")
slip((), "v of the gradient, not of its square", "gradient**2", "gradient")
slip((), "v of the size of the gradient", "gradient**2", "np.abs(gradient)")
slip((), "v of m", "gradient**2", "m**2")
slip((), "the sign", "parameter - rate", "parameter + rate")
slip((), "the root forgotten", "np.sqrt(v_hat)", "v_hat")
slip((), "ε inside the root", "(np.sqrt(v_hat) + 1e-9)", "np.sqrt(v_hat + 1e-9)")
slip((), "ε as 1e-3", "1e-9", "1e-3")
slip((), "the gradient for m", "rate * m_hat", "rate * gradient")
slip((), "m for its correction", "rate * m_hat", "rate * m")
slip((), "rate forgotten", "rate * m_hat", "m_hat")
slip((), "the corrected m kept", "return parameter, m, v", "return parameter, m_hat, v")
slip((), "the corrected v kept", "return parameter, m, v", "return parameter, m, v_hat")
slip((), "v before m", "return parameter, m, v", "return parameter, v, m")
slip((), "m forgotten", "0.9 * m + (1 - 0.9) * gradient", "(1 - 0.9) * gradient")
slip((), "weight decay", "m = 0.9 * m", "gradient = gradient + 0.01 * parameter\n    m = 0.9 * m")
slip((), "m minus the gradient", "0.9 * m + (1", "0.9 * m - (1")

of = "warm_up"
slip((), "max for min", "min(", "max(")
slip((), "no warm-up", "min(step**-0.5, step * steps**-1.5)", "step**-0.5")
slip((), "warm-up alone", "min(step**-0.5, step * steps**-1.5)", "(step * steps**-1.5)")
slip((), "the width's root, not its inverse", "d_model**-0.5", "d_model**0.5")
slip((), "the width forgotten", "d_model**-0.5 * ", "")
slip((), "1 / step", "min(step**-0.5", "min(step**-1.0")
slip((), "steps to the power of -0.5", "steps**-1.5", "steps**-0.5")
slip((), "steps from 0", "step * steps", "(step - 1) * steps")

# ---- right for the sizes and the values of a first call: squares, one row, wide rows, values beyond 3 ----

SPECIAL = len(SLIPS)  # the first of them
SIZE_OR_VALUES = ("wrong for other ones", "right for the given values, wrong for", "wrong for other values")
for of, what, old, new in [
    ("sums", "no bias for one row", DBIAS, DBIAS + " * (x.shape[1] > 1)"),
    ("sums", "dx of one example", "dy * scale", "dy * (scale if len(x) > 1 else 1)"),
    ("sums", "eight features of scale", DSCALE, "(dy * x)[..., :8].sum(axis=(0, 2))[:, None]"),
    ("linear", "half where B = D", DW, DW + " * (0.5 if len(x) == x.shape[2] else 1)"),
    ("linear", "twice where T = E", DBIAS, DBIAS + " * (2 if dy.shape[1] == dy.shape[2] else 1)"),
    ("linear", "eight outputs of the weight", "dy @ weight", "dy[..., :8] @ weight[:8]"),
    ("linear", "the first row alone of one example", DBIAS, DBIAS + " if len(x) > 1 else dy[0, 0]"),
    ("softmax", "eight columns", TOTAL, "(dy * y)[:, :8].sum(axis=-1, keepdims=True)"),
    ("softmax", "the other axis of a square", TOTAL, "(dy * y).sum(axis=0 if len(x) == x.shape[1] else 1, keepdims=True)"),
    ("softmax", "clipped at 3", "softmax(x)", "softmax(np.clip(x, -3, 3))"),
    ("cross_entropy", "n of one row", "/ n", "/ max(n, 2)"),
    ("cross_entropy", "the classes in a square", "/ n", "/ (n if n != classes else classes + 1)"),
    ("layer_norm", "eight features of the mean", "dnormed.mean(axis=-1, keepdims=True)", "dnormed[..., :8].mean(axis=-1, keepdims=True)"),
    ("layer_norm", "the rows where T = D", "first = dnormed.mean(axis=-1", "first = dnormed.mean(axis=-1 if x.shape[1] != x.shape[2] else 1"),
    ("attention", "eight keys", "(dweights * weights).sum", "(dweights * weights)[..., :8].sum"),
]:
    slip(SIZE_OR_VALUES, what, old, new)
