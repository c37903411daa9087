"""Values and derivatives of GradBench's evaluations in NumPy, written from the definitions and independent of autograd.

A derivative is a complex step, f'(x) v = Im f(x + ihv) / h with h = 1e-30, exact to rounding, for as many directions v
as asked for; or a closed form. reference.py prints the golden values of the test: small inputs and their outputs.
"""
import json
import math

import numpy as np

from workloads import workloads

STEP = 1e-30


def log_sum_exp(x, axis=-1):
    top = x.real.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + top.squeeze(axis)


def lse(x, inputs):
    return log_sum_exp(x)


def gmm(z, inputs):
    d, k, n, m, gamma = (inputs[name] for name in ("d", "k", "n", "m", "gamma"))
    x, below = np.array(inputs["x"]), d * (d - 1) // 2
    alpha, mu, q, l = np.split(z, np.cumsum([k, k * d, k * d]))
    mu, q, l = mu.reshape(k, d), q.reshape(k, d), l.reshape(k, below)
    terms, prior = [], 0
    for c in range(k):
        Q = np.diag(np.exp(q[c]))
        Q[np.triu_indices(d, 1)[::-1]] = l[c]  # column by column below the diagonal
        terms.append(alpha[c] + q[c].sum() - ((x - mu[c]) @ Q.T)**2 @ np.ones(d) / 2)
        prior += gamma**2 * (Q**2).sum() / 2 - m * q[c].sum()
    p = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma((p - j) / 2) for j in range(d))
    constant = k * (p * d * (math.log(gamma) - math.log(2) / 2) - log_gamma) - n * d / 2 * math.log(2 * math.pi)
    return constant + log_sum_exp(np.array(terms).T).sum() - n * log_sum_exp(alpha) - prior


def llsq(x, inputs):
    t = np.linspace(-1, 1, inputs["n"])
    return ((np.sign(t) - np.polyval(x[::-1], t))**2).sum() / 2


def det(a, inputs):
    return np.linalg.det(a.reshape(inputs["ell"], -1))


def lstm(z, inputs):
    main, extra, state = (np.array(inputs[name]) for name in ("main_params", "extra_params", "state"))
    main, (w_in, w_out, b_out) = z[:main.size].reshape(main.shape), z[main.size:].reshape(extra.shape)
    sigmoid = lambda a: 1 / (1 + np.exp(-a))
    state, total = [*state.astype(complex)], 0
    for now, after in zip(inputs["sequence"], inputs["sequence"][1:]):
        x = now * w_in
        for layer in range(0, len(state), 2):
            (wf, wi, wo, wc), (bf, bi, bo, bc) = main[layer].reshape(4, -1), main[layer + 1].reshape(4, -1)
            h, c = state[layer:layer + 2]
            c = c * sigmoid(x * wf + bf) + sigmoid(h * wi + bi) * np.tanh(h * wc + bc)
            x = sigmoid(x * wo + bo) * np.tanh(c)
            state[layer:layer + 2] = x, c
        y = x * w_out + b_out
        total += np.dot(after, y - np.log(2 + np.exp(y).sum()))
    return -total / (len(inputs["sequence"]) - 1) / len(w_in)


def ode(x, inputs):
    y, h = 0 * x, 2 / inputs["s"]
    f = lambda y: x * np.concatenate([[1], y[:-1]])
    for _ in range(inputs["s"]):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))
    return y


def rotation_matrix(axis, angle):
    K = np.cross(np.eye(3), axis)  # K v = axis × v
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def ba(z, inputs):
    rotation, centre, f, principal, distortion, x, w = np.split(z, [3, 6, 7, 9, 11, 14])
    angle = np.sqrt((rotation**2).sum())
    x = rotation_matrix(rotation / angle, angle) @ (x - centre)
    x = x[:2] / x[2]
    r = (x**2).sum()
    projected = f * x * (1 + distortion[0] * r + distortion[1] * r**2) + principal
    return np.concatenate([w * (projected - inputs["feat"]), 1 - w**2])


def ht(z, inputs):
    model = inputs["data"]["model"]
    theta, us = z[:26], z[26:].reshape(-1, 2)
    angles, turns = np.zeros((model["bone_count"], 2), complex), iter(theta[6:])
    for finger in range(5):
        for bone, axis in ((2, 0), (2, 1), (3, 0), (4, 0)):
            angles[4 * finger + bone, axis] = next(at)
    absolute, position = [], np.array(model["base_positions"])
    moved = np.zeros((len(position), 3), complex)
    for bone, parent in enumerate(model["parents"]):
        turn = np.eye(4, dtype=complex)
        turn[:3, :3] = rotation_matrix([0, 0, 1], angles[bone, 1]) @ rotation_matrix([1, 0, 0], angles[bone, 0])
        relative = model["base_relatives"][bone] @ turn
        absolute.append(relative if parent < 0 else absolute[parent] @ relative)
        at_bone = position @ (absolute[bone] @ model["inverse_base_absolutes"][bone]).T
        moved += np.array(model["weights"])[:, bone, None] * at_bone[:, :3]
    angle = np.sqrt((theta[:3]**2).sum())
    moved = moved @ rotation_matrix(theta[:3] / angle, angle).T + theta[3:6]
    chosen = inputs["data"]["correspondences"]
    if len(us):
        a, b, c = moved[np.array(model["triangles"])[chosen].T]
        found = us[:, :1] * a + us[:, 1:] * b + (1 - us.sum(axis=1, keepdims=True)) * c
    else:
        found = moved[chosen]
    return (inputs["data"]["points"] - found).ravel()


def descend(f, gradient, x):
    """GradBench's gradient descent: the step doubles after ten that went down, and halves after one that did not."""
    y, g, eta, count = f(x), gradient(x), 1e-5, 0
    while np.linalg.norm(g) > 1e-5:
        if count == 10:
            eta, count = 2 * eta, 0
        following = x - eta * g
        if np.linalg.norm(x - following) <= 1e-5:
            break
        if (smaller := f(following)) < y:
            x, y, g, count = following, smaller, gradient(following), count + 1
        else:
            eta, count = eta / 2, 0
    return x


def particle(inputs):
    def landing(w):
        charges = np.array([[10, 10 - w], [10, 0]])
        x, v, step = np.array([0, 8], w.dtype), np.array([0.75, 0], w.dtype), 0.1
        while True:
            apart = x - charges
            v_next = v + step * (apart / ((apart**2).sum(axis=1, keepdims=True))**1.5).sum(axis=0)
            following = x + step * v
            if following[1].real <= 0:
                return (x[0] - x[1] / v[1] * v[0])**2
            x, v = following, v_next
    slope = lambda w: np.array([landing(w[0] + 1j * STEP).imag / STEP])
    return descend(lambda w: landing(w[0]), slope, np.array([inputs["w"]]))[0]


def saddle(inputs):
    # max over y of |x|² - |y|², by descent from the start: y does not depend on x.
    start = np.array(inputs["start"])
    y = descend(lambda y: y @ y, lambda y: 2 * y, start)
    x = descend(lambda x: x @ x - y @ y, lambda x: 2 * x, start)
    return [*x, *y]


# The functions of each evaluation: values first, then derivatives.
FUNCTIONS = {
    "hello": ("square", "double"), "gmm": ("objective", "jacobian"), "lse": ("primal", "gradient"),
    "kmeans": ("cost", "dir"), "llsq": ("primal", "gradient"), "ode": ("primal", "gradient"),
    "lstm": ("objective", "jacobian"), "ba": ("objective", "jacobian"), "ht": ("objective", "jacobian"),
    "det": ("primal", "gradient"), "particle": ("rr", "ff", "fr", "rf"), "saddle": ("rr", "ff", "fr", "rf")}
# The variables that the derivative of each evaluation is by.
VARIABLES = {
    "lse": ["x"], "gmm": ["alpha", "mu", "q", "l"], "llsq": ["x"], "det": ["A"], "lstm": ["main_params", "extra_params"],
    "ode": ["x"], "ba": ["cam", "x", "w"], "ht": ["theta", "us"]}


def flat(lists):
    return np.concatenate([np.ravel(part) for part in lists])


def variables(name, inputs):
    return flat(inputs[v] for v in VARIABLES[name])


def along(name, inputs, direction):
    """f'(x) v."""
    return globals()[name](variables(name, inputs) + 1j * STEP * direction, inputs).imag / STEP


def nearest(inputs):
    points, centroids = np.array(inputs["points"]), np.array(inputs["centroids"])
    # In rows: all distances at once take gigabytes.
    return points, centroids, np.array([((p - centroids)**2).sum(axis=1).argmin() for p in points])


def value(name, inputs):
    """The output of an evaluation's first function."""
    if name == "hello":
        return inputs * inputs
    if name in ("particle", "saddle"):
        return globals()[name](inputs)
    if name == "kmeans":
        points, centroids, labels = nearest(inputs)
        return ((points - centroids[labels])**2).sum()
    y = globals()[name](variables(name, inputs).astype(complex), inputs).real
    if name == "ba":
        return {"reproj_error": {"elements": y[:2].tolist(), "repeated": inputs["p"]},
                "w_err": {"element": y[2], "repeated": inputs["p"]}}
    return y


def derivative(name, inputs):
    """The output of its second function. That of ba has rows and columns beside its values."""
    if name == "hello":
        return 2 * inputs
    if name in ("particle", "saddle"):
        return globals()[name](inputs)
    if name == "kmeans":  # J/H = 2 Σ (c - p) / (2 Σ 1): a centroid less its points' mean
        points, centroids, labels = nearest(inputs)
        return centroids - [points[labels == c].mean(axis=0) for c in range(len(centroids))]
    basis = np.eye(len(variables(name, inputs)))
    if name == "ht":  # before theta's columns each row's own two of us
        us = [np.concatenate([np.zeros(26), np.tile(u, len(inputs["us"]))]) for u in np.eye(2)]
        return np.array([along(name, inputs, v) for v in [*(us if inputs["us"] else []), *basis[:26]]]).T
    columns = np.array([along(name, inputs, e) for e in basis])
    if name == "ba":  # an observation's two rows of 15, and the weight's own derivative
        return {"vals": [*columns[:, :2].T.ravel(), columns[-1, 2]]}
    if name == "gmm":
        parts, shapes = VARIABLES[name], [np.shape(inputs[v]) for v in VARIABLES[name]]
        ends = np.cumsum([np.prod(s, dtype=int) for s in shapes])
        return {v: part.reshape(s).tolist() for v, s, part in zip(parts, shapes, np.split(columns, ends))}
    return columns[:, -1] if name == "ode" else columns


def error(found, expected):
    """GradBench's |a - b| / max(1, |a| + |b|), the largest. GradBench accepts 1e-4."""
    if isinstance(expected, dict):
        return max(error(found[key], part) for key, part in expected.items())
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return math.inf
    return float(np.max(abs(found - expected) / np.maximum(1, abs(found) + abs(expected)), initial=0))


def checked(name, function, inputs):
    """A function of an output: its error. A gradient of many numbers is compared along two random directions."""
    sampled = function in FUNCTIONS[name][1:] and name in VARIABLES and name not in ("ba", "ht")
    if not sampled:
        expected = (derivative if function in FUNCTIONS[name][1:] else value)(name, inputs)
        return lambda output: error(output, expected)
    directions = np.random.RandomState(0).normal(size=(2, len(variables(name, inputs))))
    expected = [np.ravel(along(name, inputs, v))[-1] for v in directions]  # of ode's last

    def of_gradient(output):
        g = flat(output[v] for v in VARIABLES[name]) if name == "gmm" else np.array(output)
        return np.max(abs(directions @ g - expected)) / max(1, np.linalg.norm(g))
    return of_gradient


if __name__ == "__main__":
    golden = [{"module": name, "function": function, "input": inputs, "output": compute(name, inputs)}
              for name in FUNCTIONS for _, inputs in workloads(name, small=True)
              for function, compute in zip(FUNCTIONS[name], (value, *[derivative] * 3))
              if (name, function) not in (("particle", "ff"), ("particle", "rf"))]  # they take ten seconds
    print("[" + ",\n".join(json.dumps(g, default=np.ndarray.tolist) for g in golden) + "]")
