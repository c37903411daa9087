"""The importer's rules of ops: every argument of an op is used or refused, and kinks have PyTorch's derivatives."""
import dis

import pytest

import glim

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

from glim.torch_models import ops  # noqa: E402
from glim.torch_models.ops import rules  # noqa: E402
from suites.count import Skip  # noqa: E402
from suites.imported import compare  # noqa: E402

OF_PYTHON = {"getitem", "grouped_mm_fallback"}  # no op of ATen
OVERLOADS = {name: getattr(getattr(torch.ops.aten, name.split(".")[0]), (name + ".default").split(".")[1])
             for name in ops.OPS if name not in OF_PYTHON}
def another(argument):
    """A value that is not the default of an argument of a schema."""
    kind = str(argument.type).removeprefix("Optional[").removesuffix("]")
    return not rules.NEUTRAL.get(argument.name, argument.default_value) if kind == "bool" else {"int": 7, "float": 0.25, "number": 0.25, "str": "other", "Tensor": torch.ones(1)}.get(kind, [7])


@pytest.mark.parametrize("name", OVERLOADS)
def test_an_argument_without_use_is_refused(name):
    """Each argument of the schema that the rule does not take: another value than its default is refused before anything else."""
    target, (operands, names) = OVERLOADS[name], rules.parameters(ops.OPS[name])
    for k, argument in enumerate(target._schema.arguments):
        if not (k < operands and not argument.kwarg_only or argument.name in names or argument.name in rules.WITHOUT_INFLUENCE):
            values = {a.name: another(a) if a is argument else a.default_value for a in target._schema.arguments}
            with pytest.raises(glim.ValueError, match=f"with {argument.name}="):
                rules.rule(target)(**values)


@pytest.mark.parametrize("name", OVERLOADS)
def test_a_parameter_is_read(name):
    """A parameter of a rule that its code never loads would be swallowed; each names an argument of an overload of the rule."""
    f = ops.OPS[name]
    names = rules.parameters(f)[1]
    schemas = {a.name for other, target in OVERLOADS.items() if ops.OPS[other] is f for a in target._schema.arguments}
    assert set(names) <= schemas
    code = getattr(getattr(f, "__wrapped__", f), "__code__", None)
    if code is not None:
        loaded = {i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD")}
        assert set(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]) <= loaded


def test_an_argument_without_influence_changes_no_value():
    """Names of WITHOUT_INFLUENCE are in schemas of ops that have rules, or of those that are decomposed."""
    for name in ("sparse", "sparse_grad", "non_blocking", "memory_format", "cudnn_enable", "implicit", "momentum"):
        assert any(a.name == name for target in OVERLOADS.values() for a in target._schema.arguments), name


def normal(*shape, dtype=torch.float64, seed=1):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def points(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


INF = float("inf")
KINKS = points(0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -3, 6, 25, 60, -60)
ZEROS = points([0, 0, 0], [0, 1, 2], [3, 0, 0])
THREE, FOUR, SINGLE = normal(3, 4), normal(3, 2, 4, 4), normal(3, dtype=torch.float32)
HEADS, SCORES, LATER = normal(2, 3, 4, 5), normal(3, 4, 4, seed=2), torch.ones(2, 1, 4, 4).triu(1) > 0
IMAGES, VOLUMES = normal(2, 4, 6, 5), normal(2, 4, 5, 4, 3)

RIGHT = {
    # overloads
    "maximum of two": (lambda x: torch.max(x, torch.zeros_like(x)) + torch.min(x, x * 2), THREE),
    "bounds that are tensors": (lambda x, a, b: x.clamp(a, b) + x.clamp(min=a) + x.clamp(max=b), THREE, normal(4, seed=2), normal(3, 1, seed=3)),
    "powers": (lambda x: x ** 2 + 2 ** x + (x * x + 1) ** x + x ** 0, THREE),
    "alpha": (lambda x: torch.add(x, x, alpha=3) + torch.sub(x, 2, alpha=3) + torch.rsub(x, 2, alpha=3), THREE),
    # dtypes
    "a number does not widen": (lambda x, p: x * p + p - torch.where(x > 0, x, p), SINGLE, normal()),
    "a tensor widens": (lambda x, y: torch.maximum(x, y) + torch.cat([x, y]).sum(), SINGLE, normal(3, seed=2)),
    "dtypes of reductions": (lambda x: x.sum(dtype=torch.float64) * x.prod(dtype=torch.float64) + x.cumsum(0, dtype=torch.float64), SINGLE),
    "a norm in another dtype": (lambda x: x.norm(dtype=torch.float64), SINGLE),
    # writes
    "index_put": (lambda x, v: x.index_put((torch.tensor([0, 2]),), v) + torch.ops.aten.index_put(x, [None, torch.tensor([1])], v[:1, :1]), THREE, normal(2, 4, seed=2)),
    "index_put of a mask": (lambda x, v: x.index_put((torch.tensor([True, False, True]),), v), THREE, normal(seed=2)),
    "index_put that adds": (lambda x, v: x.index_put((torch.tensor([0, 0]),), v, True), THREE, normal(2, 4, seed=2)),
    "scatter": (lambda x, v: x.scatter(1, torch.tensor([[1], [0], [1]]), v) + x.scatter(0, torch.tensor([[1, 0]]), 2.5), THREE, normal(3, 1, seed=2)),
    "scatter that adds": (lambda x, v: x.scatter_add(1, torch.tensor([[1, 1], [0, 3], [0, 0]]), v).scatter_reduce(
        0, torch.tensor([[0, 1], [0, 0], [2, 2]]), v, "sum"), THREE, normal(3, 2, seed=2)),
    "scatters of views": (lambda x, v: x.select_scatter(v, 0, 1) + x.slice_scatter(v[None], 0, 0, 1) + x.diagonal_scatter(v[:3]), THREE, normal(4, seed=2)),
    "scatters of means": (lambda x, v: sum(x.scatter_reduce(1, torch.tensor([[1, 1], [0, 3], [0, 0]]), v, how, include_self=own)
                                           for how, own in (("mean", True), ("mean", False), ("sum", False))), THREE, normal(3, 2, seed=2)),
    "bags": (lambda w, scales: F.embedding_bag(torch.tensor([[2, 1], [0, 2]]), w, mode="sum", per_sample_weights=scales) + F.embedding_bag(
        torch.tensor([2, 1, 1, 0]), w, torch.tensor([0, 0, 4]), mode="mean", padding_idx=1, include_last_offset=True)
             + F.embedding_bag(torch.tensor([1, 1]), w, torch.tensor([0, 2])), THREE, normal(2, 2, seed=2)),
    "index_add": (lambda x, v: x.index_add(0, torch.tensor([1, 1]), v, alpha=2), THREE, normal(2, 4, seed=2)),
    # windows
    "transposed convolutions": (lambda x, w, b: torch.conv_transpose2d(x, w, b, 2, 1, 1, 2, 1) + torch.conv_transpose2d(
        x, w, b, 2, (1, 2), (1, 1), 2, (1, 3))[..., :12, :10], IMAGES, normal(4, 3, 3, 3, seed=2), normal(6, seed=3)),
    "transposed convolutions of sequences": (lambda x, w: F.conv_transpose1d(x[:, :, 0], w, None, 3, 2, 1), IMAGES, normal(4, 3, 4, seed=2)),
    "convolutions of volumes": (lambda x, w, b: F.conv3d(x, w, b, (2, 1, 1), 1, (1, 2, 1), 2), VOLUMES, normal(4, 2, 3, 2, 2, seed=2), normal(4, seed=3)),
    "adaptive pools": (lambda x: F.adaptive_max_pool2d(x, (2, 3)) + F.adaptive_max_pool1d(x[0], 3).sum() + F.adaptive_avg_pool2d(x, (2, 3)), IMAGES),
    "pools of volumes": (lambda x: F.max_pool3d(x, 2, 1), VOLUMES),
    "ceil_mode": (lambda x: F.avg_pool2d(x, (3, 2), (2, 3), (1, 0), ceil_mode=True, count_include_pad=False) + F.avg_pool2d(
        x, (3, 2), (2, 3), (1, 0), ceil_mode=True, divisor_override=5) + F.max_pool2d(x, (3, 2), (2, 3), (1, 0), ceil_mode=True), IMAGES),
    # functions
    "rounded quotients": (lambda x, y: torch.div(x, y, rounding_mode="floor") * x + torch.div(x, 0.3, rounding_mode="trunc"), normal(9), normal(9, seed=2)),
    "remainders": (lambda x, y: torch.remainder(x, y) + torch.fmod(x, y) + x % 0.3 + torch.fmod(x, 0.3), normal(9), normal(9, seed=2)),
    "inverse functions": (lambda x, y: x.asin() + x.acos() + x.atan() + x.asinh() + (2 + x).acosh() + x.atanh() + torch.atan2(
        x, y) + torch.hypot(x, y), normal(9).detach().tanh().requires_grad_(), normal(9, seed=2)),
    "norms": (lambda x: sum(torch.linalg.vector_norm(x, p, -1) for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -2)), THREE),
    "probabilities of classes": (lambda x, t: F.cross_entropy(x, t.softmax(1), torch.tensor([1.0, 2, 0.5]).double(), label_smoothing=0.1)
                                 + F.cross_entropy(x, t.softmax(1), reduction="sum"), normal(4, 3, 2), normal(4, 3, 2, seed=2)),
    "a learned score matrix and a mask of a batch": (lambda q, b: F.scaled_dot_product_attention(
        q, q, q, b.masked_fill(LATER, -INF)) + (q @ q.mT + b.masked_fill(LATER, -INF)).softmax(-1) @ q, HEADS, SCORES),
    "dropout that draws nothing": (lambda x: F.dropout(x, 0.0, True) + F.dropout(x, 0.3, False), THREE),
    # kinks, and ends of domains
    "kinks": (lambda x: x.abs() + x.relu() + F.hardtanh(x) + F.relu6(x) + F.hardswish(x) + x.clamp(-1, 3)
              + F.hardshrink(x) + F.softshrink(x) + F.threshold(x, 1.0, 2.0) + F.leaky_relu(x, 0.3) + F.prelu(x, x[2:3]) + F.elu(x, 0.7)
              + F.selu(x) + F.celu(x, 0.5) + F.softplus(x) + F.logsigmoid(x) + F.mish(x).clamp(min=0), KINKS),
    "hardsigmoid": (F.hardsigmoid, KINKS.detach().float().requires_grad_()),  # in float64, PyTorch's gradient has the 1/6 of float32
    "losses at kinks": (lambda x: sum(loss(x, torch.zeros_like(x)) for loss in (F.l1_loss, F.smooth_l1_loss, F.huber_loss)), KINKS),
    "ties": (lambda x: torch.maximum(x, x.flip(0)) + torch.minimum(x, 0 * x) + x.amax() + x.amin() + x.max() + x.min() + x.median(), ZEROS),
    "chosen ties": (lambda x: x.max(1)[0] + x.min(1)[0] + x.sort(1)[0][:, 1] + x.median(1)[0] + x.cummax(1)[0][:, 2] + x.mode(1)[0], ZEROS),
    "products of zeros": (lambda x: x.prod(1) + x.cumprod(1)[:, 2] + x.prod(), ZEROS),
    "norms of zero": (lambda x: sum(torch.linalg.vector_norm(x, p, -1) for p in (0, 0.5, 1, 1.5, 2, 3, INF)) + x.std(1) + torch.dist(
        x[0], x[0]) + F.normalize(x)[:, 0], ZEROS),
    "an angle of nothing": (lambda x: torch.atan2(x, x.flip(1)), ZEROS),
    "powers of zero": (lambda x: x ** 0 + x ** 1 + x ** torch.tensor([0.0, 1.0, 2.0]) + torch.pow(x, x.detach() + 1) + torch.pow(1.0, x) + torch.xlogy(x, x + 1), ZEROS),
    "a branch of NaN": (lambda x: torch.where(x > 0, x, (x * 0).sqrt().detach()), ZEROS),
    "binary cross entropy of 1": (lambda x: F.binary_cross_entropy(x.sigmoid(), torch.ones_like(x)) + F.binary_cross_entropy(
        (x > 0) * x.sigmoid(), x.sigmoid()), KINKS),
    "softmax of nothing": (lambda x: x.masked_fill(torch.tensor([[True] * 3, [True, False, True], [False] * 3]), -INF).softmax(-1), ZEROS),
    "a loss of no target": (lambda x: F.cross_entropy(x, torch.tensor([-100] * 3)), THREE),
    "logarithms of nothing": (lambda x: x.masked_fill(torch.tensor([[True] * 3, [True, False, True], [False] * 3]), -INF).log_softmax(-1), ZEROS),
    "logsumexp of nothing": (lambda x: x.masked_fill(torch.tensor([[True] * 3, [True, False, True], [False] * 3]), -INF).logsumexp(-1), ZEROS),
}


@pytest.mark.parametrize("name", RIGHT)
def test_values_and_gradients_are_those_of_pytorch(name):
    function, *args = RIGHT[name]
    assert "gradients" in compare(function, args, {}, second=False)


REFUSED = {
    "element is written twice": (lambda x, v: x.index_put((torch.tensor([0, 0]),), v), THREE, normal(2, 4, seed=2)),
    "conv_transpose3d": (lambda x, w: F.conv_transpose3d(x, w), VOLUMES, normal(4, 3, 1, 1, 1, seed=2)),
    "as_strided": (lambda x: x[1:].as_strided((2,), (1,)), normal(3)),
    "rand_like.default draws": (lambda x: x * torch.rand_like(x), THREE),
    "rand_like.default  draws": (lambda x: F.gumbel_softmax(x), THREE),
    "normal.default draws": (lambda x: x * torch.randn(4), THREE),
    "train.. mode, in which it draws": (lambda x: F.dropout(x), THREE),
    "train.. mode, in which it  draws": (lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.3), HEADS),
    "rrelu.*draws": (lambda x: F.rrelu(x, training=True), THREE),
    "reduce='amax'": (lambda x: x.scatter_reduce(0, torch.tensor([[0]]), x, "amax"), THREE),
    "float16": (lambda x: x.half() * 2, THREE),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words):
    function, *args = REFUSED[words]
    with pytest.raises(Skip, match="refused: .*" + words.replace("  ", " ")):
        compare(function, args, {})
