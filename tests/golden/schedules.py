# SPDX-License-Identifier: Apache-2.0
"""Writes schedules.txt beside it: the values of each schedule at x = 0 … 12, by PyTorch (made with 2.15) if it has the schedule.

Lines `case NAME FIELD VALUE …` with the fields that are not the defaults, then `v …`. The last case, reduce_on_plateau, has the
losses that it receives (`loss …`) and the factor after each.

PyTorch has no inverse and no sigmoid schedule: their values are those of the formulas. PyTorch's cosine rises again after its
length, where Cohort's stays constant, so no values after the length are written. PyTorch's OneCycleLR counts to the last step,
Cohort's to the one after it: total_steps 11 is length 10.
"""
import math
import pathlib

import torch
from torch.optim import lr_scheduler as torchs

COUNT = 13


def values(make, initial, count=COUNT, of="lr"):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=initial, momentum=0.9)
    schedule = make(optimizer)
    result = []
    for _ in range(count):
        result.append(optimizer.param_groups[0][of])
        optimizer.step()
        schedule.step()
    return result


def one_cycle(optimizer):
    return torchs.OneCycleLR(optimizer, max_lr=0.5, total_steps=11, pct_start=4 / 11, div_factor=10, final_div_factor=100,
                             base_momentum=0.85, max_momentum=0.95)


def plateau(losses, least, **how):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = torchs.ReduceLROnPlateau(optimizer, min_lr=least, **how)
    for loss in losses:
        schedule.step(loss)
        yield optimizer.param_groups[0]["lr"]


def times(a, b):
    return [x * y for x, y in zip(a, b)]


WARM = values(lambda o: torchs.LinearLR(o, start_factor=1 / 5, total_iters=4), 1.0)
COSINE = values(lambda o: torchs.CosineAnnealingWarmRestarts(o, T_0=4, T_mult=2, eta_min=0.01), 0.4)
CASES = [
    ("fixed", {"value": 0.02}, [0.02] * COUNT),
    ("step", {"initial": 0.4, "factor": 0.5, "every": 3}, values(lambda o: torchs.StepLR(o, 3, 0.5), 0.4)),
    ("exponential", {"initial": 0.4, "factor": 0.9}, values(lambda o: torchs.ExponentialLR(o, 0.9), 0.4)),
    ("inverse", {"initial": 0.4, "gamma": 0.5, "power": 0.75}, [0.4 / (1 + 0.5 * x) ** 0.75 for x in range(COUNT)]),
    ("polynomial", {"initial": 0.4, "length": 9, "power": 2.5},
     values(lambda o: torchs.PolynomialLR(o, total_iters=9, power=2.5), 0.4)),
    ("sigmoid", {"initial": 0.4, "gamma": 0.7, "middle": 6}, [0.4 / (1 + math.exp(0.7 * (x - 6))) for x in range(COUNT)]),
    ("map", {"from_0": 0, "value_0": 0.4, "from_1": 3, "value_1": 0.2, "from_2": 8, "value_2": 0.1},
     values(lambda o: torchs.MultiStepLR(o, [3, 8], gamma=0.5), 0.4)),
    ("cosine", {"initial": 0.4, "length": 12, "floor": 0.01},
     values(lambda o: torchs.CosineAnnealingLR(o, T_max=12, eta_min=0.01), 0.4)),
    ("cosine", {"initial": 0.4, "length": 5, "restarts": 1},
     values(lambda o: torchs.CosineAnnealingWarmRestarts(o, T_0=5), 0.4)),
    ("cosine", {"initial": 0.4, "length": 4, "floor": 0.01, "restarts": 1, "growth": 2}, COSINE),
    ("one_cycle", {"initial": 0.05, "peak": 0.5, "final": 0.0005, "length": 10}, values(one_cycle, 0.5, count=11)),
    ("one_cycle", {"initial": 0.95, "peak": 0.85, "final": 0.95, "length": 10}, values(one_cycle, 0.5, count=11, of="momentum")),
    ("fixed", {"value": 0.02, "warm_up": 5}, times(WARM, [0.02] * COUNT)),
    ("cosine", {"initial": 0.4, "length": 4, "floor": 0.01, "restarts": 1, "growth": 2, "warm_up": 5}, times(WARM, COSINE)),
]
LOSSES = [1, 0.5, 0.5, 0.49, 0.49, 0.489, 0.489, 0.489, 0.489, 0.4, 0.4, 0.4, 0.39999, 0.4, *[0.3] * 10]
PLATEAU = {"factor": 0.5, "patience": 2, "threshold": 0.01, "cooldown": 1, "least": 0.1}


def numbers(values):
    return " ".join(f"{x:.17g}" for x in values)


def main():
    lines = []
    for name, fields, expected in CASES:
        lines += [f"case {name}" + "".join(f" {key} {value}" for key, value in fields.items()), f"v {numbers(expected)}"]
    lines += ["case reduce_on_plateau" + "".join(f" {key} {value}" for key, value in PLATEAU.items()),
              f"loss {numbers(LOSSES)}", f"v {numbers(plateau(LOSSES, **PLATEAU))}"]
    pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
