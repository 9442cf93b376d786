# SPDX-License-Identifier: Apache-2.0
"""Writes recurrent_states.txt beside it: recurrent layers with initial and final states by PyTorch in double precision.

python3 tests/golden/recurrent_states.py    (made with PyTorch 2.x; any version gives the same numbers to about 1e-15)

Uses the cells of recurrent.py. For each case a line `case NAME batch N`, then `input`, `mask`, for each direction `parameter
DIRECTION.NAME`, `initial DIRECTION.NAME` (h, and c of an lstm), `final DIRECTION.NAME`, `diff_final DIRECTION.NAME`, `output` and
`diff_output` (both directions concatenated; 0 at masked steps), then the gradients `gradient DIRECTION.NAME`, `diff_initial
DIRECTION.NAME` and `diff_input`. The layers of the same names are in layer/recurrent_state_test.cpp.
"""
import pathlib

import torch
from torch import nn

from recurrent import BATCH, FEATURES, GAPS, LENGTHS, RIGHT, STEPS, UNITS, blocks, gru, lstm, numbers

torch.set_default_dtype(torch.float64)
DIRECTIONS = [("forward", ""), ("reverse", "_reverse")]


def module_case(kind, order, masked):
    """A bidirectional module of PyTorch. The second bias is 0 and fixed unless Cohort has one."""
    module = kind(FEATURES, UNITS, batch_first=True, bidirectional=True)
    names = ["h", "c"] if kind is nn.LSTM else ["h"]
    if kind is not nn.GRU:
        for name, p in module.named_parameters():
            if name.startswith("bias_hh"):
                nn.init.zeros_(p)
    x = torch.randn(BATCH, STEPS, FEATURES, requires_grad=True)
    initial = [torch.randn(2, BATCH, UNITS, requires_grad=True) for _ in names]
    given = tuple(initial) if kind is nn.LSTM else initial[0]
    if masked:
        packed = nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
        out, final = module(packed, given)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=STEPS)
    else:
        out, final = module(x, given)
    final = final if kind is nn.LSTM else (final,)
    mask = RIGHT if masked else torch.ones(BATCH, STEPS)
    diff = torch.randn_like(out) * mask[:, :, None]
    diff_final = [torch.randn_like(one) for one in final]
    torch.autograd.backward([out, *final], [diff, *diff_final])
    theirs = {"weight_ih_l0": "weights", "weight_hh_l0": "recurrent_weights", "bias_ih_l0": "bias"}
    if kind is nn.GRU:
        theirs["bias_hh_l0"] = "recurrent_bias"
    lines = [("input", x), ("mask", mask)]
    for what, of in (("parameter", lambda p: p), ("gradient", lambda p: p.grad)):
        for direction, suffix in DIRECTIONS:
            for name, ours in theirs.items():
                lines.append((f"{what} {direction}.{ours}", blocks(of(getattr(module, name + suffix)), order)))
    for d, (direction, _) in enumerate(DIRECTIONS):
        for i, name in enumerate(names):
            lines += [(f"initial {direction}.{name}", initial[i][d]), (f"final {direction}.{name}", final[i][d]),
                      (f"diff_final {direction}.{name}", diff_final[i][d]), (f"diff_initial {direction}.{name}", initial[i].grad[d])]
    return lines + [("output", out), ("diff_output", diff), ("diff_input", x.grad)]


def steps_case(cell, gates, mask=None, peepholes=False):
    """Steps written out: a masked step keeps the state, and repeats the output before it, or 0."""
    p = {"weights": torch.randn(gates * UNITS, FEATURES) * 0.5, "recurrent_weights": torch.randn(gates * UNITS, UNITS) * 0.5,
         "bias": torch.randn(gates * UNITS) * 0.5}
    if peepholes:
        p["peepholes"] = torch.randn(3 * UNITS) * 0.5
    names = ["h", "c"] if gates == 4 else ["h"]
    initial = [torch.randn(BATCH, UNITS, requires_grad=True) for _ in names]
    for value in p.values():
        value.requires_grad_()
    x = torch.randn(BATCH, STEPS, FEATURES, requires_grad=True)
    mask = torch.ones(BATCH, STEPS) if mask is None else mask
    h, c = initial[0], initial[-1]
    out = []
    for t in range(STEPS):
        h_new, c_new = cell(p, x[:, t], h, c)
        here = mask[:, t, None]
        h, c = here * h_new + (1 - here) * h, here * c_new + (1 - here) * c
        out.append(h)
    out = torch.stack(out, 1)
    final = [h, c][:len(names)]
    diff = torch.randn_like(out) * mask[:, :, None]
    diff_final = [torch.randn_like(one) for one in final]
    torch.autograd.backward([out, *final], [diff, *diff_final])
    lines = [("input", x), ("mask", mask)] + [("parameter forward." + k, v) for k, v in p.items()]
    lines += [("gradient forward." + k, v.grad) for k, v in p.items()]
    for i, name in enumerate(names):
        lines += [(f"initial forward.{name}", initial[i]), (f"final forward.{name}", final[i]),
                  (f"diff_final forward.{name}", diff_final[i]), (f"diff_initial forward.{name}", initial[i].grad)]
    return lines + [("output", out), ("diff_output", diff), ("diff_input", x.grad)]


def cases():
    for name, (kind, order) in {"simple_rnn": (nn.RNN, [0]), "lstm": (nn.LSTM, [0, 1, 2, 3]), "gru": (nn.GRU, [1, 0, 2])}.items():
        yield name, module_case(kind, order, False)
        yield name + "_masked", module_case(kind, order, True)
    yield "lstm_peepholes", steps_case(lstm(), 4, peepholes=True)
    yield "lstm_peepholes_gaps", steps_case(lstm(), 4, GAPS, peepholes=True)
    yield "gru_before", steps_case(gru(False), 3)
    yield "gru_before_gaps", steps_case(gru(False), 3, GAPS)


def main():
    torch.manual_seed(26)
    lines = []
    for name, tensors in cases():
        lines.append(f"case {name} batch {BATCH}")
        lines += [f"{key} {numbers(value)}" for key, value in tensors]
    pathlib.Path(__file__).with_name("recurrent_states.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
