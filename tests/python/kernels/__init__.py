"""Backwards of kernels in low precision, right and wrong, beside references. Nothing here knows of a judge."""

from . import attention_cases, fresh, losses, lookup, norms, pointwise, products, sequences
from .case import Case

MODULES = (attention_cases, norms, losses, pointwise, lookup, products, sequences)
CASES = [case for module in MODULES for case in module.CASES]
PYTORCH = [case for module in MODULES for case in getattr(module, "PYTORCH", ())]  # no verdict
FRESH = fresh.FRESH  # written after the limits were set
