# SPDX-License-Identifier: Apache-2.0
"""Writes model files in Deeplearning4j's format, and cases.txt with outputs, into tests/golden/deeplearning4j.

python3 tests/golden/deeplearning4j_models.py    (made with numpy 2)

Deeplearning4j cannot be installed here, so this script writes the format itself, after ModelSerializer, Nd4j.write and the classes
of nn/params, and computes the outputs with numpy, after the classes of nn/layers and libnd4j's updaters. cases.txt:

    case NAME
    input dims… : numbers     in Cohort's order of axes: sequences T×C, images C×H×W
    output dims… : numbers
    target dims… : numbers    of the training steps
    losses numbers            of the steps that continue from the file's updater state
"""
import io
import json
import pathlib
import struct
import zipfile

import numpy

FOLDER = pathlib.Path(__file__).resolve().parent / "deeplearning4j"
LAYERS, VERTICES = "org.deeplearning4j.nn.conf.layers.", "org.deeplearning4j.nn.conf.graph."
PREPROCESSORS = "org.deeplearning4j.nn.conf.preprocessor."


def wave(dims, phase, size=0.5):
    count = int(numpy.prod(dims, dtype=int))
    return (size * numpy.sin(0.9 * numpy.arange(count) + phase)).reshape(dims).astype("float32").astype("float64")


# ---- the format ------------------------------------------------------------------------------------------

def utf(text):
    return struct.pack(">H", len(text)) + text.encode()


def nd4j(values, kind="beta", data="FLOAT"):
    """Nd4j.write of a row vector: shape information, then the elements, each with a header."""
    values = numpy.asarray(values, "float64").ravel()
    shape = [2, 1, values.size, 1, 1, 0, 1, 99]
    if kind == "0.9":  # lengths of 32 bits
        head = utf("DIRECT") + struct.pack(">i", len(shape)) + utf("INT") + struct.pack(f">{len(shape)}i", *shape)
        start = utf("DIRECT") + struct.pack(">i", values.size) + utf(data)
    else:
        mode = "LONG_SHAPE" if kind == "beta" else "MIXED_DATA_TYPES"
        head = utf("LONG_SHAPE") + struct.pack(">q", len(shape)) + utf("LONG") + struct.pack(f">{len(shape)}q", *shape)
        start = utf(mode) + struct.pack(">q", values.size) + utf(data)
    return head + start + values.astype({"FLOAT": ">f4", "DOUBLE": ">f8", "HALF": ">f2"}[data]).tobytes()


class stream(io.RawIOBase):
    """A file that cannot seek, as in Java: sizes follow the entries."""

    def __init__(self):
        self.bytes = bytearray()

    def writable(self):
        return True

    def write(self, more):
        self.bytes += more
        return len(more)


def save(name, configuration, coefficients, kind="beta", data="FLOAT", updater=None, normalizer=None):
    entries = {"configuration.json": json.dumps(configuration, indent=1).encode(), "coefficients.bin": nd4j(coefficients, kind, data)}
    if updater is not None:
        entries["updaterState.bin"] = nd4j(updater, kind, data)
    if normalizer is not None:
        entries["normalizer.bin"] = normalizer
    to = stream()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, contents in entries.items():
            archive.writestr(zipfile.ZipInfo(entry, (2020, 1, 1, 0, 0, 0)), contents, zipfile.ZIP_DEFLATED)
    (FOLDER / f"{name}.zip").write_bytes(bytes(to.bytes))


def typed(package, name, **fields):
    return {"@class": package + name, **fields}


def activation(name):
    return typed("org.nd4j.linalg.activations.impl.Activation", name)


def sgd(rate=0.1):
    return typed("org.nd4j.linalg.learning.config.", "Sgd", learningRate=rate)


def layer(name, act=None, updater=None, **fields):
    made = typed(LAYERS, name, iupdater=updater or sgd(), regularization=[], regularizationBias=[], **fields)
    if act:
        made["activationFn"] = activation(act)
    return made


def conf(one, seed=7):
    return {"layer": one, "seed": seed, "miniBatch": True, "minimize": True, "optimizationAlgo": "STOCHASTIC_GRADIENT_DESCENT"}


def listed(layers, preprocessors=None, **more):
    return {"confs": [conf(one) for one in layers], "inputPreProcessors": preprocessors or {}, "backpropType": "Standard",
            "iterationCount": 0, "epochCount": 0, **more}


def loss(name):
    return typed("org.nd4j.linalg.lossfunctions.impl.Loss", name)


CASES = []


def case(name, **lines):
    text = [f"case {name}"]
    for key, value in lines.items():
        value = numpy.asarray(value)
        dims = "" if value.ndim == 1 else " ".join(map(str, value.shape)) + " : "
        text.append(f"{key} {dims}" + " ".join(f"{number:.9g}" for number in value.ravel()))
    CASES.append("\n".join(text))


# ---- numpy's layers: batches of vectors, of sequences N×T×C, and of images N×C×H×W ---------------------

def relu(x):
    return numpy.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def softmax(x, axis=-1):
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def convolve(x, w, b, stride=1, pad=((0, 0), (0, 0)), groups=1):
    x = numpy.pad(x, ((0, 0), (0, 0), *pad))
    n, _, height, width = x.shape
    filters, depth, rows, columns = w.shape
    out = numpy.zeros((n, filters, (height - rows) // stride + 1, (width - columns) // stride + 1))
    for k in range(filters):
        first = k // (filters // groups) * depth
        for i in range(out.shape[2]):
            for j in range(out.shape[3]):
                part = x[:, first:first + depth, i * stride:i * stride + rows, j * stride:j * stride + columns]
                out[:, k, i, j] = (part * w[k]).sum((1, 2, 3)) + b[k]
    return out


def pool(x, size, stride, how):
    n, c, height, width = x.shape
    out = numpy.zeros((n, c, (height - size) // stride + 1, (width - size) // stride + 1))
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            out[:, :, i, j] = how(x[:, :, i * stride:i * stride + size, j * stride:j * stride + size], (2, 3))
    return out


def lstm(x, w, rw, b, peepholes=False, reverse=False):
    """Blocks of columns: the new value, the gates f, o and i; then the columns of the peepholes of f, o and i."""
    units = b.size // 4
    if reverse:
        x = x[:, ::-1]
    h = c = numpy.zeros((len(x), units))
    outputs = []
    f_hole, o_hole, i_hole = rw[:, 4 * units:].T if peepholes else numpy.zeros((3, units))
    for t in range(x.shape[1]):
        z = x[:, t] @ w + h @ rw[:, :4 * units] + b
        new, f, o, i = (z[:, k * units:(k + 1) * units] for k in range(4))
        f, i = sigmoid(f + c * f_hole), sigmoid(i + c * i_hole)
        c = f * c + i * numpy.tanh(new)
        o = sigmoid(o + c * o_hole)
        h = o * numpy.tanh(c)
        outputs.append(h)
    outputs = numpy.stack(outputs, 1)
    return outputs[:, ::-1] if reverse else outputs


def flat(*arrays):
    """The parameter vector: each array with the order in which Deeplearning4j stores it."""
    return numpy.concatenate([numpy.asarray(array).ravel(order) for array, order in arrays])


# ---- the models ------------------------------------------------------------------------------------------

def mlp_of_0_9():
    """A file with the old names of layers, the updaters' fields in the layers, and lengths of 32 bits."""
    w1, b1, w2, b2 = wave((5, 4), 1), wave(4, 2), wave((4, 3), 3), wave(3, 4)
    old = {"updater": "SGD", "learningRate": 0.1, "rho": 0.0, "momentum": 0.9, "l1": 0.0, "l2": 0.001, "dropOut": 0.0, "layerName": None}
    configuration = listed([{"dense": {"nin": 5, "nout": 4, "activationFn": {"TanH": {}}, **old}},
                            {"output": {"nin": 4, "nout": 3, "activationFn": {"Softmax": {}}, "lossFn": {"MCXENT": {}}, **old}}])
    save("mlp_0_9", configuration, flat((w1, "F"), (b1, "C"), (w2, "F"), (b2, "C")), "0.9")
    x = wave((2, 5), 5, 1)
    case("mlp_0_9", input=x, output=softmax(numpy.tanh(x @ w1 + b1) @ w2 + b2))


def images():
    """Convolutions, batch normalisation with logarithms of deviations, and a classifier of 0.1 to 1.0.0-M2's format."""
    w1, b1 = wave((3, 2, 3, 3), 1), wave(3, 2)
    gamma, beta, mean, log_deviation = 1 + wave(3, 3), wave(3, 4), wave(3, 5), wave(3, 6, 0.2)
    w2, b2, w3, b3 = wave((2, 3, 2, 2), 7), wave(2, 8), wave((8, 4), 9), wave(4, 10)
    layers = [layer("ConvolutionLayer", "ReLU", nin=2, nout=3, kernelSize=[3, 3], stride=[1, 1], padding=[0, 0], dilation=[1, 1],
                    convolutionMode="Same", hasBias=True, layerName="first"),
              layer("SubsamplingLayer", poolingType="MAX", kernelSize=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1],
                    convolutionMode="Truncate", pnorm=0, layerName="pool"),
              layer("BatchNormalization", "Sigmoid", nin=3, nout=3, decay=0.9, eps=1e-5, minibatch=True, lockGammaBeta=False,
                    gamma=1.0, beta=0.0, useLogStd=True, layerName="norm"),
              layer("ConvolutionLayer", "LReLU", nin=3, nout=2, kernelSize=[2, 2], stride=[1, 1], padding=[0, 0], dilation=[1, 1],
                    convolutionMode="Truncate", hasBias=True, layerName="second"),
              layer("OutputLayer", "Softmax", nin=8, nout=4, lossFn=loss("NegativeLogLikelihood"), hasBias=True, layerName="classes")]
    reshapes = {"0": typed(PREPROCESSORS, "FeedForwardToCnnPreProcessor", inputHeight=6, inputWidth=6, numChannels=2),
                "4": typed(PREPROCESSORS, "CnnToFeedForwardPreProcessor", inputHeight=2, inputWidth=2, numChannels=2)}
    save("images", listed(layers, reshapes, dataType="FLOAT"),
         flat((b1, "C"), (w1, "C"), (gamma, "C"), (beta, "C"), (mean, "C"), (log_deviation, "C"), (b2, "C"), (w2, "C"), (w3, "F"), (b3, "C")),
         "M2", "DOUBLE")
    x = wave((2, 72), 11, 1)
    y = relu(convolve(x.reshape(2, 2, 6, 6), w1, b1, pad=((1, 1), (1, 1))))
    y = pool(y, 2, 2, numpy.max)
    each = (slice(None), slice(None), None, None)
    y = (y - mean[None][each]) / numpy.sqrt(10 ** (2 * log_deviation[None][each]) + 1e-5) * gamma[None][each] + beta[None][each]
    y = convolve(y, w2, b2)
    y = numpy.where(y > 0, y, 0.01 * y)
    case("images", input=x, output=softmax(y.reshape(2, -1) @ w3 + b3))


def windows():
    """Depthwise, separable and transposed convolutions, and layers that change extents."""
    wd, bd = wave((3, 3, 2, 2), 1), wave(4, 2)  # R×S×C×M
    ws, wp, bs = wave((1, 4, 2, 2), 3), wave((3, 4, 1, 1), 4), wave(3, 5)  # M×C×R×S, K×(C·M)×1×1
    wt, bt = wave((3, 2, 2, 2), 6), wave(2, 7)  # C×K×R×S
    window = {"kernelSize": [2, 2], "stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "convolutionMode": "Truncate", "hasBias": True}
    layers = [layer("ZeroPaddingLayer", padding=[1, 0, 0, 1], layerName="padded"),
              layer("DepthwiseConvolution2D", "TanH", nin=2, nout=4, depthMultiplier=2, layerName="depth", **{**window, "kernelSize": [3, 3]}),
              layer("LocalResponseNormalization", k=2.0, n=5.0, alpha=1e-2, beta=0.75, layerName="response"),
              layer("SeparableConvolution2D", "Identity", nin=4, nout=3, depthMultiplier=1, layerName="separable", **window),
              layer("convolutional.Cropping2D", cropping=[1, 0, 0, 0], layerName="cropped"),
              layer("Deconvolution2D", "Sigmoid", nin=3, nout=2, layerName="larger", **{**window, "stride": [2, 2]}),
              layer("Upsampling2D", size=[2, 1], layerName="taller"),
              layer("SubsamplingLayer", poolingType="AVG", kernelSize=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1],
                    convolutionMode="Truncate", pnorm=0, avgPoolIncludePadInDivisor=False, layerName="means"),
              layer("GlobalPoolingLayer", poolingType="SUM", collapseDimensions=True, pnorm=2, layerName="all")]
    save("windows", listed(layers), flat((bd, "C"), (wd, "C"), (bs, "C"), (ws, "C"), (wp, "C"), (bt, "C"), (wt, "C")))
    x = wave((2, 2, 5, 5), 8, 1)
    y = numpy.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)))
    y = numpy.tanh(convolve(y, wd.transpose(2, 3, 0, 1).reshape(4, 1, 3, 3), bd, groups=2))
    squares = numpy.stack([(y[:, max(c - 2, 0):c + 3] ** 2).sum(1) for c in range(4)], 1)
    y = y / (2 + 1e-2 * squares) ** 0.75
    y = convolve(convolve(y, ws.transpose(1, 0, 2, 3), numpy.zeros(4), groups=4), wp, bs)[:, :, 1:]
    larger = numpy.zeros((2, 2, 2 * y.shape[2], 2 * y.shape[3])) + bt[:, None, None]
    for i in range(y.shape[2]):
        for j in range(y.shape[3]):
            larger[:, :, 2 * i:2 * i + 2, 2 * j:2 * j + 2] += numpy.einsum("nc,ckrs->nkrs", y[:, :, i, j], wt)
    y = pool(sigmoid(larger).repeat(2, 2), 2, 2, numpy.mean)
    case("windows", input=x, output=y.sum((2, 3)))


def sequences():
    """Recurrent layers. The orders of gates are those of LSTMHelpers."""
    u = 3
    parts = []

    def weights(inputs, phase, gates=4, holes=0):
        made = wave((inputs, gates * u), phase), wave((u, gates * u + holes), phase + 1), wave(gates * u, phase + 2)
        parts.extend([(made[0], "F"), (made[1], "F"), (made[2], "C")])
        return made
    graves, plain, simple = weights(2, 1, holes=3), weights(3, 4), weights(3, 7, gates=1)
    forward, backward = weights(3, 10), weights(3, 13)
    both = weights(6, 16, holes=3), weights(6, 19, holes=3)
    wo, bo = wave((3, 2), 22), wave(2, 23)
    parts.extend([(wo, "F"), (bo, "C")])
    gate = {"gateActivationFn": activation("Sigmoid"), "forgetGateBiasInit": 1.0}
    layers = [layer("GravesLSTM", "TanH", nin=2, nout=3, layerName="graves", **gate),
              layer("LSTM", "TanH", nin=3, nout=3, layerName="plain", **gate),
              layer("recurrent.SimpleRnn", "TanH", nin=3, nout=3, layerName="simple"),
              {"@class": LAYERS + "recurrent.Bidirectional", "mode": "CONCAT", "layerName": "both",
               "fwd": layer("LSTM", "TanH", nin=3, nout=3, **gate), "bwd": layer("LSTM", "TanH", nin=3, nout=3, **gate)},
              layer("GravesBidirectionalLSTM", "TanH", nin=6, nout=3, layerName="sum", **gate),
              layer("RnnOutputLayer", "Softmax", nin=3, nout=2, lossFn=loss("MCXENT"), layerName="classes")]
    save("sequences", listed(layers), flat(*parts))
    x = wave((2, 4, 2), 24, 1)
    y = lstm(lstm(x, *graves, peepholes=True), *plain)
    h, steps = numpy.zeros((2, u)), []
    for t in range(4):
        h = numpy.tanh(y[:, t] @ simple[0] + h @ simple[1] + simple[2])
        steps.append(h)
    y = numpy.stack(steps, 1)
    y = numpy.concatenate([lstm(y, *forward), lstm(y, *backward, reverse=True)], 2)
    y = lstm(y, *both[0], peepholes=True) + lstm(y, *both[1], peepholes=True, reverse=True)
    case("sequences", input=x, output=softmax(y @ wo + bo))


def texts():
    """Indices, a convolution along the steps, pooling, and the last step of a recurrent layer."""
    e, w, b = wave((6, 3), 1), wave((4, 3, 2, 1), 2), wave(4, 3)
    wl, rl, bl = wave((4, 8), 4), wave((2, 8), 5), wave(8, 6)
    wd, bd = wave((2, 1), 7), wave(1, 8)
    layers = [layer("EmbeddingSequenceLayer", "Identity", nin=6, nout=3, hasBias=False, inputLength=5, inferInputLength=False, layerName="words"),
              layer("Convolution1DLayer", "ReLU", nin=3, nout=4, kernelSize=[2, 1], stride=[1, 1], padding=[0, 0], dilation=[1, 1],
                    convolutionMode="Causal", hasBias=True, layerName="grams"),
              layer("Subsampling1DLayer", poolingType="MAX", kernelSize=[2, 1], stride=[1, 1], padding=[0, 0], dilation=[1, 1],
                    convolutionMode="Truncate", pnorm=0, layerName="pool"),
              {"@class": LAYERS + "recurrent.LastTimeStep", "layerName": "last",
               "underlying": layer("LSTM", "TanH", nin=4, nout=2, gateActivationFn=activation("Sigmoid"))},
              layer("OutputLayer", "Sigmoid", nin=2, nout=1, lossFn=loss("BinaryXENT"), layerName="is_positive")]
    save("texts", listed(layers), flat((e, "F"), (b, "C"), (w, "C"), (wl, "F"), (rl, "F"), (bl, "C"), (wd, "F"), (bd, "C")))
    x = numpy.array([[0, 5, 2, 2, 1], [3, 3, 4, 0, 5]])
    y = numpy.pad(e[x], ((0, 0), (1, 0), (0, 0)))  # N×T×C
    y = relu(numpy.stack([numpy.einsum("nrc,kcr->nk", y[:, t:t + 2], w[..., 0]) for t in range(5)], 1) + b)
    y = numpy.maximum(y[:, :-1], y[:, 1:])
    case("texts", input=x, output=sigmoid(lstm(y, wl, rl, bl)[:, -1] @ wd + bd))


def graph():
    """A graph whose parameters have the order of Java's hash sets."""
    names = [f"branch{i}" for i in range(18)]
    weights = {name: (wave((4, 4), i), wave(4, i + 30)) for i, name in enumerate(names)}
    wo, bo = wave((8, 2), 60), wave(2, 61)

    def vertex(name, act, **fields):
        return {"@class": VERTICES + "LayerVertex", "layerConf": conf(layer("DenseLayer", act, layerName=name, **fields)), "preProcessor": None}
    vertices = {name: vertex(name, "TanH", nin=4, nout=4, hasBias=True) for name in names}
    inputs = {name: ["x"] for name in names}
    vertices["sum"] = typed(VERTICES, "ElementWiseVertex", op="Add")
    inputs["sum"] = names[:16]
    vertices["difference"] = typed(VERTICES, "ElementWiseVertex", op="Subtract")
    inputs["difference"] = names[16:]
    vertices["half"] = typed(VERTICES, "ScaleVertex", scaleFactor=0.5)
    inputs["half"] = ["sum"]
    vertices["all"] = typed(VERTICES, "MergeVertex", mergeAxis=1)
    inputs["all"] = ["half", "difference"]
    vertices["y"] = {"@class": VERTICES + "LayerVertex", "preProcessor": None,
                     "layerConf": conf(layer("OutputLayer", "Identity", nin=8, nout=2, hasBias=True, lossFn=loss("MSE"), layerName="y"))}
    inputs["y"] = ["all"]
    configuration = {"networkInputs": ["x"], "networkOutputs": ["y"], "vertices": vertices, "vertexInputs": inputs,
                     "defaultConfiguration": conf(None), "backpropType": "Standard", "iterationCount": 0, "epochCount": 0}
    # Vertex i + 1 is branch i. A table of 32 places has the numbers 1 to 18 in their order.
    order = sorted(range(1, 19), key=lambda number: number % 32)
    arrays = []
    for number in order:
        arrays.extend([(weights[names[number - 1]][0], "F"), (weights[names[number - 1]][1], "C")])
    save("graph", configuration, flat(*arrays, (wo, "F"), (bo, "C")))
    x = wave((2, 4), 62, 1)
    y = {name: numpy.tanh(x @ w + b) for name, (w, b) in weights.items()}
    half = 0.5 * sum(y[name] for name in names[:16])
    case("graph", input=x, output=numpy.concatenate([half, y["branch16"] - y["branch17"]], 1) @ wo + bo)


def hash_order():
    """Four readers of a vertex with the numbers 3, 5, 18 and 19: a table of 16 places has 18, 3, 19, 5 as 2, 3, 3, 5."""
    names = [f"v{i}" for i in range(1, 20)]
    readers = ["v3", "v5", "v18", "v19"]
    vertices, inputs = {}, {}
    for name in names:
        if name in readers:
            vertices[name] = {"@class": VERTICES + "LayerVertex", "preProcessor": None,
                              "layerConf": conf(layer("DenseLayer", "Identity", nin=2, nout=2, hasBias=False, layerName=name))}
            inputs[name] = ["x"]
        else:
            vertices[name] = typed(VERTICES, "ScaleVertex", scaleFactor=1.0)
            inputs[name] = ["v3" if name == "v1" else names[names.index(name) - 1]]
    inputs["v4"] = ["v3"]
    inputs["v6"] = ["v5"]
    vertices["y"] = typed(VERTICES, "MergeVertex", mergeAxis=1)
    inputs["y"] = ["v2", "v4", "v17", "v18", "v19"]
    weights = {name: wave((2, 2), i) for i, name in enumerate(readers)}
    configuration = {"networkInputs": ["x"], "networkOutputs": ["y"], "vertices": vertices, "vertexInputs": inputs,
                     "defaultConfiguration": conf(None), "backpropType": "Standard", "iterationCount": 0, "epochCount": 0}
    save("hash_order", configuration, flat(*((weights[name], "F") for name in ("v18", "v3", "v19", "v5"))))
    x = wave((2, 2), 9, 1)
    y = {name: x @ w for name, w in weights.items()}
    case("hash_order", input=x, output=numpy.concatenate([y["v3"], y["v3"], y["v5"], y["v18"], y["v19"]], 1))


def continued(name, updater, states, step):
    """A network that has made 3 steps, with the state of its updater, and the losses of its next 4 steps."""
    shapes = [(5, 4), (4,), (4, 3), (3,)]
    parameters = [wave(dims, i) for i, dims in enumerate(shapes)]
    state = [[numpy.full(dims, float(states[1])) for dims in shapes] for _ in range(states[0])]
    x, target = wave((6, 5), 9, 1), numpy.eye(3)[numpy.arange(6) % 3]
    penalty = 0.01

    def one_step(number):
        w1, b1, w2, b2 = parameters
        h = numpy.tanh(x @ w1 + b1)
        p = softmax(h @ w2 + b2)
        loss_now = -(target * numpy.log(p)).sum() / 6
        error = (p - target) / 6
        back = error @ w2.T * (1 - h * h)
        gradients = [x.T @ back + penalty * w1, back.sum(0), h.T @ error + penalty * w2, error.sum(0)]
        for i, gradient in enumerate(gradients):
            parameters[i] -= step(gradient, [array[i] for array in state], number)
        return loss_now
    for number in range(3):
        one_step(number)
    layers = [layer("DenseLayer", "TanH", updater, nin=5, nout=4, hasBias=True, layerName="hidden"),
              layer("OutputLayer", "Softmax", updater, nin=4, nout=3, hasBias=True, lossFn=loss("MCXENT"), layerName="classes")]
    for one in layers:
        one["regularization"] = [typed("org.nd4j.linalg.learning.regularization.", "L2Regularization",
                                       l2=typed("org.nd4j.linalg.schedule.", "FixedSchedule", value=penalty))]
    orders = ["F", "C", "F", "C"]
    save(name, listed(layers, iterationCount=3, epochCount=1), flat(*zip(parameters, orders)),
         updater=numpy.concatenate([flat(*zip(array, orders)) for array in state]) if state else None)
    lines = {"input": x, "target": target, "output": softmax(numpy.tanh(x @ parameters[0] + parameters[1]) @ parameters[2] + parameters[3])}
    lines["losses"] = numpy.array([one_step(number) for number in range(3, 7)])
    case(name, **lines)


def updaters():
    package = "org.nd4j.linalg.learning.config."

    def adam(g, state, t):
        m, v = state
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        return 0.05 * numpy.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1)) * m / (numpy.sqrt(v) + 1e-8)

    def adamax(g, state, t):
        m, u = state
        m += 0.1 * (g - m)
        u[...] = numpy.maximum(0.999 * u, abs(g)) + 1e-32
        return 0.05 / (1 - 0.9 ** (t + 1)) * m / u

    def amsgrad(g, state, t):
        m, v, most = state
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        most[...] = numpy.maximum(most, v)
        return 0.05 * numpy.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1)) * m / (numpy.sqrt(most) + 1e-8)

    def nesterovs(g, state, _):
        v, = state
        before = 0.9 * v
        v[...] = before - 0.05 * g
        return before - 1.9 * v

    def nesterovs_with_steps(g, state, t):
        v, = state
        before = 0.9 * v
        v[...] = before - 0.05 * 0.5 ** (t // 2) * g
        return before - 1.9 * v

    def adagrad(g, state, _):
        h, = state
        h += g * g
        return 0.05 * g / (numpy.sqrt(h) + 1e-6)

    def rmsprop(g, state, _):
        a, = state
        a += 0.05 * (g * g - a)
        return 0.05 * g / (numpy.sqrt(a) + 1e-8)

    def adadelta(g, state, _):
        a, d = state
        a += 0.05 * (g * g - a)
        x = g * numpy.sqrt(d + 1e-6) / numpy.sqrt(a + 1e-6)
        d += 0.05 * (x * x - d)
        return x
    moments = {"learningRate": 0.05, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    continued("adam", typed(package, "Adam", **moments), (2, 0), adam)
    continued("adamax", typed(package, "AdaMax", **moments), (2, 0), adamax)
    continued("amsgrad", typed(package, "AMSGrad", **moments), (3, 0), amsgrad)
    continued("nesterovs", typed(package, "Nesterovs", learningRate=0.05, momentum=0.9), (1, 0), nesterovs)
    halves = typed("org.nd4j.linalg.schedule.", "StepSchedule", scheduleType="ITERATION", initialValue=0.05, decayRate=0.5, step=2)
    continued("nesterovs_schedule", typed(package, "Nesterovs", learningRateSchedule=halves, momentum=0.9), (1, 0), nesterovs_with_steps)
    continued("adagrad", typed(package, "AdaGrad", learningRate=0.05, epsilon=1e-6), (1, 1e-6), adagrad)
    continued("rmsprop", typed(package, "RmsProp", learningRate=0.05, rmsDecay=0.95, epsilon=1e-8), (1, 1e-8), rmsprop)
    continued("adadelta", typed(package, "AdaDelta", rho=0.95, epsilon=1e-6), (2, 0), adadelta)
    continued("sgd", sgd(0.05), (0, 0), lambda g, state, t: 0.05 * g)


def normalized():
    """A normalizer of each kind in front of a dense layer."""
    w, b, x = wave((3, 2), 1), wave(2, 2), wave((4, 3), 3, 5)
    first, second = numpy.array([0.5, -1, 2]), numpy.array([2, 3, 4.0])
    configuration = listed([layer("DenseLayer", "Identity", nin=3, nout=2, hasBias=True, layerName="y")])
    head = utf("NORMALIZER") + struct.pack(">i", 1)
    kinds = {"standardize": (head + utf("STANDARDIZE") + b"\0" + nd4j(first) + nd4j(second), (x - first) / second),
             "min_max": (head + utf("MIN_MAX") + b"\0" + struct.pack(">dd", -1, 1) + nd4j(first) + nd4j(second),
                         (x - first) / (second - first) * 2 - 1),
             "pixels": (head + utf("IMAGE_MIN_MAX") + struct.pack(">ddd", -1, 1, 255), x / 255 * 2 - 1)}
    for name, (contents, inner) in kinds.items():
        save(name, configuration, flat((w, "F"), (b, "C")), "M2", normalizer=contents)
        case(name, input=x, output=inner @ w + b)


if __name__ == "__main__":
    for write in (mlp_of_0_9, images, windows, sequences, texts, graph, hash_order, updaters, normalized):
        write()
    (FOLDER / "cases.txt").write_text("\n".join(CASES) + "\n")
