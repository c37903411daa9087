"""Arrays of PyTorch and JAX, through DLPack: the same memory. Skipped where neither is installed."""
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import glim


def address(array):
    return array.__array_interface__["data"][0]


def run(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)


def test_no_framework_is_imported():
    done = run("""
        import sys, glim
        glim.sum(glim.zeros(3))
        print([m for m in ("numpy", "torch", "jax", "autograd") if m in sys.modules])
    """)
    assert done.stdout == "[]\n", done


def test_torch():
    torch = pytest.importorskip("torch")
    for x in (torch.randn(3, 4), torch.randn(4, 3, dtype=torch.float64).T, torch.arange(6).reshape(2, 3),
              torch.tensor([True, False])):
        tensor = glim.Tensor(x)
        assert address(tensor.numpy()) == x.data_ptr() and (tensor.numpy() == x.numpy()).all()
        assert torch.from_dlpack(tensor).data_ptr() == x.data_ptr()
    with pytest.raises(glim.DTypeError, match="bfloat16"):
        glim.Tensor(torch.ones(3, dtype=torch.bfloat16))
    with pytest.raises(glim.ValueError, match=r"on meta; .*\.cpu\(\)"):
        glim.Tensor(torch.ones(3, device="meta"))


def test_a_gradient_of_torch_is_not_lost():
    torch = pytest.importorskip("torch")
    w = torch.ones(2, 2, requires_grad=True)
    for x in (w, w * 2, torch.nn.Parameter(torch.ones(2, 2))):
        for call in (glim.Tensor, glim.Var, glim.Var.leaf, glim.sum, lambda x: x @ glim.Var(np.ones((2, 2), np.float32)), lambda x: glim.cross_entropy(x, np.array([0, 1])), glim.tensor, lambda x: glim.tensor([1.0, x]), lambda x: glim.clamp(np.ones(3), x[0, 0], 2),
                     lambda x: glim.gradcheck(lambda x: x, lambda dy, x: dy, x),
                     lambda x: glim.cross_entropy(np.ones((2, 2), np.float32), x), lambda x: setattr(glim.Linear(2, 2), "weight", x),
                     lambda x: glim.add(np.ones((2, 2), np.float32), x)):
            with pytest.raises(TypeError, match=r"gradient.*\.detach\(\)|clamp.*incompatible"):
                call(x)
        assert glim.Tensor(x.detach()).shape == (2, 2)


def test_torch_with_a_sign_to_come():
    torch = pytest.importorskip("torch")
    for z in (torch.tensor([1 + 2j, 3 + 4j]), torch.tensor([[1 + 2j], [3 + 4j]], dtype=torch.complex128)):
        x = z.conj().imag
        assert x.is_neg() and (glim.Tensor(x).numpy() == x.resolve_neg().numpy()).all()
        assert glim.sum(x).item() == -6 and (glim.Var.leaf(x[1:]).numpy() == -4).all()


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(12.0).reshape(3, 4)
    tensor = glim.Tensor(x)
    assert address(tensor.numpy()) == x.unsafe_buffer_pointer() and not tensor.numpy().flags.writeable
    assert jax.numpy.from_dlpack(tensor.clone()).tolist() == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("order", ["import torch, glim", "import glim, torch"])
def test_one_openmp_beside_torch(order):
    pytest.importorskip("torch")
    done = run(f"""
        {order}
        import os
        import numpy as np
        x = np.ones((512, 512), np.float32)
        (torch.from_numpy(x) @ torch.from_numpy(x)).exp().sum()
        (glim.Var(x) @ x).sum()
        maps = open("/proc/self/maps").read()
        print(len({{line.split()[-1] for line in maps.splitlines() if "gomp" in line}}))
    """)
    assert done.stdout == "1\n", done
