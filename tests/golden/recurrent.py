# SPDX-License-Identifier: Apache-2.0
"""Writes recurrent.txt beside it: recurrent layers on sequences of 10 steps by PyTorch in double precision.

python3 tests/golden/recurrent.py    (made with PyTorch 2.x; any version gives the same numbers to about 1e-15)

torch.nn.RNN, LSTM and GRU compute the cases named after them, with packed sequences for the masked ones. Steps written out with
PyTorch's functions compute what these modules lack: peepholes, a GRU with the reset gate before the product, other
activations, masks with gaps. For each case a line `case NAME batch N`, then `input`, `mask` (1: the step is unmasked), for each
direction `parameter DIRECTION.NAME` in the order of Cohort's gates (lstm i f c o, gru z r n), `output` and `diff_output` (both
directions concatenated; 0 at masked steps), `last` (the states after the last step), then the gradients `gradient
DIRECTION.NAME` and `diff_input`; all row-major. The layers of the same names are in layer/recurrent_test.cpp.
"""
import pathlib

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
BATCH, STEPS, FEATURES, UNITS = 3, 10, 2, 3
LENGTHS = torch.tensor([7, 10, 4])
RIGHT = (torch.arange(STEPS) < LENGTHS[:, None]).double()
GAPS = torch.tensor([[0, 1, 1, 0, 0, 1, 1, 1, 0, 1], [1, 1, 0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1, 1, 1, 1, 0]]).double()


def blocks(t, order):
    """The blocks of t's first axis in another order."""
    parts = t.chunk(len(order))
    return torch.cat([parts[i] for i in order])


def module_case(kind, order, masked, bidirectional, **more):
    """A module of PyTorch, whose gates have another order. The second bias is 0 and fixed unless Cohort has one."""
    module = kind(FEATURES, UNITS, batch_first=True, bidirectional=bidirectional, **more)
    x = torch.randn(BATCH, STEPS, FEATURES, requires_grad=True)
    if kind is not nn.GRU and module.bias:
        for name, p in module.named_parameters():
            if name.startswith("bias_hh"):
                nn.init.zeros_(p)
    if masked:
        packed = nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
        out, last = module(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=STEPS)
    else:
        out, last = module(x)
    last = last[0] if isinstance(last, tuple) else last
    mask = RIGHT if masked else torch.ones(BATCH, STEPS)
    diff = torch.randn_like(out) * mask[:, :, None]
    out.backward(diff)
    names = {"weight_ih_l0": "weights", "weight_hh_l0": "recurrent_weights", "bias_ih_l0": "bias"}
    if kind is nn.GRU:
        names["bias_hh_l0"] = "recurrent_bias"
    lines = [("input", x), ("mask", mask)]
    directions = [("forward", "")] + ([("reverse", "_reverse")] if bidirectional else [])
    for what, of in (("parameter", lambda p: p), ("gradient", lambda p: p.grad)):
        for direction, suffix in directions:
            for theirs, ours in names.items():
                if hasattr(module, theirs + suffix):
                    lines.append((f"{what} {direction}.{ours}", blocks(of(getattr(module, theirs + suffix)), order)))
    return lines + [("output", out), ("diff_output", diff), ("last", last.transpose(0, 1)), ("diff_input", x.grad)]


def steps_case(cell, gates, mask=None, resets=False, bias=True, recurrent_bias=False, peepholes=False):
    """Steps written out: a masked step keeps the state, or resets it."""
    p = {"weights": torch.randn(gates * UNITS, FEATURES) * 0.5, "recurrent_weights": torch.randn(gates * UNITS, UNITS) * 0.5}
    if bias:
        p["bias"] = torch.randn(gates * UNITS) * 0.5
    if recurrent_bias:
        p["recurrent_bias"] = torch.randn(gates * UNITS) * 0.5
    if peepholes:
        p["peepholes"] = torch.randn(3 * UNITS) * 0.5
    for value in p.values():
        value.requires_grad_()
    x = torch.randn(BATCH, STEPS, FEATURES, requires_grad=True)
    mask = torch.ones(BATCH, STEPS) if mask is None else mask
    h = c = torch.zeros(BATCH, UNITS)
    out, last = [], torch.zeros(BATCH, UNITS)
    for t in range(STEPS):
        h_new, c_new = cell(p, x[:, t], h, c)
        here = mask[:, t, None]
        keep = 0 if resets else 1
        h, c = here * h_new + (1 - here) * keep * h, here * c_new + (1 - here) * keep * c
        out.append(h)
        last = here * h + (1 - here) * last
    out = torch.stack(out, 1)
    diff = torch.randn_like(out) * mask[:, :, None]
    out.backward(diff)
    lines = [("input", x), ("mask", mask)] + [("parameter forward." + k, v) for k, v in p.items()]
    lines += [("gradient forward." + k, v.grad) for k, v in p.items()]
    return lines + [("output", out), ("diff_output", diff), ("last", last), ("diff_input", x.grad)]


def sums(p, x, h):
    return x @ p["weights"].T + h @ p["recurrent_weights"].T + p.get("bias", 0)


def simple(activation):
    def cell(p, x, h, c):
        return activation(sums(p, x, h)), c
    return cell


def lstm(gate=torch.sigmoid, activation=torch.tanh):
    def cell(p, x, h, c):
        i, f, n, o = sums(p, x, h).chunk(4, 1)
        pi, pf, po = p["peepholes"].chunk(3) if "peepholes" in p else (0, 0, 0)
        i, f = gate(i + pi * c), gate(f + pf * c)
        c = f * c + i * activation(n)
        return gate(o + po * c) * activation(c), c
    return cell


def gru(after, gate=torch.sigmoid, activation=torch.tanh):
    def cell(p, x, h, c):
        xz, xr, xn = (x @ p["weights"].T + p.get("bias", 0)).chunk(3, 1)
        rz, rr, rn = p["recurrent_weights"].chunk(3)
        qz, qr, qn = p["recurrent_bias"].chunk(3) if "recurrent_bias" in p else (0, 0, 0)
        z, r = gate(xz + h @ rz.T + qz), gate(xr + h @ rr.T + qr)
        n = activation(xn + (r * (h @ rn.T + qn) if after else (r * h) @ rn.T))
        return z * h + (1 - z) * n, c
    return cell


def hard_sigmoid(x):
    return torch.clamp(0.2 * x + 0.5, 0, 1)


def cases():
    kinds = {"simple_rnn": (nn.RNN, [0]), "lstm": (nn.LSTM, [0, 1, 2, 3]), "gru": (nn.GRU, [1, 0, 2])}
    for name, (kind, order) in kinds.items():
        for masked in (False, True):
            for bidirectional in (False, True):
                suffix = ("_masked" if masked else "") + ("_bidirectional" if bidirectional else "")
                yield name + suffix, module_case(kind, order, masked, bidirectional)
    yield "simple_rnn_relu", module_case(nn.RNN, [0], False, False, nonlinearity="relu", bias=False)
    yield "simple_rnn_gaps", steps_case(simple(torch.tanh), 1, GAPS)
    yield "simple_rnn_resets", steps_case(simple(torch.sigmoid), 1, GAPS, resets=True)
    yield "simple_rnn_identity", steps_case(simple(lambda x: x), 1)
    yield "lstm_no_bias", steps_case(lstm(), 4, bias=False)
    yield "lstm_hard", steps_case(lstm(hard_sigmoid, lambda x: torch.clamp(x, -1, 1)), 4)
    yield "lstm_peepholes", steps_case(lstm(), 4, peepholes=True)
    yield "lstm_peepholes_gaps", steps_case(lstm(), 4, GAPS, peepholes=True)
    yield "lstm_resets", steps_case(lstm(), 4, GAPS, resets=True)
    yield "lstm_peepholes_resets", steps_case(lstm(), 4, GAPS, resets=True, peepholes=True)
    yield "gru_gaps", steps_case(gru(True), 3, GAPS, recurrent_bias=True)
    yield "gru_resets", steps_case(gru(True), 3, GAPS, resets=True, recurrent_bias=True)
    yield "gru_before", steps_case(gru(False), 3)
    yield "gru_before_gaps", steps_case(gru(False, hard_sigmoid, torch.relu), 3, GAPS)
    yield "gru_before_resets", steps_case(gru(False), 3, GAPS, resets=True)


def numbers(t):
    return " ".join(f"{x:.13g}" for x in t.detach().flatten().tolist())


def main():
    torch.manual_seed(25)
    lines = []
    for name, tensors in cases():
        lines.append(f"case {name} batch {BATCH}")
        lines += [f"{key} {numbers(value)}" for key, value in tensors]
    pathlib.Path(__file__).with_name("recurrent.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
