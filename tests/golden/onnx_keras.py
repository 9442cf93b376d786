# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX files of tf2onnx, and values.txt, into tests/golden/onnx_keras, in the format of onnx_cases.py.

python3 tests/golden/onnx_keras.py    (made with Keras 3.15, TensorFlow 2.21 and tf2onnx 1.17; outputs of ONNX Runtime 1.32)

TensorFlow computes normalisations, repeated elements and attention as formulas, which tf2onnx writes node by node.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy
import onnxruntime
import tensorflow
import tf2onnx
from keras import layers
from onnx_cases import write_cases

ROW, STEPS, IMAGE, GROUPS = (5,), (6, 4), (6, 6, 3), (4, 4, 6)


def attended(x):
    return layers.MultiHeadAttention(2, 4)(x, x)


def both_ways(x):
    return layers.Dense(3)(layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x))


# name -> extents of an example, layers
MODELS = {
    "layer_norm": (STEPS, layers.LayerNormalization()),
    "layer_norm_of_images": (IMAGE, layers.LayerNormalization()),
    "layer_norm_of_three_axes": (IMAGE, layers.LayerNormalization(axis=[1, 2, 3])),
    "rms_norm": (STEPS, layers.RMSNormalization()),
    "group_norm": (GROUPS, layers.GroupNormalization(3)),
    "group_norm_of_steps": (STEPS, layers.GroupNormalization(2)),
    "group_norm_of_channels": (GROUPS, layers.GroupNormalization(-1)),
    "up_sampling": (IMAGE, layers.UpSampling2D((2, 3))),
    "up_sampling_of_steps": (STEPS, layers.UpSampling1D(3)),
    "nearest": (IMAGE, layers.Resizing(12, 18, interpolation="nearest")),
    "gelu_tanh": (ROW, layers.Lambda(lambda x: keras.activations.gelu(x, approximate=True))),
    "elu": (ROW, layers.ELU(0.7)),
    "relu_with_a_bound": (ROW, layers.ReLU(max_value=1.0, negative_slope=0.1)),
    "minimum": (ROW, lambda x: layers.Minimum()([x, layers.Dense(5)(x)])),
    "padding_of_a_window": (IMAGE, lambda x: layers.Conv2D(4, 2)(layers.ZeroPadding2D(((0, 3), (2, 0)))(x))),
    "transposed_conv_of_steps": (STEPS, layers.Conv1DTranspose(3, 3, strides=2, padding="same")),
    "each_step": (STEPS, layers.TimeDistributed(layers.Dense(3))),
    "lstm": (STEPS, layers.LSTM(5)),
    "lstm_backwards": (STEPS, layers.LSTM(5, go_backwards=True)),
    "lstm_of_two_directions": (STEPS, both_ways),
    "attention": ((6, 8), attended),
}


def export(file, seed, example, made):
    keras.utils.set_random_seed(seed)
    inputs = keras.Input(example)
    model = keras.Model(inputs, made(inputs))
    for variable in model.variables:
        variable.assign(keras.random.normal(variable.shape, stddev=0.5))
    signature = [tensorflow.TensorSpec((None, *example), tensorflow.float32, name="x")]
    function = tensorflow.function(lambda x: model(x, training=False), input_signature=signature)
    tf2onnx.convert.from_function(function, input_signature=signature, opset=17, output_path=file)
    x = numpy.asarray(keras.random.normal((3, *example)))
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return x, session.run(None, {session.get_inputs()[0].name: x})[0]


if __name__ == "__main__":
    write_cases("onnx_keras", MODELS, export)
