# SPDX-License-Identifier: Apache-2.0
"""Writes recurrent_orders.txt beside it: recurrent layers of other systems, with weights as these systems store them.

python3 tests/golden/recurrent_orders.py    (made with onnx 1.23, Keras 3.15 with jax in double precision)

ONNX's operators are run by its reference evaluator, Keras's layers by Keras. Deeplearning4j's layer is written out from its sources
(LSTMHelpers: blocks c f o i; GravesLSTM has three further columns of recurrent weights, for f, o and i). For each case a line
`case NAME batch N`, then `input` (batch x steps x features), `weights`, `recurrent`, `bias`, `recurrent_bias` and `peepholes` where
the system has them, and `output` (batch x steps x units); all row-major. layer/recurrent_orders_test.cpp converts them by the table
in docs/sequences.md.
"""
import os
import pathlib

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"
import keras
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

BATCH, STEPS, C, U = 2, 4, 3, 3
draw = np.random.default_rng(25).standard_normal


def onnx_case(op, gates, peepholes=False, **attributes):
    x, w, r = draw((BATCH, STEPS, C)), draw((1, gates * U, C)), draw((1, gates * U, U))
    b = draw((1, 2 * gates * U))
    names = ["X", "W", "R", "B"] + (["", "", "", "P"] if peepholes else [])
    feeds = {"X": x.transpose(1, 0, 2), "W": w, "R": r, "B": b}
    if peepholes:
        feeds["P"] = draw((1, 3 * U))
    node = helper.make_node(op, names, ["Y"], hidden_size=U, **attributes)
    infos = [helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, None) for n in feeds]
    graph = helper.make_graph([node], "cell", infos, [helper.make_tensor_value_info("Y", onnx.TensorProto.DOUBLE, None)])
    y = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])).run(None, feeds)[0]
    lines = [("input", x), ("weights", w), ("recurrent", r), ("bias", b[:, :gates * U]), ("recurrent_bias", b[:, gates * U:])]
    if peepholes:
        lines.append(("peepholes", feeds["P"]))
    return lines + [("output", y[:, 0].transpose(1, 0, 2))]


def keras_case(layer):
    x = draw((BATCH, STEPS, C))
    layer.build(x.shape)
    values = [draw(v.shape) for v in layer.weights]
    layer.set_weights(values)
    weights, recurrent, bias = values
    lines = [("input", x), ("weights", weights), ("recurrent", recurrent), ("bias", bias if bias.ndim == 1 else bias[0])]
    if bias.ndim == 2:
        lines.append(("recurrent_bias", bias[1]))
    return lines + [("output", np.asarray(layer(x)))]


def deeplearning4j_case(peepholes):
    x, w, rw, b = draw((BATCH, STEPS, C)), draw((C, 4 * U)), draw((U, 4 * U + (3 if peepholes else 0))), draw(4 * U)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    pf, po, pi = rw[:, 4 * U:].T if peepholes else (0, 0, 0)
    h = c = np.zeros((BATCH, U))
    out = []
    for t in range(STEPS):
        candidate, f, o, i = np.split(x[:, t] @ w + h @ rw[:, :4 * U] + b, 4, axis=1)
        f, i = sigmoid(f + c * pf), sigmoid(i + c * pi)
        c = f * c + i * np.tanh(candidate)
        h = sigmoid(o + c * po) * np.tanh(c)
        out.append(h)
    lines = [("input", x), ("weights", w), ("recurrent", rw[:, :4 * U]), ("bias", b)]
    if peepholes:
        lines.append(("peepholes", rw[:, 4 * U:]))
    return lines + [("output", np.stack(out, 1))]


def cases():
    yield "onnx_lstm", onnx_case("LSTM", 4)
    yield "onnx_lstm_peepholes", onnx_case("LSTM", 4, peepholes=True)
    yield "onnx_gru", onnx_case("GRU", 3, linear_before_reset=1)
    yield "onnx_gru_before", onnx_case("GRU", 3, linear_before_reset=0)
    yield "onnx_simple_rnn", onnx_case("RNN", 1)
    yield "keras_lstm", keras_case(keras.layers.LSTM(U, return_sequences=True, dtype="float64"))
    yield "keras_gru", keras_case(keras.layers.GRU(U, return_sequences=True, dtype="float64"))
    yield "keras_gru_before", keras_case(keras.layers.GRU(U, return_sequences=True, dtype="float64", reset_after=False))
    yield "deeplearning4j_lstm", deeplearning4j_case(False)
    yield "deeplearning4j_lstm_peepholes", deeplearning4j_case(True)


def main():
    lines = []
    for name, tensors in cases():
        lines.append(f"case {name} batch {BATCH}")
        lines += [f"{key} " + " ".join(f"{v:.13g}" for v in np.asarray(value).flatten()) for key, value in tensors]
    pathlib.Path(__file__).with_name("recurrent_orders.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
