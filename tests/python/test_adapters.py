"""glim.gradcheck of functions of torch, JAX, HIPS/autograd, MLX and tinygrad. Tests of a framework that is not installed are skipped."""
import subprocess
import sys

import numpy as np
import pytest

import glim
from glim.adapters import adapt

X = np.random.default_rng(0).uniform(0.2, 0.9, (3, 4))


def framework(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.fixture(scope="module")
def torch():
    return framework("torch")


@pytest.fixture(scope="module")
def jax():
    return framework("jax")


@pytest.fixture(scope="module")
def anp():
    return framework("autograd.numpy")


def test_no_framework_is_imported_without_need():
    code = """if True:
        import sys, numpy as np, glim
        assert glim.gradcheck(lambda x: x * x, lambda dy, x: 2 * dy * x, np.ones(3))
        try:
            glim.gradcheck(lambda x: x * x, np.ones(3))
        except TypeError as error:
            assert "the second argument is the backward" in str(error), error
        print(sorted({"torch", "jax", "autograd"} & {name.split(".")[0] for name in sys.modules}))
    """
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_a_function_of_torch_writes_is_seen(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return dy.mul_(2)

    assert glim.gradcheck(Doubled, torch.tensor(X)).mistake == "backward changes dy in place"
    layer = torch.nn.Linear(4, 2).double()
    layer.weight.register_hook(lambda g: 2 * g)
    assert "2 times" in glim.gradcheck(layer, torch.tensor(X)).mistake


# ---- Glim ----


class Power(glim.Op):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return x ** 3

    def gradient(self, dy, x):
        return self.factor * dy * x * x


class Net(glim.Module):
    def __init__(self, factor=3):
        super().__init__()
        self.linear, self.norm, self.power = glim.Linear(4, 2), glim.LayerNorm(2), Power(factor)

    def forward(self, x, shift=0.0):
        return self.norm(self.power(self.linear(x)) + shift)


def test_an_op_of_glim():
    report = glim.gradcheck(Power(3), X)
    assert report and str(report).startswith("gradcheck of Power: passed") and "0 x (3, 4) float64" in str(report)
    assert "0.666667 times the derivative" in glim.gradcheck(Power(2), X).mistake and glim.gradcheck(Power(3), X.astype(np.float32))


def test_a_module_of_glim():
    net = Net()
    with glim.Tape() as tape:
        tape.backward(net(X).sum())
    before = [(p.dtype, p.numpy().copy(), p.grad.numpy().copy()) for p in net.parameters()]
    report = glim.gradcheck(net, X)
    assert report and all(f" {name} (" in str(report) for name in ("x", "linear.weight", "linear.bias", "norm.weight"))
    for p, (dtype, value, grad) in zip(net.parameters(), before):
        assert p.dtype == dtype and np.array_equal(p.numpy(), value) and np.array_equal(p.grad.numpy(), grad)
    assert "0.666667 times" in glim.gradcheck(Net(2), X).mistake and "0.666667 times" in glim.gradcheck(Net(2), glim.Var(X)).mistake
    net.freeze("*")
    assert "weight" not in str(glim.gradcheck(net, X, X[0, :2]))
    assert glim.gradcheck(glim.Embedding(5, 3), np.array([0, 1, 4])) and glim.gradcheck(Net(), X.astype(np.float32))
    with pytest.raises(TypeError, match="no input of a floating dtype"):
        glim.gradcheck(glim.ReLU(), np.arange(3))


def test_functions_of_glim():
    assert glim.gradcheck(glim.softmax, X) and glim.gradcheck(lambda a, b: (glim.tanh(a), {"y": a @ b}), X, X.T)
    assert not glim.gradcheck(lambda x: Power(2)(x) * 2, X) and glim.gradcheck(lambda x: glim.sum(x), X)
    drawn = glim.seed(5) or glim.next_key()
    glim.seed(5)
    assert "draws random numbers" in str(glim.gradcheck(glim.Dropout(0.5), X)) and glim.next_key()[0] == drawn[0]
    with pytest.raises(TypeError, match="returns no Var"):
        glim.gradcheck(lambda x: glim and "text", X)


# ---- torch ----


def square(torch, factor):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensors
            return factor * dy * x

    return Square


def test_a_torch_function_class(torch):
    assert glim.gradcheck(square(torch, 2), torch.tensor(X))
    assert glim.gradcheck(square(torch, 2), X)  # NumPy arrays do as well
    report = glim.gradcheck(square(torch, 1), torch.tensor(X))
    assert not report and report.mistake.startswith("a constant factor: 1/2")
    assert "Square" in str(report) and report.worst[0] == "x"


def test_a_module_is_checked_by_its_parameters_too(torch):
    layer = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2, bias=False))
    layer[2].weight.requires_grad = False
    adapted = adapt(layer, torch.rand(2, 4))
    assert adapted.names == ("input", "0.weight", "0.bias")
    assert all(x.dtype == np.float64 for x in adapted.inputs)
    assert glim.gradcheck(layer, torch.rand(2, 4))
    assert layer[0].weight.dtype == torch.float32 and layer[0].weight.grad is None


def test_a_module_with_a_wrong_parameter_names_it(torch):
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(0.7))

        def forward(self, x):
            return x * self.weight.detach()

    report = glim.gradcheck(Scale(), torch.rand(3))
    assert not report and report.worst[0] == "weight" and "no gradient reaches" in report.mistake


def test_buffers_of_a_module_are_left_alone(torch):
    norm = torch.nn.BatchNorm1d(4)
    assert glim.gradcheck(norm, torch.rand(5, 4))
    assert not norm.running_mean.any() and norm.num_batches_tracked == 0


def test_indices_that_torch_does_not_check_stay_as_they_are(torch):
    """lu_unpack and segment_reduce read and write beyond their arrays at other ones, which may end the process."""
    lu, pivots = torch.linalg.lu_factor(torch.rand(4, 4, dtype=torch.float64))
    for op, x, ids in ((lambda x, ids: torch.lu_unpack(x, ids)[1], lu, pivots),
                       (lambda x, ids: torch.segment_reduce(x, "sum", lengths=ids), lu, torch.tensor([1, 3]))):
        tried = set()
        assert glim.gradcheck(lambda x, ids: (tried.add(tuple(ids.tolist())), op(x, ids))[1], x, ids) and tried == {tuple(ids.tolist())}


def test_random_numbers_of_torch_are_reported(torch):
    x = torch.rand(4, 5)
    state = torch.get_rng_state()
    report = glim.gradcheck(torch.nn.Dropout(0.5), x)
    assert report and "draws random numbers from torch" in str(report)
    assert torch.equal(state, torch.get_rng_state())
    assert "random" not in str(glim.gradcheck(torch.nn.Dropout(0.5).eval(), torch.rand(4, 5)))


def test_plain_functions_of_torch(torch):
    F = torch.nn.functional
    assert glim.gradcheck(torch.sin, torch.tensor(X))
    assert glim.gradcheck(lambda x: torch.tanh(x), X)
    assert glim.gradcheck(torch.cat, [torch.rand(2, 3), torch.rand(1, 3)])
    assert adapt(torch.cat, [torch.rand(2), torch.rand(1)]).names == ("x0[0]", "x0[1]")
    assert glim.gradcheck(F.cross_entropy, torch.rand(3, 4), torch.tensor([0, 3, 1]))
    assert glim.gradcheck(torch.max, torch.tensor(X), 1)  # values, and indices without a gradient
    assert glim.gradcheck(lambda a, b: (a * b, {"sum": a.sum()}), torch.rand(3), torch.rand(3))


def test_what_requires_a_gradient_is_checked(torch):
    x, mean = torch.rand(3, 4), torch.zeros(4)
    assert adapt(torch.sub, x, mean).names == ("x0", "x1")
    assert adapt(torch.sub, x.requires_grad_(), mean).names == ("x0",)
    report = glim.gradcheck(lambda x: (x * x, x.detach()), torch.rand(3))
    assert report and "Output 1 requires no gradient" in str(report)
    report = glim.gradcheck(lambda x: x.detach() * 2, torch.rand(3))
    assert not report and "no gradient reaches" in report.mistake


def test_a_function_that_takes_no_inputs_beside_the_given_ones(torch):
    """Probabilities next to 1: the checks of behaviour move their inputs."""
    p = torch.tensor([0.2, 0.9999, 0.5], dtype=torch.float64)
    report = glim.gradcheck(lambda p: torch.nn.functional.binary_cross_entropy(p, torch.ones(3, dtype=p.dtype)), p)
    assert report and report.verdicts["stateless"] == "undecided"


def test_float32_of_torch(torch):
    assert adapt(torch.sin, torch.rand(3)).inputs[0].dtype == np.float64
    assert adapt(torch.sin, X.astype(np.float32)).inputs[0].dtype == np.float32
    report = glim.gradcheck(torch.nn.Linear(4, 3), X.astype(np.float32))
    assert report and "float32" in str(report)
    inner = torch.nn.Linear(4, 3)
    report = glim.gradcheck(lambda x: inner(x), torch.rand(2, 4))  # whose weights are float32
    assert report and "takes float32 alone" in str(report)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda torch: torch.ones(3, device="meta"), "x0 is on meta; move it to the CPU"),
        (lambda torch: torch.eye(3).to_sparse(), "x0 is sparse"),
        (lambda torch: torch.ones(3, dtype=torch.complex64), "x0 is complex"),
        (lambda torch: torch.tensor([1, 2]), "no input of a floating dtype"),
    ],
)
def test_tensors_that_cannot_be_checked(torch, make, message):
    with pytest.raises(TypeError, match=message):
        glim.gradcheck(torch.sin, make(torch))


def test_what_a_torch_function_raises_passes_through(torch):
    with pytest.raises(RuntimeError, match="must match"):
        glim.gradcheck(torch.add, torch.rand(2), torch.rand(3))


# ---- JAX ----


def test_functions_of_jax(jax):
    jnp = jax.numpy
    assert glim.gradcheck(jnp.tanh, jnp.asarray(X))
    assert glim.gradcheck(lambda x: jax.nn.softmax(x), X)
    assert glim.gradcheck(jax.jit(lambda x, w: x @ w), X, X.T.copy())
    assert glim.gradcheck(lambda x, i: x[i], jnp.asarray(X), jnp.array([2, 0, 2]))
    assert glim.gradcheck(lambda key, x: x * jax.random.bernoulli(key, 0.5, x.shape), jax.random.key(0), jnp.asarray(X))


def test_jax_is_checked_in_float64_within_the_check_alone(jax):
    before = jax.config.jax_enable_x64
    assert adapt(jax.numpy.tanh, jax.numpy.ones(3)).inputs[0].dtype == np.float64
    report = glim.gradcheck(jax.numpy.tanh, jax.numpy.ones(3))
    assert report and "float64" in str(report)
    assert jax.config.jax_enable_x64 == before
    assert adapt(jax.numpy.tanh, X.astype(np.float32)).inputs[0].dtype == np.float32


@pytest.mark.parametrize("factor", [1, 2])
def test_custom_vjp(jax, factor):
    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, dy: (factor * dy * x,))
    report = glim.gradcheck(square, jax.numpy.asarray(X))
    assert bool(report) == (factor == 2)
    assert factor == 2 or report.mistake.startswith("a constant factor: 1/2")


def test_pytrees_of_jax(jax):
    weights = {"w": X.T.copy(), "b": np.zeros(3)}
    f = lambda p, x: jax.numpy.tanh(x @ p["w"] + p["b"])
    assert adapt(f, weights, X).names == ("p['b']", "p['w']", "x")
    assert glim.gradcheck(f, weights, X)


# ---- HIPS/autograd ----


def test_functions_of_autograd(anp):
    assert glim.gradcheck(anp.tanh, X)
    assert glim.gradcheck(lambda x: anp.exp(x) / anp.sum(anp.exp(x)), X)
    assert glim.gradcheck(lambda a, b: (anp.dot(a, b), anp.sum(a)), X, X.T.copy())
    report = glim.gradcheck(lambda x: x * anp.random.rand(3, 4), X)
    assert report and "draws random numbers from numpy.random" in str(report)


def test_a_wrong_vjp_of_autograd(anp):
    from autograd.extend import defvjp, primitive

    @primitive
    def square(x):
        return x * x

    defvjp(square, lambda y, x: lambda dy: dy * x)
    report = glim.gradcheck(lambda x: square(x), X)
    assert not report and report.mistake.startswith("a constant factor: 1/2")


def test_what_to_pass_is_said():
    with pytest.raises(TypeError, match=r"Cube is a class: pass an instance of it, Cube\(\)"):
        glim.gradcheck(type("Cube", (glim.Op,), {}), X)
    with pytest.raises(TypeError, match=r"np.asarray\(x, float\)"):
        glim.gradcheck(Power(3), [1.0, 2.0])


# ---- MLX and tinygrad ----


def test_mlx():
    mx = framework("mlx.core")
    assert glim.gradcheck(lambda x, p: [mx.tanh(x @ p["w"]), (x * x).sum()], X, {"w": np.ones((4, 2))})

    @mx.custom_function
    def softmax(x):
        return mx.softmax(x, axis=-1)

    @softmax.vjp
    def wrong(primals, dy, y):
        return y * (dy - (dy * y).sum(axis=0, keepdims=True))
    report = glim.gradcheck(softmax, mx.array(X))
    assert not report and "depends on dy of another" in report.mistake
    report = glim.gradcheck(lambda x: mx.stop_gradient(x) * x, X)
    assert not report and report.worst is not None
    with pytest.raises(TypeError, match="no input of a floating dtype"):
        glim.gradcheck(lambda x: mx.tanh(x), np.arange(3))


def test_tinygrad():
    code = """if True:
        import numpy as np, glim
        from tinygrad import Tensor
        x = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3))
        print(bool(glim.gradcheck(lambda x, w: [(x @ w).tanh(), x.sum()], x, Tensor(np.ones((3, 2))))))
        report = glim.gradcheck(lambda x: x.detach() * x, Tensor(x))
        print(bool(report), report.mistake)
    """
    framework("tinygrad")
    import os
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"DEV": "PYTHON", "PYTHON": "1", **os.environ})
    assert run.stdout.splitlines()[0] == "True", run.stderr
    assert run.stdout.splitlines()[1].startswith("False"), run.stderr
