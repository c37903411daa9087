"""The inputs of GradBench's evaluations, by its own distributions, seeds and sizes.

GradBench reads those of lstm, ba and ht from ADBench's files. Here they have the sizes of these files and random values.
workloads(NAME) yields (description, input) of each workload; small=True gives a few numbers each, for the test.
"""
import numpy as np

SEED = 31337  # GradBench's


def lists(x):
    return np.asarray(x).tolist()


def rounded(part):
    if isinstance(part, dict):
        return {name: rounded(inner) for name, inner in part.items()}
    return [rounded(inner) for inner in part] if isinstance(part, list) else round(part, 3) if isinstance(part, float) else part


def workloads(name, small=False):
    for description, inputs in globals()[name](small):
        yield description, rounded(inputs) if small else inputs


def hello(small):
    yield "x", 3.0


def lse(small):
    random = np.random.RandomState(SEED)
    for n in [7] if small else [2500 << i for i in range(10)]:
        yield f"n={n}", {"x": lists(random.rand(n))}


def gmm(small):
    sizes = [(d, k) for d in (2, 10, 20, 32, 64) for k in (5, 10, 25, 50, 100)]
    for d, k in [(3, 2)] if small else sorted(sizes, key=lambda s: s[0] * s[1]):
        n = 5 if small else 1000
        random = np.random.default_rng(SEED)
        yield f"d={d},k={k},n={n}", {
            "d": d, "k": k, "n": n, "x": lists(random.normal(size=(n, d))), "m": 0, "gamma": 1.0,
            "mu": lists(random.uniform(size=(k, d))), "q": lists(random.normal(size=(k, d))),
            "l": lists(random.normal(size=(k, d * (d - 1) // 2))), "alpha": lists(random.normal(size=k))}


def kmeans(small):
    random = np.random.RandomState(SEED)
    sizes = [(k, n, d) for k in (10, 100, 1000) for n in (1000, 10000) for d in (8, 16)]
    for k, n, d in [(3, 9, 2)] if small else sorted(sizes, key=np.prod):
        points = lists(random.rand(n, d))
        yield f"k={k},n={n},d={d}", {"points": points, "centroids": points[-k:]}  # each is nearest to one


def llsq(small):
    random = np.random.RandomState(SEED)
    m = 4 if small else 128
    for n in [6] if small else [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8196, 16392]:
        yield f"n={n},m={m}", {"x": lists(random.rand(m)), "n": n}


def det(small):
    random = np.random.RandomState(SEED)
    for size in [4] if small else range(5, 12):
        yield f"l={size}", {"A": lists(random.rand(size * size)), "ell": size}


def lstm(small):
    random = np.random.RandomState(SEED)
    bits = 3 if small else 14  # of a character's code
    for layers, length in [(2, 6)] if small else [(l, c) for l in (2, 4) for c in (1024, 4096)]:
        yield f"l={layers},c={length}", {
            "main_params": lists(random.rand(2 * layers, 4 * bits)), "extra_params": lists(random.rand(3, bits)),
            "state": lists(random.rand(2 * layers, bits)),
            "sequence": lists(random.randint(2, size=(length, bits)).astype(float))}


def ode(small):
    random = np.random.RandomState(SEED)
    sizes = [(n, s) for n in (1000, 10000, 100000) for s in (1, 10, 100)]
    for n, s in [(4, 3)] if small else sorted(sizes, key=np.prod):
        yield f"n={n},s={s}", {"x": lists(random.rand(n)), "s": s}


def ba(small):
    random = np.random.RandomState(SEED)
    for n, m, p in [(2, 3, 5)] if small else [(49, 7776, 31843), (21, 11315, 36455)]:
        rotation, centre, distortion = random.normal(size=3), random.normal(size=3), random.normal(size=2) / 10
        yield f"n={n},m={m},p={p}", {
            "n": n, "m": m, "p": p, "cam": lists([*rotation, *centre, 400, *random.normal(size=2), *distortion]),
            "x": lists(random.normal(size=3) + centre + [0, 0, 5]), "w": random.rand(), "feat": lists(random.normal(size=2))}


def ht(small):
    # A hand has a wrist, five fingers of four bones, and a forearm; each vertex moves with up to four bones.
    random = np.random.RandomState(SEED)
    parents = [-1] + [b for finger in range(5) for b in (0, *range(4 * finger + 1, 4 * finger + 4))] + [0]
    bones = len(parents)
    sizes = [(us, v, c) for us in (False, True) for v in (544, 10000) for c in (100, 192)]
    for us, vertices, count in [(False, 6, 3), (True, 6, 2)] if small else sizes:
        weights = np.zeros((vertices, bones))
        for row in weights:
            row[random.choice(bones, 4, replace=False)] = random.dirichlet(np.ones(4))
        matrices = np.tile(np.eye(4), (2, bones, 1, 1))
        matrices[:, :, :3] += 0.3 * random.normal(size=(2, bones, 3, 4))
        positions = np.hstack([random.normal(size=(vertices, 3)), np.ones((vertices, 1))])
        triangles = random.randint(vertices, size=(2 * vertices, 3))
        model = {"bone_count": bones, "bone_names": [f"bone{b}" for b in range(bones)], "parents": parents,
                 "base_relatives": lists(matrices[0]), "inverse_base_absolutes": lists(matrices[1]),
                 "base_positions": lists(positions), "weights": lists(weights), "triangles": lists(triangles),
                 "is_mirrored": False}
        correspondences = random.randint(len(triangles) if us else vertices, size=count)
        yield f"us={us},v={vertices},c={count}", {
            "theta": lists(random.normal(size=26)), "us": lists(random.rand(count, 2)) if us else [],
            "data": {"model": model, "correspondences": lists(correspondences), "points": lists(random.normal(size=(count, 3)))}}


def particle(small):
    yield "w=0", {"w": 0.15 if small else 0.0}


def saddle(small):
    yield "start=1", {"start": [1.0, 1.0]}
