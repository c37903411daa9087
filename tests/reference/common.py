"""Drawing numbers, collecting tensors and writing one reference file.

Every random number is drawn in float64 and rounded to the nearest float32, so that a float32 and a
float64 run of a test start from exactly the same values. All computation is in float64.
"""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

LIMIT = 400_000  # bytes; a reference file stays small enough to live in the repository


def representable(x):
    """float64 tensor whose values are exact in float32."""
    return torch.as_tensor(np.asarray(x, dtype=np.float64).astype(np.float32).astype(np.float64))


class Draw:
    """Seeded source of test data."""

    def __init__(self, seed):
        self.rng = np.random.Generator(np.random.PCG64(seed))

    def normal(self, *shape, mean=0.0, scale=1.0):
        return representable(mean + scale * self.rng.standard_normal(shape))

    def uniform(self, *shape, low=0.0, high=1.0):
        return representable(self.rng.uniform(low, high, shape))

    def integers(self, low, high, *shape):
        return torch.as_tensor(self.rng.integers(low, high, shape, dtype=np.int64))

    def keep(self, *shape, probability=0.6):
        """Keep-mask with at least one true per row of the last axis."""
        mask = self.rng.uniform(size=shape) < probability
        first = self.rng.integers(0, shape[-1], shape[:-1])
        np.put_along_axis(mask, first[..., None], True, axis=-1)
        return torch.as_tensor(mask)

    def fill(self, module):
        """Parameters of a layer: Xavier-uniform matrices, norm scales near 1, the rest near 0."""
        with torch.no_grad():
            for name, p in module.named_parameters():
                if p.dim() > 1:
                    bound = (6.0 / (p.shape[0] + p.shape[-1])) ** 0.5
                    p.copy_(self.uniform(*p.shape, low=-bound, high=bound))
                elif name.rsplit(".", 2)[-2:][0].startswith("norm") and name.endswith("weight"):
                    p.copy_(self.normal(*p.shape, mean=1.0, scale=0.1))
                else:
                    p.copy_(self.normal(*p.shape, scale=0.1))
        return module


class Reference:
    """One safetensors file: tensors by name, and the metadata `case` as a JSON string."""

    def __init__(self, name, description, **config):
        self.name = name
        self.tensors = {}
        self.case = {"description": description, "torch": torch.__version__, **config}

    def put(self, key, value):
        array = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
        if array.dtype not in (np.float64, np.int64, np.bool_):
            raise TypeError(f"{self.name}: {key} has dtype {array.dtype}")
        if key in self.tensors:
            raise KeyError(f"{self.name}: {key} is stored twice")
        # ascontiguousarray would turn a 0-d array into a 1-d one
        self.tensors[key] = np.array(array, order="C")

    def case_config(self, prefix, config):
        """The configuration of one of several cases in this file, under `cases`."""
        cases = self.case.setdefault("cases", {})
        if prefix in cases:
            raise KeyError(f"{self.name}: case {prefix} is stored twice")
        cases[prefix] = config

    def save(self, folder):
        path = Path(folder) / f"{self.name}.safetensors"
        save_file(self.tensors, path, metadata={"case": json.dumps(self.case)})
        path.chmod(0o644)  # the library writes files for their owner alone
        if path.stat().st_size > LIMIT:
            raise ValueError(f"{path} has {path.stat().st_size} bytes, over {LIMIT}")
        return path


def leaves(tensors):
    """Float tensors become differentiable leaves; the rest pass through."""
    return {
        k: t.clone().requires_grad_(True) if t.is_floating_point() else t for k, t in tensors.items()
    }


def record(ref, draw, prefix, function, inputs, params=None, config=None, frozen=()):
    """Stores y = function(inputs, params) and the gradients of sum(dy * y) for a random dy.

    Keys: PREFIX.X and PREFIX.dX per input X, PREFIX.param.P and PREFIX.grad.P per parameter P,
    PREFIX.y, PREFIX.dy. Inputs named in `frozen` (masks, targets) get no gradient.
    """
    x = {k: t if k in frozen else t.clone() for k, t in inputs.items()}
    for k, t in x.items():
        if k not in frozen and t.is_floating_point():
            t.requires_grad_(True)
    p = leaves(params or {})
    y = function(**x, **p)
    dy = draw.normal(*y.shape)
    wanted = {f"d{k}": t for k, t in x.items() if t.requires_grad}
    wanted.update({f"grad.{k}": t for k, t in p.items()})
    grads = torch.autograd.grad(y, list(wanted.values()), dy)
    for k, t in inputs.items():
        ref.put(f"{prefix}.{k}", t)
    for k, t in (params or {}).items():
        ref.put(f"{prefix}.param.{k}", t)
    ref.put(f"{prefix}.y", y)
    ref.put(f"{prefix}.dy", dy)
    for k, g in zip(wanted, grads):
        ref.put(f"{prefix}.{k}", g)
    ref.case_config(prefix, config or {})
    return y
