#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts one batch of noise in ONNX Runtime on the CPU and prints the time of a call as JSON.

    onnx_predict.py NET BATCH THREADS [SECONDS]

NET is lenet, mlp, darknet or resnet50: the networks of networks.hpp with random weights, for this batch size only, folded and
fused by ONNX Runtime at its highest level. Input and output are bound in advance, so a call copies neither. The first line
describes ONNX Runtime; its `empty_ms` is the time of a call of a model that copies ten numbers: the overhead of Python and the
runtime. With SECONDS it prints one block; otherwise one block for each line of standard input, which contains the block's
seconds. The counterpart of predict_batch.cpp; needs `pip install onnxruntime onnx numpy`.
"""
import json
import statistics
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

INPUTS = {"lenet": (1, 28, 28), "mlp": (1, 28, 28), "darknet": (3, 64, 64), "resnet50": (3, 224, 224)}


class builder:
    """Builds an ONNX graph layer by layer; `x` is the name of the newest output."""

    def __init__(self, batch, example):
        self.random = numpy.random.default_rng(1)
        self.nodes, self.constants, self.channels, self.x = [], [], example[0], "input"
        self.shape = (batch, *example)

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, *shape):
        fan_in = numpy.prod(shape[1:])
        return self.constant((self.random.standard_normal(shape) / numpy.sqrt(fan_in)).astype(numpy.float32))

    def each(self, value):
        return self.constant(numpy.full(self.channels, value, numpy.float32))

    def add(self, kind, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [f"x{len(self.nodes)}"], **attributes))
        self.x = self.nodes[-1].output[0]
        return self.x

    def conv(self, filters, kernel, stride=1, pads=(0, 0, 0, 0), bias=True):
        weights = self.weights(filters, self.channels, kernel, kernel)
        self.channels = filters
        more = [self.each(0.1)] if bias else []
        return self.add("Conv", self.x, weights, *more, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=list(pads))

    def norm(self):
        return self.add("BatchNormalization", self.x, self.each(1.0), self.each(0.1), self.each(0.1), self.each(0.9))

    def relu(self):
        return self.add("Relu", self.x)

    def leaky(self, slope):
        return self.add("LeakyRelu", self.x, alpha=slope)

    def pool(self, window, stride=None, pad=0):
        return self.add("MaxPool", self.x, kernel_shape=[window] * 2, strides=[stride or window] * 2, pads=[pad] * 4)

    def dense(self, inputs, units):
        self.channels = units
        return self.add("Gemm", self.x, self.weights(units, inputs), self.each(0.1), transB=1)

    def flatten(self):
        return self.add("Flatten", self.x)

    def model(self):
        self.add("Softmax", self.x, axis=1)
        floats = onnx.TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, "network", [helper.make_tensor_value_info("input", floats, self.shape)],
                                  [helper.make_tensor_value_info(self.x, floats, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def lenet(net):
    net.conv(20, 5), net.relu(), net.pool(2)
    net.conv(50, 5, 2), net.relu(), net.pool(2)
    net.flatten(), net.dense(200, 200), net.relu(), net.dense(200, 10)


def mlp(net):
    net.flatten(), net.dense(784, 500), net.leaky(0.01), net.dense(500, 100), net.leaky(0.01), net.dense(100, 10)


def darknet(net):
    for kernel, filters in ((3, 32), (3, 64), (0, 0), (2, 128), (2, 256), (0, 0), (2, 256), (2, 512), (0, 0)):
        if not kernel:
            net.pool(2)
            continue
        net.conv(filters, kernel, pads=(1, 1, 1, 1) if kernel == 3 else (0, 0, 1, 1), bias=False)
        net.norm(), net.leaky(0.1)
    net.conv(200, 1), net.add("GlobalAveragePool", net.x), net.flatten()


def resnet50(net):
    def conv(filters, kernel, stride=1):
        net.conv(filters, kernel, stride, [kernel // 2] * 4, bias=False)
        return net.norm()

    conv(64, 7, 2), net.relu(), net.pool(3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        filters = 64 << stage
        for block in range(blocks):
            stride, skip, channels = 2 if stage and not block else 1, net.x, net.channels
            conv(filters, 1), net.relu(), conv(filters, 3, stride), net.relu()
            body = conv(4 * filters, 1)
            if not block:
                net.x, net.channels = skip, channels
                skip = conv(4 * filters, 1, stride)
            net.add("Add", body, skip), net.relu()
    net.add("GlobalAveragePool", net.x), net.flatten(), net.dense(2048, 1000)


def copying():
    floats = onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, floats, (10,)) for name in ("input", "output")]
    graph = helper.make_graph([helper.make_node("Identity", ["input"], ["output"])], "copying", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def caller(model, shape, threads):
    """Returns a function that runs the model once on noise."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    noise = numpy.random.default_rng(1).random(shape, numpy.float32)
    binding = session.io_binding()
    binding.bind_ortvalue_input("input", onnxruntime.OrtValue.ortvalue_from_numpy(noise))
    name = session.get_outputs()[0].name
    outputs = session.run(None, {"input": noise})[0]
    binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(outputs))
    return lambda: session.run_with_iobinding(binding)


def times_of(call, wanted):
    times, total = [], 0.0
    while total < wanted or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        total += times[-1]
    return times


def main():
    if not 4 <= len(sys.argv) <= 5 or sys.argv[1] not in INPUTS:
        sys.exit(__doc__)
    name, batch, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    net = builder(batch, INPUTS[name])
    globals()[name](net)
    call = caller(net.model(), net.shape, threads)
    empty = times_of(caller(copying(), (10,), 1), 0.2)
    times_of(call, 1)
    print(json.dumps({"name": "onnxruntime", "onnxruntime": onnxruntime.__version__, "python": sys.version.split()[0],
                      "empty_ms": statistics.median(empty) * 1e3}), flush=True)

    def block(wanted):
        times = times_of(call, wanted)
        print(json.dumps({"ms_per_call": statistics.median(times) * 1e3,
                          "p99_ms": statistics.quantiles(times, n=100)[98] * 1e3, "calls": len(times)}), flush=True)

    if len(sys.argv) == 5:
        block(float(sys.argv[4]))
        return
    for line in sys.stdin:
        block(float(line))


if __name__ == "__main__":
    main()
