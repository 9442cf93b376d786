# SPDX-License-Identifier: Apache-2.0
"""Writes caffe.txt and the folder caffe beside it: networks of Caffe with parameters, and their outputs.

python3 tests/golden/caffe.py    (made with OpenCV 4.14.0 and numpy 2.4)

`convnet` and `branches` are run by OpenCV's reader of Caffe's files. The others are written out in numpy from the definitions of
Caffe's layers (pooling_layer.cpp, lrn_layer.cpp, lstm_layer.cpp, rnn_layer.cpp), because OpenCV does not have them or differs.
`convnet` has the format V1 with four extents for each blob, the others have V2. For each case a line `case NAME batch N`, then
`input` (batch first) and `output NAME`, all row-major. import_caffe_test.cpp imports them.
"""
import pathlib
import struct

import cv2
import numpy as np

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "caffe"
draw = np.random.default_rng(53).standard_normal
lines = []


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def whole(number, value):
    return varint(number << 3) + varint(value)


def blob(array, legacy):
    data = np.asarray(array, np.float32)
    if legacy:
        dims = (1,) * (4 - data.ndim) + data.shape
        shape = b"".join(whole(i + 1, d) for i, d in enumerate(dims))
    else:
        shape = field(7, field(1, b"".join(varint(d) for d in data.shape)))
    return shape + field(5, data.astype("<f4").tobytes())


V1_TYPES = {"Convolution": 4, "InnerProduct": 14, "BatchNorm": 0, "Scale": 0}


def caffemodel(layers, v1=False):
    out = b""
    for name, kind, blobs in layers:
        if v1:
            layer = field(4, name.encode()) + whole(5, V1_TYPES[kind])
            layer += b"".join(field(6, blob(b, True)) for b in blobs)
        else:
            layer = field(1, name.encode()) + field(2, kind.encode())
            layer += b"".join(field(7, blob(b, False)) for b in blobs)
        out += field(2 if v1 else 100, layer)
    return out


def store(name, prototxt, layers, v1=False):
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.prototxt").write_text(prototxt)
    (FOLDER / f"{name}.caffemodel").write_bytes(caffemodel(layers, v1))


def case(name, x, outputs):
    lines.append(f"case {name} batch {len(x)}")
    lines.append("input " + " ".join(f"{v:.9g}" for v in x.ravel()))
    for key, y in outputs.items():
        lines.append(f"output {key} " + " ".join(f"{v:.9g}" for v in np.asarray(y).ravel()))


def by_opencv(name, x, outputs):
    net = cv2.dnn.readNetFromCaffe(str(FOLDER / f"{name}.prototxt"), str(FOLDER / f"{name}.caffemodel"))
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    net.setInput(x.astype(np.float32))
    case(name, x.astype(np.float32), dict(zip(outputs, net.forward(outputs))))


def convnet():
    # BatchNorm and Scale have no numbers in V1, so that this file has convolutions and products only.
    store("convnet", """name: "convnet"
input: "data"
input_dim: 2 input_dim: 3 input_dim: 11 input_dim: 13
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1" blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0
  convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layers { name: "relu1" type: RELU bottom: "conv1" top: "conv1" }
layers { name: "pool1" type: POOLING bottom: "conv1" top: "pool1" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layers { name: "norm1" type: LRN bottom: "pool1" top: "norm1" lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 } }
layers { name: "conv2" type: CONVOLUTION bottom: "norm1" top: "conv2"
  convolution_param { num_output: 6 kernel_h: 3 kernel_w: 1 pad_h: 1 pad_w: 0 group: 2 stride: 1 } }
layers { name: "relu2" type: RELU bottom: "conv2" top: "conv2" relu_param { negative_slope: 0.1 } }
layers { name: "pool2" type: POOLING bottom: "conv2" top: "pool2" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
layers { name: "drop" type: DROPOUT bottom: "pool2" top: "pool2" dropout_param { dropout_ratio: 0.4 } }
layers { name: "ip" type: INNER_PRODUCT bottom: "pool2" top: "ip" inner_product_param { num_output: 5 } }
layers { name: "prob" type: SOFTMAX bottom: "ip" top: "prob" }
""", [("conv1", "Convolution", [draw((4, 3, 3, 3)) / 3, draw(4)]), ("conv2", "Convolution", [draw((6, 2, 3, 1)), draw(6)]),
      ("ip", "InnerProduct", [draw((5, 6 * 3 * 3)) / 4, draw(5)])], v1=True)
    by_opencv("convnet", draw((2, 3, 11, 13)), ["prob"])


def branches():
    store("branches", """name: "branches"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 4 dim: 6 dim: 5 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 3 pad: 2 dilation: 2 bias_term: false } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" batch_norm_param { eps: 0.001 } }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "cut" type: "Slice" bottom: "conv" top: "a" top: "b" slice_param { axis: 1 slice_point: 3 } }
layer { name: "prelu" type: "PReLU" bottom: "a" top: "a2" }
layer { name: "elu" type: "ELU" bottom: "b" top: "b2" elu_param { alpha: 0.7 } }
layer { name: "sum" type: "Eltwise" bottom: "a2" bottom: "b2" top: "sum" eltwise_param { coeff: 0.5 coeff: -2 } }
layer { name: "most" type: "Eltwise" bottom: "a" bottom: "b" top: "most" eltwise_param { operation: MAX } }
layer { name: "power" type: "Power" bottom: "most" top: "power" power_param { power: 2 scale: 0.5 shift: 1 } }
layer { name: "abs" type: "AbsVal" bottom: "sum" top: "abs" }
layer { name: "bnll" type: "BNLL" bottom: "b" top: "bnll" }
layer { name: "join" type: "Concat" bottom: "power" bottom: "abs" bottom: "bnll" top: "join" }
layer { name: "up" type: "Deconvolution" bottom: "join" top: "up" convolution_param { num_output: 2 kernel_size: 4 stride: 2 pad: 1 } }
layer { name: "tanh" type: "TanH" bottom: "up" top: "up" }
layer { name: "ip" type: "InnerProduct" bottom: "up" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "sigmoid" type: "Sigmoid" bottom: "ip" top: "sigmoid" }
""", [("conv", "Convolution", [draw((6, 4, 3, 3)) / 4]), ("bn", "BatchNorm", [2 * draw(6), 2 * abs(draw(6)) + 1, [2.0]]),
      ("scale", "Scale", [draw(6), draw(6)]), ("prelu", "PReLU", [abs(draw(3)) / 4]),
      ("up", "Deconvolution", [draw((9, 2, 4, 4)) / 6, draw(2)]), ("ip", "InnerProduct", [draw((4, 240)) / 8, draw(4)])])
    by_opencv("branches", draw((2, 4, 6, 5)), ["join", "sigmoid"])


def pooled(x, average, k, s, p):
    """PoolingLayer with ceil rounding: windows are clipped; AVE divides by the window's part within the padded image."""
    n, c, height, width = x.shape
    sizes = []
    for extent in (height, width):
        out = -(-(extent + 2 * p - k) // s) + 1
        if p and (out - 1) * s >= extent + p:
            out -= 1
        sizes.append(out)
    y = np.empty((n, c, *sizes))
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            top, left = i * s - p, j * s - p
            bottom, right = min(top + k, height + p), min(left + k, width + p)
            part = x[:, :, max(top, 0):min(bottom, height), max(left, 0):min(right, width)]
            y[:, :, i, j] = part.sum((2, 3)) / ((bottom - top) * (right - left)) if average else part.max((2, 3))
    return y


POOLS = [(3, 2, 0), (3, 2, 1), (2, 2, 1), (3, 3, 1), (4, 3, 2), (2, 3, 0), (5, 1, 2), (3, 4, 2)]


def pooling():
    x = draw((2, 2, 7, 8)).astype(np.float32)
    text = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 2 dim: 7 dim: 8 } } }\n'
    outputs = {}
    for k, s, p in POOLS:
        for average in (False, True):
            name = f"{'ave' if average else 'max'}_{k}_{s}_{p}"
            text += (f'layer {{ name: "{name}" type: "Pooling" bottom: "data" top: "{name}" pooling_param '
                     f"{{ pool: {'AVE' if average else 'MAX'} kernel_size: {k} stride: {s} pad: {p} }} }}\n")
            outputs[name] = pooled(x.astype(float), average, k, s, p)
    text += 'layer { name: "whole" type: "Pooling" bottom: "data" top: "whole" pooling_param { pool: AVE global_pooling: true } }\n'
    outputs["whole"] = x.astype(float).mean((2, 3))
    text += 'layer { name: "within" type: "LRN" bottom: "data" top: "within" lrn_param { local_size: 3 alpha: 0.7 beta: 0.6 norm_region: WITHIN_CHANNEL } }\n'
    outputs["within"] = x * (1 + 0.7 * pooled(x.astype(float)**2, True, 3, 1, 1))**-0.6
    z = x.astype(float)
    halves = np.split(z, 2, 1)
    others = {
        "clip": ("Clip", "clip_param { min: -0.5 max: 1.5 }", z.clip(-0.5, 1.5)),
        "swish": ("Swish", "swish_param { beta: 2 }", z * sigmoid(2 * z)),
        "sum": ("Reduction", "reduction_param { axis: 1 coeff: 0.5 }", z.sum((1, 2, 3)) / 2),
        "asum": ("Reduction", "reduction_param { axis: 2 operation: ASUM }", abs(z).sum((2, 3))),
        "sumsq": ("Reduction", "reduction_param { axis: 3 operation: SUMSQ }", (z * z).sum(3)),
        "mean": ("Reduction", "reduction_param { axis: -2 operation: MEAN }", z.mean((2, 3))),
        "tiled": ("Tile", "tile_param { axis: 2 tiles: 3 }", np.tile(z, (1, 1, 3, 1))),
        "spp": ("SPP", "spp_param { pyramid_height: 2 }", np.concatenate(
            [z.max((2, 3)), pooled(np.pad(z, ((0, 0), (0, 0), (1, 0), (0, 0)), constant_values=-1e9), False, 4, 4, 0).reshape(2, -1)], 1)),
        "soft": ("Softmax", "softmax_param { axis: -1 }", np.exp(z) / np.exp(z).sum(3, keepdims=True)),
    }
    for name, (kind, param, y) in others.items():
        text += f'layer {{ name: "{name}" type: "{kind}" bottom: "data" top: "{name}" {param} }}\n'
        outputs[name] = y
    text += 'layer { name: "half" type: "Slice" bottom: "data" top: "left" top: "right" slice_param { axis: 3 slice_point: 5 } }\n'
    text += 'layer { name: "crop" type: "Crop" bottom: "data" bottom: "right" top: "crop" crop_param { axis: 3 offset: 2 } }\n'
    outputs["right"], outputs["crop"] = z[..., 5:], z[..., 2:5]
    text += 'layer { name: "parts" type: "Slice" bottom: "data" top: "first" top: "second" }\n'
    text += 'layer { name: "of" type: "Reduction" bottom: "second" top: "of" reduction_param { axis: 2 } }\n'
    text += 'layer { name: "gate" type: "Scale" bottom: "first" bottom: "of" top: "gate" scale_param { axis: 0 } }\n'
    text += 'layer { name: "moved" type: "Bias" bottom: "first" bottom: "of" top: "moved" bias_param { axis: 0 } }\n'
    of = halves[1].sum((2, 3), keepdims=True)
    outputs["gate"], outputs["moved"] = halves[0] * of, halves[0] + of
    text += 'layer { name: "turned" type: "Reshape" bottom: "data" top: "turned" reshape_param { shape { dim: 0 dim: 4 dim: -1 } } }\n'
    text += 'layer { name: "pair" type: "Concat" bottom: "turned" bottom: "turned" top: "pair" concat_param { axis: 2 } }\n'
    outputs["pair"] = np.concatenate([z.reshape(2, 4, 28)] * 2, 2)
    store("pooling", text, [("none", "None", [[0.0]])])
    case("pooling", x, outputs)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def recurrent():
    """T = 4, N = 2, features 3, static features 2, units 3. The input is batch x (T x 3 + 2): sequences, then static inputs."""
    steps, batch, features, fixed, units = 4, 2, 3, 2, 3
    x, s = draw((steps, batch, features)), draw((batch, fixed))
    w, b, ws, r = draw((4 * units, features)), draw(4 * units), draw((4 * units, fixed)), draw((4 * units, units))
    h = c = np.zeros((batch, units))
    hs = []
    for t in range(steps):
        i, f, o, g = np.split(x[t] @ w.T + b + s @ ws.T + h @ r.T, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        hs.append(h)
    v, d, q, e, a = draw((units, units)), draw(units), draw((units, units)), draw((units, units)), draw(units)
    state, outputs = np.zeros((batch, units)), []
    for t in range(steps):
        state = np.tanh(hs[t] @ v.T + d + state @ q.T)
        outputs.append(np.tanh(state @ e.T + a))
    store("recurrent", """layer { name: "data" type: "Input" top: "x" top: "cont" top: "s"
  input_param { shape { dim: 4 dim: 2 dim: 3 } shape { dim: 4 dim: 2 } shape { dim: 2 dim: 2 } } }
layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" bottom: "s" top: "lstm" recurrent_param { num_output: 3 } }
layer { name: "rnn" type: "RNN" bottom: "lstm" bottom: "cont" top: "rnn" recurrent_param { num_output: 3 } }
""", [("lstm", "LSTM", [w, b, ws, r]), ("rnn", "RNN", [v, d, q, e, a])])
    joined = np.concatenate([x.transpose(1, 0, 2).reshape(batch, -1), s], 1)
    case("recurrent", joined, {"rnn": np.stack(outputs, 1)})


for make in (convnet, branches, pooling, recurrent):
    make()
(HERE / "caffe.txt").write_text("\n".join(lines) + "\n")
