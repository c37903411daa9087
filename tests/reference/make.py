#!/usr/bin/env python3
"""Makes the reference values of the tests from PyTorch (see README.md beside this file).

    python tests/reference/make.py            writes every file beside this script
    python tests/reference/make.py --check    makes them again elsewhere and compares

Needs torch, numpy and safetensors in the versions of README.md. The tests need none of them.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open

import attention
import convert
import files
import imported
import language
import layers
import optimisers
import recurrent
import stacks
import transformer
import variants
import vision
import vision_models

HERE = Path(__file__).resolve().parent


def write(folder):
    torch.set_num_threads(1)  # the order of sums, so the last bits, must not depend on the machine
    for module in (
        transformer,
        attention,
        layers,
        optimisers,
        language,
        vision,
        vision_models,
        recurrent,
        variants,
        stacks,
    ):
        for ref in module.make():
            path = ref.save(folder)
            print(f"{path.name}  {path.stat().st_size} bytes, {len(ref.tensors)} tensors")
    files.write(folder)
    convert.write(folder)
    imported.write(folder)


def read(path):
    with safe_open(path, "numpy") as f:
        return (f.metadata() or {}), {k: f.get_tensor(k) for k in f.keys()}


def same(old, new):
    """True if both files hold the same; floating-point values to a few units in the last place."""
    if old.read_bytes() == new.read_bytes():
        return True
    if old.suffix != ".safetensors" or old.parent not in (HERE, HERE / "convert"):  # samples are exact or wrong
        return False
    (meta_a, a), (meta_b, b) = read(old), read(new)
    if meta_a != meta_b or a.keys() != b.keys():
        return False
    return all(
        a[k].dtype == b[k].dtype
        and a[k].shape == b[k].shape
        and np.allclose(a[k], b[k], rtol=1e-12, atol=1e-14, equal_nan=True)
        for k in a
    )


def check():
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        for new in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            old = HERE / new.relative_to(folder)
            if not old.exists() or not same(old, new):
                print(f"differs: {old.relative_to(HERE)}")
                bad += 1
    print(f"{bad} files differ")
    return bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    if parser.parse_args().check:
        sys.exit(1 if check() else 0)
    write(HERE)
