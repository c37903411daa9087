"""The corpus of right backwards: (name, arguments of glim.gradcheck, options)."""

import importlib
import importlib.util


def right_backwards(frameworks=("numpy", "torch", "jax")):
    """Those of the frameworks that are installed."""
    for framework in frameworks:
        if importlib.util.find_spec(framework):
            yield from importlib.import_module(f".{framework}_cases", __name__).cases()
