# SPDX-License-Identifier: Apache-2.0
"""Writes optimizers.txt beside it: ten steps of each optimizer in double precision.

python3 tests/golden/optimizers.py    (made with PyTorch 2.15; any version with these optimizers gives the same numbers)

Every optimizer is computed by the few lines of `oracle` below, from the published formulas, without PyTorch. If PyTorch has
the same rule, PyTorch's values are written, after both were found equal within 1e-13. The following optimizers use only the oracle,
because PyTorch has
  adamax     ε inside the maximum (max(β₂n, |g| + ε)), not beside the root
  nadam      a schedule of β₁ that cannot be turned off
  adabelief, lion, lamb, lars, no_op   not at all

The rate starts at `rate` and is halved every 4 steps. l2 is added to the gradient before the rule (PyTorch's weight_decay,
except AdamW's, which is the rule's decay). The gradients of the ten steps (`g …`) are written first and are the same in all
cases; then for each case a line `case NAME rate R l2 L FIELD VALUE …` and `w …`: the parameters before the first step and after each.
"""
import math
import pathlib

import torch

STEPS, SIZE = 10, 6
# name: rate, fields that are not the defaults, PyTorch's or None
CASES = {
    "sgd": (0.1, {}, lambda p, **k: torch.optim.SGD(p, **k)),
    "momentum": (0.05, {"momentum": 0.9}, lambda p, **k: torch.optim.SGD(p, momentum=0.9, **k)),
    "nesterov": (0.05, {"momentum": 0.8}, lambda p, **k: torch.optim.SGD(p, momentum=0.8, nesterov=True, **k)),
    "adam": (0.01, {}, lambda p, **k: torch.optim.Adam(p, betas=(0.9, 0.999), eps=1e-8, **k)),
    "adamw": (0.01, {"beta1": 0.8, "decay": 0.1},
              lambda p, **k: torch.optim.AdamW(p, betas=(0.8, 0.999), eps=1e-8, **{**k, "weight_decay": 0.1})),
    "amsgrad": (0.01, {"beta2": 0.7},
                lambda p, **k: torch.optim.Adam(p, betas=(0.9, 0.7), eps=1e-8, amsgrad=True, **k)),
    "adamax": (0.01, {"beta2": 0.9, "epsilon": 1e-3}, None),
    "nadam": (0.01, {"beta1": 0.8, "epsilon": 1e-3}, None),
    "adabelief": (0.01, {"beta2": 0.95, "epsilon": 1e-3}, None),
    "adagrad": (0.1, {}, lambda p, **k: torch.optim.Adagrad(p, initial_accumulator_value=1e-6, eps=1e-6, **k)),
    "adadelta": (0.5, {"rho": 0.9}, lambda p, **k: torch.optim.Adadelta(p, rho=0.9, eps=1e-6, **k)),
    "rmsprop": (0.01, {"epsilon": 1e-3},
                lambda p, **k: torch.optim.RMSprop(p, alpha=0.95, eps=1e-3, **k)),
    "lion": (0.01, {"decay": 0.1}, None),
    "lamb": (0.05, {"beta1": 0.8, "epsilon": 1e-3, "decay": 0.1}, None),
    "lars": (1.0, {"momentum": 0.8, "decay": 0.1, "trust": 0.05}, None),
    "no_op": (1, {}, None),
}
DEFAULTS = {
    "momentum": {"momentum": 0.9}, "nesterov": {"momentum": 0.9}, "adagrad": {"epsilon": 1e-6, "initial": 1e-6},
    "adadelta": {"rho": 0.95, "epsilon": 1e-6}, "rmsprop": {"rho": 0.95, "epsilon": 1e-8},
    "adabelief": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-14}, "lion": {"beta1": 0.9, "beta2": 0.99, "decay": 0},
    "adamw": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "decay": 0.01}, "sgd": {}, "no_op": {},
}
ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}


def oracle(name, fields, l2, w, gradients, rates):
    """One element after each step."""
    f = {**DEFAULTS.get(name, ADAM), **fields}
    b1, b2, eps = f.get("beta1"), f.get("beta2"), f.get("epsilon")
    m = v = top = 0.0
    h = f.get("initial", 0.0)
    for t, (g, lr) in enumerate(zip(gradients, rates), 1):
        g += l2 * w
        if name == "sgd":
            u = lr * g
        elif name in ("momentum", "nesterov"):
            v = f["momentum"] * v + g
            u = lr * (v if name == "momentum" else g + f["momentum"] * v)
        elif name == "adagrad":
            h += g * g
            u = lr * g / (math.sqrt(h) + eps)
        elif name == "rmsprop":
            v = f["rho"] * v + (1 - f["rho"]) * g * g
            u = lr * g / (math.sqrt(v) + eps)
        elif name == "adadelta":
            v = f["rho"] * v + (1 - f["rho"]) * g * g
            x = g * math.sqrt(m + eps) / math.sqrt(v + eps)
            m = f["rho"] * m + (1 - f["rho"]) * x * x
            u = lr * x
        elif name == "lion":
            c = b1 * m + (1 - b1) * g
            u = lr * ((c > 0) - (c < 0) + f["decay"] * w)
            m = b2 * m + (1 - b2) * g
        elif name == "no_op":
            u = g
        else:  # the family of Adam
            m = b1 * m + (1 - b1) * g
            m_hat = m / (1 - b1**t)
            if name == "adamax":
                v = max(b2 * v, abs(g))
                u = lr * m_hat / (v + eps)
            else:
                v = b2 * v + (1 - b2) * (g - m) ** 2 + eps if name == "adabelief" else b2 * v + (1 - b2) * g * g
                top = max(top, v)
                v_hat = (top if name == "amsgrad" else v) / (1 - b2**t)
                if name == "nadam":
                    m_hat = b1 * m_hat + (1 - b1) * g / (1 - b1**t)
                u = lr * m_hat / (math.sqrt(v_hat) + eps) + (lr * f["decay"] * w if name == "adamw" else 0)
        w -= u
        yield w


def by_norms(name, fields, l2, w, gradients, rates):
    """All elements of lars or lamb after each step: two norms couple them."""
    f = {**ADAM, **fields}
    v, m = [0.0] * len(w), [0.0] * len(w)
    for t, (g, lr) in enumerate(zip(gradients, rates), 1):
        if name == "lars":
            ratio = f["trust"] * math.hypot(*w) / (math.hypot(*g) + f["decay"] * math.hypot(*w))
            v = [f["momentum"] * b + lr * ratio * (a + (l2 + f["decay"]) * x) for a, b, x in zip(g, v, w)]
            w = [x - b for x, b in zip(w, v)]
        else:
            g = [a + l2 * x for a, x in zip(g, w)]
            m = [f["beta1"] * b + (1 - f["beta1"]) * a for a, b in zip(g, m)]
            v = [f["beta2"] * b + (1 - f["beta2"]) * a * a for a, b in zip(g, v)]
            r = [a / (1 - f["beta1"]**t) / (math.sqrt(b / (1 - f["beta2"]**t)) + f["epsilon"]) + f["decay"] * x
                 for a, b, x in zip(m, v, w)]
            ratio = math.hypot(*w) / math.hypot(*r)
            w = [x - lr * ratio * a for x, a in zip(w, r)]
        yield w


def by_pytorch(make, rate, l2, start, gradients):
    w = start.clone().requires_grad_()
    optimizer = make([w], lr=rate, weight_decay=l2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    for g in gradients:
        w.grad = g.clone()
        if isinstance(optimizer, torch.optim.AdamW):
            w.grad += l2 * w.detach()
        optimizer.step()
        schedule.step()
        yield w.detach().clone()


def numbers(values):
    return " ".join(f"{x:.17g}" for x in values)


def main():
    torch.manual_seed(20)
    start = torch.randn(SIZE, dtype=torch.float64)
    gradients = torch.randn(STEPS, SIZE, dtype=torch.float64)
    gradients[:, 1] = 0  # a dead unit
    start[1] = 0
    gradients[5:, 2] = 0  # one that dies
    lines = [f"g {numbers(g.tolist())}" for g in gradients]
    for name, (rate, fields, make) in CASES.items():
        for l2 in (0.0, 0.01):
            rates = [rate * 0.5 ** (step // 4) for step in range(STEPS)]
            if name in ("lars", "lamb"):
                rows = list(by_norms(name, fields, l2, start.tolist(), gradients.tolist(), rates))
            else:
                columns = [oracle(name, fields, l2, w, g, rates) for w, g in zip(start.tolist(), gradients.T.tolist())]
                rows = list(zip(*columns))
            if make:
                torchs = [w.tolist() for w in by_pytorch(make, rate, l2, start, gradients)]
                worst = max(abs(a - b) for x, y in zip(rows, torchs) for a, b in zip(x, y))
                assert worst < 1e-13, (name, worst)
                rows = torchs
            of_case = "".join(f" {key} {value}" for key, value in fields.items())
            lines.append(f"case {name} rate {rate} l2 {l2}{of_case}")
            lines += [f"w {numbers(row)}" for row in [start.tolist(), *rows]]
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
