"""GradBench's evaluations in JAX and in PyTorch, by the formulas of the files beside it: peers.py jax|torch

It answers the protocol's messages as glim_gradbench does. Each function runs once before it is timed, so that a
compilation of JAX is not counted.
"""
import json
import math
import sys
import time

import numpy as np

NAME = sys.argv[1]
if NAME == "jax":
    import jax
    import jax.numpy as xp

    jax.config.update("jax_enable_x64", True)
    array, stop, sigmoid, lse = xp.asarray, jax.lax.stop_gradient, jax.nn.sigmoid, jax.nn.logsumexp
    jacrev, jacfwd, vmap, take = jax.jacrev, jax.jacfwd, jax.vmap, lambda x, i: x[i]

    def scan(step, state, xs=None, length=None):
        return jax.lax.scan(step, state, xs, length)

    def compiled(f):
        jitted = jax.jit(f)
        return lambda *z: jax.block_until_ready(jitted(*z))

    def gradient(f):
        return lambda *z: jax.grad(f, tuple(range(len(z))))(*z)

    def hessian_diagonal(f, z):  # its gradient, and its Hessian times ones: the diagonal, if that is all it has
        return jax.jvp(jax.grad(f), (z,), (xp.ones_like(z),))
else:
    import torch
    import torch as xp

    torch.set_num_threads(1)
    array, stop, sigmoid, lse = torch.as_tensor, torch.Tensor.detach, torch.sigmoid, torch.logsumexp
    jacrev, jacfwd, vmap, take = torch.func.jacrev, torch.func.jacfwd, torch.vmap, lambda x, i: x[i]

    def scan(step, state, xs=None, length=None):
        ys = []
        for x in xs if length is None else [None] * length:
            state, y = step(state, x)
            ys.append(y)
        return state, torch.stack(ys) if ys[0] is not None else None

    def compiled(f):
        return f

    def gradient(f):
        def g(*z):
            z = [part.detach().requires_grad_() for part in z]
            return torch.autograd.grad(f(*z), z)
        return g

    def hessian_diagonal(f, z):
        z = z.detach().requires_grad_()
        g, = torch.autograd.grad(f(z), z, create_graph=True)
        return g, torch.autograd.grad(g.sum(), z)[0]


def arrays(inputs, *names):
    return [array(np.array(inputs[name], float)) for name in names]


def first(outputs):
    return lists(outputs[0])


def lists(x):
    return np.asarray(x.detach() if NAME == "torch" else x).tolist()


def scalar(names, f, z, write=first):
    """The functions of f(*z), a number: its value and its gradients."""
    return {names[0]: (compiled(f), z, lists), names[1]: (compiled(gradient(f)), z, write)}


def hello(inputs):
    return scalar(("square", "double"), lambda x: x * x, [array(np.array(inputs, float))])


def lse_(inputs):
    def f(x):
        a = stop(xp.max(x))
        return a + xp.log(xp.exp(x - a).sum())
    return scalar(("primal", "gradient"), f, arrays(inputs, "x"))


def gmm(inputs):
    d, k, n, m, gamma = (inputs[name] for name in ("d", "k", "n", "m", "gamma"))
    x, = arrays(inputs, "x")
    place = np.full((d, d), d * (d - 1) // 2 + d)  # in [l, e^q, 0]
    place[np.triu_indices(d, 1)[::-1]] = range(d * (d - 1) // 2)
    place[np.diag_indices(d)] = d * (d - 1) // 2 + np.arange(d)
    place, zero = array(place.ravel()), array(np.zeros((k, 1)))
    p = d + m + 1
    constant = k * (p * d * (math.log(gamma) - math.log(2) / 2) - d * (d - 1) / 4 * math.log(math.pi)
                    - sum(math.lgamma((p - j) / 2) for j in range(d))) - n * d / 2 * math.log(2 * math.pi)

    def f(alpha, mu, q, l):
        Q = xp.concatenate([l, xp.exp(q), zero], 1)[:, place].reshape(k, d, d)
        y = x @ Q.reshape(k * d, d).T - (Q @ mu[:, :, None]).reshape(k * d)
        terms = alpha + q.sum(1) - (y.reshape(n, k, d)**2).sum(2) / 2
        prior = gamma**2 / 2 * (Q * Q).sum() - m * q.sum()
        return constant + lse(terms, 1).sum() - n * lse(alpha, 0) - prior
    names = "alpha", "mu", "q", "l"
    return scalar(("objective", "jacobian"), f, arrays(inputs, *names), lambda g: dict(zip(names, map(lists, g))))


def kmeans(inputs):
    points, centroids = arrays(inputs, "points", "centroids")

    def f(c):
        nearest = xp.argmin((c * c).sum(1) - 2 * points @ stop(c).T, 1)
        return ((points - take(c, nearest))**2).sum()

    def direction(c):
        g, h = hessian_diagonal(f, c)
        return g / h
    return {"cost": (compiled(f), [centroids], lists), "dir": (compiled(direction), [centroids], lists)}


def llsq(inputs):
    n, m = inputs["n"], len(inputs["x"])
    t = array(np.linspace(-1, 1, n))
    powers = (lambda: xp.vander(t, m, increasing=True))
    return scalar(("primal", "gradient"), lambda x: ((xp.sign(t) - powers() @ x)**2).sum() / 2, arrays(inputs, "x"))


def det(inputs):
    n = inputs["ell"]
    columns, left = [], np.arange(n).reshape(1, n)  # of a tree: a node's children are next to each other
    for width in range(n, 0, -1):
        columns.append(array(left))
        others = np.array([[k for k in range(width) if k != j] for j in range(width)], int)
        left = left[:, others].reshape(len(left) * width, width - 1)
    signs = array((-1.0)**np.arange(n))

    def f(a):
        minors = array(np.ones(len(columns[-1])))
        for row, selected in zip(list(a.reshape(n, n))[::-1], columns[::-1]):
            minors = (row[selected] * signs[:selected.shape[1]] * minors.reshape(selected.shape)).sum(1)
        return minors[0]
    return scalar(("primal", "gradient"), f, arrays(inputs, "A"), first)


def ode(inputs):
    one, s = array(np.ones(1)), inputs["s"]

    def f(x):
        slope = lambda y: x * xp.concatenate([one, y[:-1]])

        def step(y, _):
            k1 = slope(y)
            k2 = slope(y + k1 / s)
            k3 = slope(y + k2 / s)
            return y + (k1 + 2 * k2 + 2 * k3 + slope(y + 2 / s * k3)) / (3 * s), None
        return scan(step, 0 * x, length=s)[0]
    x = arrays(inputs, "x")
    return {"primal": (compiled(f), x, lists), "gradient": (compiled(gradient(lambda x: f(x)[-1])), x, first)}


def lstm(inputs):
    main, extra, start, sequence = arrays(inputs, "main_params", "extra_params", "state", "sequence")
    layers, bits = len(main) // 2, len(extra[0])

    def f(main, extra):
        main, (w_in, w_out, b_out) = main.reshape(layers, 2, 4, bits), extra

        def step(state, x):
            following = []
            for ((wf, wi, wo, wc), (bf, bi, bo, bc)), (h, c) in zip(main, state):
                c = c * sigmoid(x * wf + bf) + sigmoid(h * wi + bi) * xp.tanh(h * wc + bc)
                x = sigmoid(x * wo + bo) * xp.tanh(c)
                following.append((x, c))
            return following, x
        h = scan(step, [(start[2 * i], start[2 * i + 1]) for i in range(layers)], sequence[:-1] * w_in)[1]
        y = h * w_out + b_out
        y = y - xp.log(2 + xp.exp(y).sum(1))[:, None]
        return -(sequence[1:] * y).mean()
    return scalar(("objective", "jacobian"), f, [main, extra],
                  lambda g: [number for part in g for row in lists(part) for number in row])


def ba(inputs):
    cam, x, w, feat = (array(np.tile(np.array(inputs[name], float), (inputs["p"], 1))) for name in ("cam", "x", "w", "feat"))
    z = xp.concatenate([cam, x, w], 1)  # a row for each observation: all have the same camera and point

    def residual(z, feat):
        rotation, x, w = z[:3], z[11:14] - z[3:6], z[14]
        square = (rotation * rotation).sum()
        angle = xp.sqrt(square)
        x = (xp.cos(angle) * x + xp.sin(angle) / angle * xp.linalg.cross(rotation, x)
             + (1 - xp.cos(angle)) / square * (rotation * x).sum() * rotation)
        x = x[:2] / x[2]
        r = (x * x).sum()
        return w * (z[6] * x * (1 + z[9] * r + z[10] * r * r) + z[7:9] - feat)

    def jacobian(z):
        return vmap(jacrev(residual))(z, feat).reshape(len(z), 30), -2 * z[:, 14]
    residuals = lambda z: (vmap(residual)(z, feat), 1 - z[:, 14]**2)
    return {"objective": (compiled(residuals), [z], lambda o: {
        "reproj_error": {"elements": lists(o[0][0]), "repeated": len(z)}, "w_err": {"element": lists(o[1][0]), "repeated": len(z)}}),
        "jacobian": (compiled(jacobian), [z], lambda o: {"vals": lists(o[0][0]) + [lists(o[1][0])]})}


def ht(inputs):
    model, corners = inputs["data"]["model"], np.array(inputs["data"]["correspondences"])
    bones, count, us = model["bone_count"], len(corners), bool(inputs["us"])
    corners = np.array(model["triangles"])[corners].T.ravel() if us else corners
    relative, inverse = arrays(model, "base_relatives", "inverse_base_absolutes")
    points, = arrays(inputs["data"], "points")
    # Σ_b w_b T_b p is linear in the transforms: a row of w_b p for each vertex.
    weights = np.array(model["weights"])[corners]
    skin = array(np.einsum("vb,vk->vbk", weights, np.array(model["base_positions"])[corners]).reshape(len(corners), -1))
    levels = [[b for b in range(bones) if model["parents"][b] < 0]]
    while (below := [b for b in range(bones) if model["parents"][b] in levels[-1]]):
        levels.append(below)
    order = np.array([b for level in levels for b in level])
    place = np.full((bones, 2), 20)  # of a bone's angles in theta[6:] and a zero
    place[np.add.outer(4 * np.arange(5), [2, 2, 3, 4]), [0, 1, 0, 0]] = np.arange(20).reshape(5, 4)
    zero, relative, inverse = array(np.zeros(1)), relative[order], inverse[order]
    skin = skin.reshape(-1, bones, 4)[:, order].reshape(len(corners), -1)
    place = array(place[order])

    def turned(cos, sin):  # angles about x, then about z
        (cx, cz), (sx, sz), o, i = cos.T, sin.T, 0 * cos[:, 0], 1 + 0 * cos[:, 0]
        return xp.stack([cz, -sz * cx, sz * sx, o, sz, cz * cx, -cz * sx, o, o, sx, cx, o, o, o, o, i], 1).reshape(-1, 4, 4)

    def f(theta, us):
        angles = xp.concatenate([theta[6:], zero])[place]
        local, absolute, begin = relative @ turned(xp.cos(angles), xp.sin(angles)), [], 0
        for level in levels:
            found = local[begin:begin + len(level)]
            if absolute:
                up = array(np.array([above.index(model["parents"][b]) for b in level]))
                found = absolute[-1][up] @ found
            absolute, above, begin = absolute + [found], level, begin + len(level)
        transforms = (xp.concatenate(absolute, 0) @ inverse)[:, :3]
        x = skin @ xp.swapaxes(transforms, 1, 2).reshape(4 * bones, 3)
        rotation = theta[:3]
        angle = xp.sqrt((rotation * rotation).sum())
        axis = (rotation / angle).reshape(1, 3)
        x = (xp.cos(angle) * x + xp.sin(angle) * xp.linalg.cross(axis + 0 * x, x) + (1 - xp.cos(angle)) * (x @ axis.T) * axis) + theta[3:6]
        if len(us):
            a, b, c = x.reshape(3, count, 3)
            x = us[0][:, None] * a + us[1][:, None] * b + (1 - us[0] - us[1])[:, None] * c
        return (points - x).reshape(-1)

    def jacobian(theta, us):
        j = jacfwd(f)(theta, us)
        if not len(us):
            return j
        ones = [jacfwd(lambda s: f(theta, us + s * array(np.eye(2))[i][:, None]))(zero[0]) for i in range(2)]
        return xp.concatenate([xp.stack(ones, 1), j], 1)
    theta, = arrays(inputs, "theta")
    z = [theta, array(np.array(inputs["us"]).reshape(-1, 2).T.copy())]
    z[1] = z[1] if us else z[1][:0]
    return {"objective": (compiled(f), z, lists), "jacobian": (compiled(jacobian), z, lists)}


def derived(f, x):
    """∂f/∂x within another derivative: JAX's in forward mode, as its while_loop has no other; PyTorch's in reverse mode."""
    if NAME == "jax":
        return jacfwd(f)(x)
    x = x if x.requires_grad else x.detach().requires_grad_()
    return torch.autograd.grad(f(x), x, create_graph=True)[0]


def repeat(condition, step, state):
    if NAME == "jax":
        return jax.lax.while_loop(condition, step, state)
    while condition(state):
        state = step(state)
    return state


def choose(condition, a, b):
    return xp.where(condition, a, b) if NAME == "jax" else a if condition else b


def lowest(f, x):
    """GradBench's descent."""
    def length(v):
        return xp.sqrt(stop(v * v).sum())

    def step(state):
        x, y, g, rate, count, _ = state
        rate, count = choose(count == 10, 2 * rate, rate), choose(count == 10, 0, count)
        new = x - rate * g
        done, new_y = length(x - new) <= 1e-5, f(new)
        down = (new_y < y) & ~done
        chosen = choose(down, new, x)
        return (chosen, choose(down, new_y, y), derived(f, chosen), choose(down, rate, rate / 2), choose(down, count + 1, 0), done)
    start = x, f(x), derived(f, x), 1e-5, 0, array(False)
    return repeat(lambda s: (length(s[2]) > 1e-5) & ~s[5], step, start)[0]


def nested(f, x):
    return {"ff" if NAME == "jax" else "rr": (compiled(f), [x], lists)}


def particle(inputs):
    def landing(w):
        charges = array(np.array([[10.0, 10], [10, 0]])) - w * array(np.array([[0.0, 1], [0, 0]]))
        potential = lambda x: (1 / xp.sqrt(((x - charges)**2).sum(1))).sum()
        x, v = repeat(lambda s: stop(s[0] + 0.1 * s[1])[1] > 0, lambda s: (s[0] + 0.1 * s[1], s[1] - 0.1 * derived(potential, s[0])),
                      (array(np.array([0.0, 8])), array(np.array([0.75, 0]))))
        return (x[0] - x[1] / v[1] * v[0])**2
    return nested(lambda w: lowest(landing, w), arrays(inputs, "w")[0])


def saddle(inputs):
    f = lambda x, y: (x * x).sum() - (y * y).sum()

    def run(start):
        highest = lambda x: lowest(lambda y: -f(x, y), start)
        x = lowest(lambda x: f(x, highest(x)), start)
        return xp.concatenate([x, highest(x)])
    return nested(run, arrays(inputs, "start")[0])


EVALUATIONS = {"hello": hello, "lse": lse_, "gmm": gmm, "kmeans": kmeans, "llsq": llsq, "det": det, "ode": ode, "lstm": lstm, "ba": ba, "ht": ht,
               "particle": particle, "saddle": saddle}
if NAME == "torch":
    del EVALUATIONS["particle"]  # it takes more than four minutes


def evaluated(message):
    inputs = message["input"]
    repeats = inputs if isinstance(inputs, dict) else {}
    functions = EVALUATIONS[message["module"]](inputs)
    if message["function"] not in functions:
        raise NotImplementedError(f"{NAME} has no {message['function']} here")
    compute, z, write = functions[message["function"]]
    result, times = compute(*z), []
    while len(times) < repeats.get("min_runs", 1) or sum(times) < 1e9 * repeats.get("min_seconds", 0):
        start = time.perf_counter_ns()
        result = compute(*z)
        times.append(time.perf_counter_ns() - start)
    return {"success": True, "output": write(result), "timings": [{"name": "evaluate", "nanoseconds": t} for t in times]}


def answer(message):
    if message["kind"] == "start":
        return {"tool": NAME}
    if message["kind"] == "define":
        return {"success": message["module"] in EVALUATIONS}
    try:
        return evaluated(message) if message["kind"] == "evaluate" else {}
    except Exception as e:
        return {"success": False, "error": f"{type(e).__name__}: {e}"}


for line in sys.stdin:
    message = json.loads(line)
    print(json.dumps({"id": message["id"], **answer(message)}), flush=True)
