"""11. Adam with warm-up: `glim course check adam` checks it, `glim course hint adam` helps.

adam_step takes one step of Adam (Kingma and Ba 2015, algorithm 1), with the constants of the Transformer:
β₁ = 0.9, β₂ = 0.98, ε = 1e-9. `step` counts from 1. It returns the new parameter, m and v, and leaves its arguments as
they are.

    m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²
    m̂ = m / (1 - β₁ᵗ)            v̂ = v / (1 - β₂ᵗ)            θ ← θ - rate m̂ / (√v̂ + ε)

warm_up is the rate of Vaswani et al. 2017 (equation 3): it grows for `steps` steps, then falls as 1/√step.

    rate = d_model^-½ min(step^-½, step steps^-3/2)
"""
import numpy as np


def adam_step(parameter, gradient, m, v, step, rate):
    # answer: the new parameter, m and v
    m = 0.9 * m + 0.1 * gradient
    v = 0.98 * v + 0.02 * gradient * gradient
    mean, square = m / (1 - 0.9 ** step), v / (1 - 0.98 ** step)
    return parameter - rate * mean / (np.sqrt(square) + 1e-9), m, v
    # end


def warm_up(step, d_model, steps):
    # answer: the rate
    return d_model ** -0.5 * min(step ** -0.5, step * steps ** -1.5)
    # end
