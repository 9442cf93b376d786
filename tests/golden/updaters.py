# SPDX-License-Identifier: Apache-2.0
"""Writes updaters.txt beside it: ten steps of each updater by PyTorch, in double precision.

python3 tests/golden/updaters.py    (made with PyTorch 2.x; any version with these optimizers gives the same numbers)

The rate starts at `rate` and is halved every 4 steps. l2 is PyTorch's weight_decay: added to the gradient before
the rule. The gradients of the ten steps (`g …`) come first and are the same in all cases; then for each case a line
`case NAME rate R l2 L` and `w …`: the parameters before the first step and after each step.
"""
import pathlib

import torch

STEPS, SIZE = 10, 6
CASES = {
    "sgd": (0.1, lambda p, **k: torch.optim.SGD(p, **k)),
    "momentum": (0.05, lambda p, **k: torch.optim.SGD(p, momentum=0.9, **k)),
    "nesterov": (0.05, lambda p, **k: torch.optim.SGD(p, momentum=0.8, nesterov=True, **k)),
    "adagrad": (0.1, lambda p, **k: torch.optim.Adagrad(p, initial_accumulator_value=1e-6, eps=1e-6, **k)),
    "adam": (0.01, lambda p, **k: torch.optim.Adam(p, betas=(0.9, 0.999), eps=1e-8, **k)),
}


def numbers(t):
    return " ".join(f"{x:.17g}" for x in t.tolist())


def main():
    torch.manual_seed(20)
    start = torch.randn(SIZE, dtype=torch.float64)
    gradients = torch.randn(STEPS, SIZE, dtype=torch.float64)
    gradients[:, 1] = 0  # a dead unit
    start[1] = 0
    gradients[5:, 2] = 0  # one that dies
    lines = [f"g {numbers(g)}" for g in gradients]
    for name, (rate, make) in CASES.items():
        for l2 in (0.0, 0.01):
            w = start.clone().requires_grad_()
            optimizer = make([w], lr=rate, weight_decay=l2)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
            lines += [f"case {name} rate {rate} l2 {l2}", f"w {numbers(w.detach())}"]
            for g in gradients:
                w.grad = g.clone()
                optimizer.step()
                schedule.step()
                lines.append(f"w {numbers(w.detach())}")
    out = pathlib.Path(__file__).with_suffix(".txt")
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
