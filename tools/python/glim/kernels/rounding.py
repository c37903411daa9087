"""The reference in float64 as a kernel of a low dtype would compute it: each op's result is rounded stochastically.

A kernel keeps a contract: it reads and writes `dtype`, computes in `inside` and sums in `accumulate`. One pass of the
reference under `Rounding` breaks its float64 arithmetic in the same way:

    operands of a product or of backward's sum    to dtype: kernels load them from memory, or from fast memory in dtype
    every result                                  to inside
    a sum, a product                              plus an error of its accumulator, eps * Σ|terms|
    a value that backward reads of forward        to dtype: a kernel may have stored it
    P = exp(S - logsumexp) that backward reads    plus the error of S in inside: a kernel computes it again
    δ = Σ_j P_j dP_j of a softmax                 plus the error of δ = Σ_d dO_d O_d, O in dtype (FlashAttention 2)

Rounding x to p digits goes up with probability (x - low) / unit, so its mean is x and errors of passes are independent.
Equal values round to dtype equally, and in every second pass to inside, too: what cancels in a kernel cancels here.
"""

import functools

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Significant bits, and the smallest positive number: subnormal bfloat16 and float32 are flushed by many kernels.
BITS = {torch.bfloat16: 8, torch.float16: 11, torch.float32: 24, torch.float64: 53}
QUANTUM = {torch.bfloat16: 2.0**-126, torch.float16: 2.0**-24, torch.float32: 2.0**-126, torch.float64: 0.0}


def _signed(n: int) -> int:
    n &= 2**64 - 1
    return n - 2**64 if n >= 2**63 else n


def _hash(x: torch.Tensor, seed: int, by_value: bool, bits: int = 53) -> torch.Tensor:
    """Random int64 numbers of the seed and the first `bits` bits of the value, or of the seed and the position."""
    h = x.contiguous().view(torch.int64) >> 53 - bits if by_value else torch.arange(x.numel()).view(x.shape)
    h = (h + _signed(seed * 0x9E3779B97F4A7C15)).mul_(-7046029254386353131)
    h.bitwise_xor_(h >> 32).mul_(-7723592293110705685)
    return h.bitwise_xor_(h >> 32)


def noise(x: torch.Tensor, seed: int, by_value: bool) -> torch.Tensor:
    """Uniform in [-½, ½)."""
    return _hash(x, seed, by_value).bitwise_and_(2**52 - 1).double().mul_(2.0**-52).sub_(0.5)


def rounded(x: torch.Tensor, dtype: torch.dtype, seed: int, by_value: bool = True) -> torch.Tensor:
    """x (float64) to a value of dtype below or above it: random bits are added to those that are cut off.

    Values within a quarter of a digit get the same bits, since a kernel rounds what is nearly equal in one direction.
    """
    dropped = 2 ** (53 - BITS[dtype]) - 1
    h = _hash(x, seed, by_value, BITS[dtype] + 2)
    y = (h & dropped).add_(x.contiguous().view(torch.int64)).bitwise_and_(~dropped).view(torch.float64)
    subnormal = (x.abs() < QUANTUM[dtype] * 2 ** (BITS[dtype] - 1)) & (x != 0)
    if subnormal.any():
        uniform = h.bitwise_and_(2**52 - 1).double() * 2.0**-52
        y = torch.where(subnormal, torch.floor(x / QUANTUM[dtype] + uniform) * QUANTUM[dtype], y)
    return torch.where(y.abs() > torch.finfo(dtype).max, y * float("inf"), y)


MASKED = 1e4  # larger scores are those of masks, -1e9 or finfo.min, and exact
_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1, "convolution": 0}  # and where their operands begin
_SUMS = {"sum", "mean", "cumsum", "embedding_dense_backward", "index_add", "index_add_", "scatter_add", "scatter_add_",
         "index_put", "index_put_", "_index_put_impl_", "convolution_backward"}
_STEPS = torch._decomp.core_aten_decompositions()


@functools.lru_cache(maxsize=None)
def _is_view(func) -> bool:
    return any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)


@functools.lru_cache(maxsize=None)
def _in_steps(func) -> bool:
    """Norms, losses and functions of each element are one op each; a kernel rounds within them, too."""
    name = func.overloadpacket.__name__
    return func in _STEPS and name not in _SUMS and name not in _PRODUCTS and (
        name.endswith(("_backward", "_backward_data", "_loss", "norm")) or name in
        ("silu", "gelu", "logsumexp", "var", "var_mean", "std", "softplus", "log_sigmoid_forward", "mish", "elu", "_safe_softmax"))


class Rounding(TorchDispatchMode):
    """The mode of one pass. `exact`: tensors that the kernel reads as they are."""

    def __init__(self, dtype, inside, accumulate, seed, exact):
        super().__init__()
        self.dtype, self.inside = dtype, inside
        self.epsilon = 2.0 ** (1 - BITS[accumulate])
        self.seed, self.by_value, self.calls = seed, seed % 2 == 0, 0
        self.exact = {x.untyped_storage().data_ptr() for x in exact}
        self.backward = False
        self.scores = {}  # storage of a softmax: the largest |S| of each row
        self.alive = []  # these softmaxes: no storage is used twice within a pass
        self.paused = False
        self.hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x, self._read)

    def __enter__(self):
        self.hooks.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.hooks.__exit__(*error)

    def _next(self):
        self.calls += 1
        return self.seed * 1000003 + self.calls

    def _noise(self, x, by_value=None):
        return noise(x, self._next(), self.by_value if by_value is None else by_value)

    def _low(self, x):
        """As a kernel that stores x in dtype reads it: equal numbers are equal in every reading of a pass."""
        if x.dtype != torch.float64 or not x.numel() or x.untyped_storage().data_ptr() in self.exact:
            return x
        return rounded(x, self.dtype, self.seed)

    def _read(self, x):
        self.paused, self.backward = True, True
        largest = self.scores.get(x.untyped_storage().data_ptr())
        x = self._low(x)
        if largest is not None and largest.numel() * x.shape[-1] == x.numel():
            largest = largest.reshape(*x.shape[:-1], 1)
            x = x * (1 + largest * self._noise(largest, False) * 2.0 ** (2 - BITS[self.inside]))
        self.paused = False
        return x

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.paused or _is_view(func):
            return func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if name == "_softmax_backward_data":
            return self._softmax_backward(func, args, kwargs)
        if _in_steps(func):
            with self:
                return _STEPS[func](*args, **kwargs)
        terms, first = None, _PRODUCTS.get(name)
        if first is not None and args[first].dtype == torch.float64:
            a, b = (self._low(x) for x in args[first:first + 2])
            args = (*args[:first], a, b, *args[first + 2:])
            terms = func(*(x.abs() if isinstance(x, torch.Tensor) else x for x in args), **kwargs) / 2  # of both signs, one by one
        elif name in _SUMS:
            if name == "sum" and self.backward:
                args = (self._low(args[0]), *args[1:])
            terms = func(*(x.abs() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in args), **kwargs)
            if isinstance(terms, torch.Tensor):  # one number after another, all of one sign
                terms = terms * max(1, (args[0].numel() / max(1, terms.numel())) ** 0.5 / 8)
        out = func(*args, **kwargs)
        if isinstance(out, (tuple, list)):
            terms = terms if isinstance(terms, (tuple, list)) else [None] * len(out)
            return type(out)(self._result(func, y, t) for y, t in zip(out, terms))
        if name == "_softmax":
            out = self._result(func, out, None)
            largest = torch.where(args[0].abs() < MASKED, args[0].abs(), 0).amax(args[1], keepdim=True)
            self.scores[out.untyped_storage().data_ptr()] = largest
            self.alive.append(out)
            return out
        return self._result(func, out, terms)

    def _result(self, func, y, terms):
        if not isinstance(y, torch.Tensor) or y.dtype != torch.float64 or not y.numel():
            return y
        x = y if terms is None else y + terms * self._noise(y) * (2 * self.epsilon)
        x = rounded(x, self.inside, self._next(), self.by_value)
        return y.copy_(x) if func._schema.is_mutable else x

    def _softmax_backward(self, func, args, kwargs):
        dp, p, dim = args[:3]
        # The root mean square of dP along a row is about that of Σ_d (dO_d V_d)², by which O's digits change δ.
        error = dp.square().mean(dim, keepdim=True).sqrt() * 2.0 ** (1 - BITS[self.dtype])
        out = func(*args, **kwargs) - p * error * self._noise(error, False)
        return self._result(func, out, None)
