"""Backwards to try glim.gradcheck on: wrong ones of NumPy (wrong/), right ones of NumPy, torch and JAX (right/)."""
