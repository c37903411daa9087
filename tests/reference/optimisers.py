"""Optimiser trajectories, gradient clipping and learning-rate schedules. Steps count from 1.

Schedules, by formula:

    noam            factor * d^-0.5 * min(s^-0.5, s * warmup^-1.5)               step 0 is read as 1
    inverse_sqrt    s < warmup:  start + s * (peak - start) / warmup             (fairseq's
                    otherwise:   peak * warmup^0.5 * s^-0.5                       inverse_sqrt)
    cosine          s <= warmup: peak * s / warmup
                    s <= total:  floor + (peak - floor)/2 * (1 + cos(pi (s - warmup)/(total - warmup)))
                    otherwise:   floor
"""

import math

import torch

from common import Draw, Reference, representable

STEPS = 12


def noam(s, d, warmup, factor=1.0):
    s = max(s, 1)
    return factor * d**-0.5 * min(s**-0.5, s * warmup**-1.5)


def inverse_sqrt(s, peak, warmup, start=0.0):
    if s < warmup:
        return start + s * (peak - start) / warmup
    return peak * warmup**0.5 * s**-0.5


def cosine(s, peak, warmup, total, floor=0.0):
    if s <= warmup and warmup > 0:
        return peak * s / warmup
    if s > total:
        return floor
    return floor + 0.5 * (peak - floor) * (1 + math.cos(math.pi * (s - warmup) / (total - warmup)))


# The call is torch.optim.NAME([w, b], **options).
OPTIMISERS = {
    "sgd": ("SGD", dict(lr=0.1)),
    "sgd_momentum": ("SGD", dict(lr=0.1, momentum=0.9)),
    "sgd_nesterov": ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True)),
    "sgd_weight_decay": ("SGD", dict(lr=0.1, weight_decay=0.01)),
    "sgd_dampening": ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.5)),
    "sgd_all": ("SGD", dict(lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.1)),
    "adam": ("Adam", dict()),
    "adam_transformer": ("Adam", dict(lr=0.01, betas=(0.9, 0.98), eps=1e-9)),
    "adam_l2": ("Adam", dict(lr=0.01, weight_decay=0.1)),
    "adamw": ("AdamW", dict()),
    "adamw_decay": ("AdamW", dict(lr=0.01, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1)),
}


def trajectory(start, grads, name, options, rates=None):
    """Parameters after each step, stacked: {w: (STEPS, 3, 4), b: (STEPS, 5)}."""
    params = {k: t.clone().requires_grad_(True) for k, t in start.items()}
    optimiser = getattr(torch.optim, name)(list(params.values()), **options)
    path = {k: [] for k in params}
    for i in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = group["lr"] if rates is None else rates[i]
        for k, p in params.items():
            p.grad = grads[k][i].clone()
        optimiser.step()
        for k, p in params.items():
            path[k].append(p.detach().clone())
    return {k: torch.stack(v) for k, v in path.items()}


def trajectories(ref, draw):
    start = {"w": draw.normal(3, 4), "b": draw.normal(5)}
    grads = {k: draw.normal(STEPS, *t.shape) for k, t in start.items()}
    for g in grads.values():
        g[4] = 0.0  # step 5: no gradient at all
        g[7] = representable(g[7] * 1000.0)  # step 8: a spike
        g[8] = representable(g[8] * 1e-6)
    grads["b"][:, 0] = 0.0  # an entry that never receives a gradient
    for k in start:
        ref.put(f"param.{k}", start[k])
        ref.put(f"grads.{k}", grads[k])
    for case, (name, options) in OPTIMISERS.items():
        path = trajectory(start, grads, name, options)
        for k, t in path.items():
            ref.put(f"{case}.{k}", t)
        defaults = getattr(torch.optim, name)([torch.zeros(1)], **options).defaults
        shown = ("lr", "momentum", "dampening", "nesterov", "betas", "eps", "weight_decay")
        ref.case_config(case, dict(
            optimiser=name, **{k: defaults[k] for k in shown if k in defaults}))
        if case == "sgd_momentum":
            for k, t in path.items():
                ref.put(f"average_last3.{k}", t[-3:].mean(0))
            ref.case_config("average_last3", dict(
                note="mean of the parameters after the last 3 steps of sgd_momentum"))
    rates = [noam(s, 16, 4) for s in range(1, STEPS + 1)]
    options = dict(betas=(0.9, 0.98), eps=1e-9)
    for k, t in trajectory(start, grads, "Adam", options, rates).items():
        ref.put(f"adam_noam.{k}", t)
    ref.put("adam_noam.rates", torch.tensor(rates, dtype=torch.float64))
    ref.case_config("adam_noam", dict(
        optimiser="Adam", **options, d=16, warmup=4, factor=1.0,
        note="the rate of each step is set before it, from `rates`"))


def muon(ref, draw):
    """torch.optim.Muon in float64: its products of bfloat16 are left in the dtype of the gradient."""
    shapes = {"wide": (3, 5), "tall": (6, 2), "square": (4, 4)}
    start = {k: draw.normal(*s) for k, s in shapes.items()}
    grads = {k: draw.normal(STEPS, *s) for k, s in shapes.items()}
    for k in shapes:
        grads[k][4] = 0.0
        ref.put(f"muon.param.{k}", start[k])
        ref.put(f"muon.grads.{k}", grads[k])
    rounded, torch.Tensor.bfloat16 = torch.Tensor.bfloat16, lambda x: x.clone()
    for case, options in (
        ("muon", dict()),
        ("muon_plain", dict(lr=0.02, momentum=0.9, nesterov=False, weight_decay=0.0, ns_steps=3)),
        ("muon_rms", dict(lr=0.01, adjust_lr_fn="match_rms_adamw")),
    ):
        for k, path in trajectory(start, grads, "Muon", options).items():
            ref.put(f"{case}.{k}", path)
        defaults = torch.optim.Muon([torch.zeros(1, 1)], **options).defaults
        ref.case_config(case, {k: defaults[k] for k in (
            "lr", "momentum", "nesterov", "weight_decay", "eps", "ns_steps", "adjust_lr_fn")})
    torch.Tensor.bfloat16 = rounded


def clipping(ref, draw):
    """torch.nn.utils.clip_grad_norm_: grads *= min(1, max_norm / (norm + 1e-6))."""
    grads = {"w": draw.normal(3, 4), "b": draw.normal(5)}
    for k, g in grads.items():
        ref.put(f"clip.grad.{k}", g)
    zero = {k: torch.zeros_like(g) for k, g in grads.items()}
    for case, source, max_norm, kind in (
        ("clip_above", grads, 1.0, 2.0), ("clip_below", grads, 100.0, 2.0),
        ("clip_tiny", grads, 1e-3, 2.0), ("clip_zero", zero, 1.0, 2.0),
        ("clip_largest_entry", grads, 0.5, math.inf), ("clip_sum", grads, 2.0, 1.0),
    ):
        params = {k: torch.zeros_like(g).requires_grad_(True) for k, g in source.items()}
        for k, p in params.items():
            p.grad = source[k].clone()
        norm = torch.nn.utils.clip_grad_norm_(params.values(), max_norm, norm_type=kind)
        ref.put(f"{case}.norm", norm)
        for k, p in params.items():
            ref.put(f"{case}.grad.{k}", p.grad)
        ref.case_config(case, dict(
            max_norm=max_norm, norm_type="inf" if kind == math.inf else kind,
            note="of gradients that are all zero" if source is zero else "of clip.grad"))


def schedules(ref):
    steps = [1, 2, 3, 10, 99, 100, 101, 500, 1000, 3999, 4000, 4001, 8000, 16000, 50000, 100000, 1000000]
    for case, function, options in (
        ("noam", noam, dict(d=512, warmup=4000, factor=1.0)),
        ("noam_small", noam, dict(d=256, warmup=100, factor=2.0)),
        ("noam_warmup1", noam, dict(d=64, warmup=1, factor=0.5)),
        ("inverse_sqrt", inverse_sqrt, dict(peak=5e-4, warmup=4000, start=0.0)),
        ("inverse_sqrt_start", inverse_sqrt, dict(peak=1e-3, warmup=100, start=1e-7)),
        ("cosine", cosine, dict(peak=3e-4, warmup=100, total=100000, floor=0.0)),
        ("cosine_floor", cosine, dict(peak=1e-3, warmup=4000, total=50000, floor=1e-5)),
        ("cosine_no_warmup", cosine, dict(peak=1e-3, warmup=0, total=1000, floor=0.0)),
    ):
        wanted = [0, *steps] if function is noam else steps
        rates = [function(s, **options) for s in wanted]
        # The peak is at the end of warm-up; without one, at the first step.
        peak = max(function(s, **options) for s in (1, max(options["warmup"], 1)))
        assert peak >= max(rates)
        ref.put(f"{case}.steps", torch.tensor(wanted))
        ref.put(f"{case}.rates", torch.tensor(rates, dtype=torch.float64))
        ref.put(f"{case}.peak", torch.tensor(peak, dtype=torch.float64))
        ref.case_config(case, dict(schedule=function.__name__, **options))

    # torch's own schedulers, which call the first step 0, agree with the formulas.
    p = torch.zeros(1, requires_grad=True)
    sgd = torch.optim.SGD([p], lr=1e-3)
    annealing = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, T_max=100, eta_min=1e-5)
    for s in range(1, 101):
        sgd.step()
        annealing.step()
        assert math.isclose(annealing.get_last_lr()[0], cosine(s, 1e-3, 0, 100, 1e-5), rel_tol=1e-9)


def make():
    draw = Draw(61)
    ref = Reference(
        "optim",
        "Parameters w (3, 4) and b (5) after each of 12 steps: CASE.w (12, 3, 4), CASE.b (12, 5), from "
        "param.w, param.b with the gradients grads.w, grads.b. clip_*: CASE.norm, CASE.grad.{w,b}. "
        "Schedules: CASE.steps, CASE.rates, CASE.peak. muon*: CASE.{wide,tall,square} from muon.param, muon.grads.",
        steps=STEPS,
    )
    trajectories(ref, draw)
    clipping(ref, draw)
    schedules(ref)
    muon(ref, draw)
    return [ref]
