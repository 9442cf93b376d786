# SPDX-License-Identifier: Apache-2.0
"""Writes layers.txt, curves.txt, files.txt and model files into tests/golden/keras: every class of keras.layers, and files of each kind.

KERAS_BACKEND=torch python3 tests/golden/keras_models.py    (made with Keras 3.15.1 and PyTorch 2)

layers.txt has one line for each class of keras.layers, `class NAME imported|refused`, and cases:

    case NAME
    config {…}                  the model, as JSON without fields that are null or initialisers
    input NAME dims… : numbers  or `input NAME dims…` for wave(); `mask numbers…`: 1 for unmasked steps
    output dims… : numbers      in Keras' order of axes
    refused TEXT                instead of outputs: the reason

Weights are not stored: array i of the object at a path in a file .weights.h5 is wave(), shifted by a hash of its path.
"""
import inspect
import json
import os
import pathlib
import tempfile

os.environ.setdefault("KERAS_BACKEND", "torch")
import h5py  # noqa: E402
import keras  # noqa: E402
import numpy  # noqa: E402

L = keras.layers
FOLDER = pathlib.Path(__file__).resolve().parent / "keras"
BATCH = 2
LENGTHS = [3, 5]  # of the masked sequences of 5 steps


def wave(dims, phase):
    count = int(numpy.prod(dims, dtype=int))
    return numpy.sin(0.9 * numpy.arange(count) + phase).reshape(dims).astype("float32")


def weight(path, dims):
    """The array at a path, "layers/dense/vars/0". Arrays of normalisations are positive."""
    phase = sum((i + 1) * ord(letter) for i, letter in enumerate(path)) % 1000
    made = 0.4 * numpy.sin(0.37 * numpy.arange(int(numpy.prod(dims, dtype=int))) + phase)
    if "normalization" in path:
        made = 0.7 + made
    return made.reshape(dims).astype("float32")


def fill(model):
    """Sets all weights of a model by the paths in its file."""
    with tempfile.TemporaryDirectory() as folder:
        name = folder + "/model.weights.h5"
        model.save_weights(name)
        with h5py.File(name, "r+") as file:
            def visit(path, item):
                if isinstance(item, h5py.Dataset) and item.dtype.kind == "f" and not path.startswith("optimizer"):
                    item[...] = weight(path, item.shape)
            file.visititems(visit)
        model.load_weights(name)


def without_defaults(value):
    """A configuration without the fields that the importer ignores, so that the files are shorter."""
    if isinstance(value, dict):
        dropped = ("build_config", "quantization_config", "registered_name", "optional", "seed")
        return {key: without_defaults(one) for key, one in value.items()
                if one is not None and key not in dropped and not key.endswith("_initializer")
                and not (key == "dtype" and isinstance(one, dict) and one["config"]["name"] == "float32")
                or key in ("merge_mode", "axis", "max_value")}
    if isinstance(value, list):
        return [without_defaults(one) for one in value]
    return value


def numbers(array):
    return " ".join(f"{x:.7g}" for x in numpy.asarray(keras.ops.convert_to_numpy(array), dtype="float64").ravel())


lines, counted, failed = [], {}, []


def case(name, model, inputs=None, masked=False, of=(), expected=None):
    """Writes a model and its outputs. `inputs`: integer arrays, or None for waves. `expected`: instead of Keras' outputs."""
    fill(model)
    lines.append(f"case {name}")
    lines.append("config " + json.dumps(without_defaults(json.loads(model.to_json())), separators=(",", ":")))
    given = []
    for i, tensor in enumerate(model.inputs):
        dims = (BATCH,) + tuple(tensor.shape[1:])
        if inputs is not None and inputs[i] is not None:
            value = numpy.array(inputs[i])
            lines.append(f"input {tensor.name} {' '.join(map(str, dims))} : {numbers(value)}")
        else:
            value = wave(dims, i)
            lines.append(f"input {tensor.name} {' '.join(map(str, dims))}")
            if masked:
                for row, length in enumerate(LENGTHS):
                    value[row, length:] = 0
        given.append(value)
    if masked:
        lines.append("mask " + " ".join("1" if t < n else "0" for n in LENGTHS for t in range(model.inputs[0].shape[1])))
    outputs = model(given if len(given) > 1 else given[0], training=False) if expected is None else expected
    for output in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
        lines.append(f"output {' '.join(map(str, output.shape))} : {numbers(output)}")
    for layer in of:
        counted[layer] = counted.get(layer, 0) + 1


def refused(name, model_or_config, reason):
    """Writes a model that the importer must refuse, and why."""
    config = model_or_config if isinstance(model_or_config, dict) else json.loads(model_or_config.to_json())
    lines.append(f"case {name}")
    lines.append("config " + json.dumps(without_defaults(config), separators=(",", ":")))
    lines.append("refused " + reason)


def sequential(shape, *layers, dtype=None):
    return keras.Sequential([keras.Input(shape, dtype=dtype, name="x"), *layers])


def one(layer, shape, name=None, then=(), **how):
    """A model of one layer, or with a dense layer behind it: Cohort trains no network without parameters."""
    dtype = "int32" if how.get("inputs") else None
    kind = type(layer).__name__
    number = counted.get(kind, 0)
    case(name or f"{kind}_{number}", sequential(shape, layer, *then, dtype=dtype), of=[kind], **how)


def functional(shapes, build, of, **how):
    inputs = [keras.Input(shape, name=f"x{i}", dtype=how.get("dtype")) for i, shape in enumerate(shapes)]
    how.pop("dtype", None)
    number = counted.get(of, 0)
    case(f"{of}_{number}", keras.Model(inputs, build(*inputs)), of=[of], **how)


def activations():
    for name in ("linear", "relu", "relu6", "elu", "celu", "selu", "gelu", "mish", "silu", "swish", "softplus", "softsign", "sigmoid", "hard_sigmoid",
                 "hard_silu", "hard_swish", "hard_tanh", "log_sigmoid", "tanh", "tanh_shrink", "leaky_relu", "log_softmax", "softmax"):
        one(L.Activation(name), (4,))
    one(L.Activation("softmax"), (3, 4))
    one(L.Activation("softmax"), (2, 3, 4))
    one(L.Activation("log_softmax"), (3, 4))
    one(L.Activation("log_softmax"), (2, 3, 4))
    for name in ("exponential", "glu", "hard_shrink", "soft_shrink", "sparse_plus", "sparse_sigmoid", "sparsemax", "squareplus", "threshold"):
        refused(f"Activation_{name}", sequential((4,), L.Activation(name, name="layer")), f"Cohort has no activation {name}")
    one(L.ReLU(), (4,))
    one(L.ReLU(max_value=6), (4,))
    one(L.ReLU(negative_slope=0.2), (4,))
    refused("ReLU_threshold", sequential((4,), L.ReLU(threshold=0.5, name="layer")),
            "Cohort has no rectifier with a threshold (WHERE): expected threshold 0, got 0.500000")
    refused("ReLU_limit", sequential((4,), L.ReLU(max_value=2, name="layer")),
            "Cohort has rectifiers without limit, and with the limit 6 (WHERE): expected max_value 6 or None, got 2.000000")
    one(L.LeakyReLU(), (4,))
    one(L.LeakyReLU(negative_slope=0.1), (4,))
    one(L.ELU(), (4,))
    one(L.ELU(alpha=0.5), (4,))
    one(L.Softmax(), (4,))
    one(L.Softmax(axis=-1), (2, 3, 4))
    refused("Softmax_axis", sequential((3, 4), L.Softmax(axis=1, name="layer")),
            "Cohort's softmax is over the channels (WHERE): expected the channel axis, got 1")
    one(L.PReLU(), (4,))
    one(L.PReLU(shared_axes=[1]), (3, 4))
    one(L.PReLU(shared_axes=[1, 2]), (2, 3, 4))
    one(L.PReLU(shared_axes=[1, 2, 3]), (2, 3, 4))
    refused("PReLU_each", sequential((3, 4), L.PReLU(name="layer")),
            "Cohort's prelu has one slope for each channel (WHERE): expected shared_axes with all axes but the channels, got ()")


def dense():
    one(L.Dense(3), (4,))
    one(L.Dense(3, use_bias=False, activation="relu"), (4,))
    one(L.Dense(3, activation="tanh"), (5, 4))
    one(L.Dense(3), (2, 3, 4))
    one(L.Dense(3, kernel_regularizer=keras.regularizers.L1L2(0.1, 0.2), bias_regularizer="l2", kernel_constraint=keras.constraints.MaxNorm(2)), (4,))
    refused("Dense_activity", sequential((4,), L.Dense(3, activity_regularizer="l2", name="layer")),
            "Cohort has no penalty of activations (activity_regularizer) (WHERE)")
    refused("Dense_orthogonal", sequential((4,), L.Dense(3, kernel_regularizer=keras.regularizers.OrthogonalRegularizer(), name="layer")),
            "Cohort has the penalties L1 and L2 (WHERE): expected L1, L2 or L1L2, got OrthogonalRegularizer")
    refused("Dense_dtype", sequential((4,), L.Dense(3, dtype="bfloat16", name="layer")),
            "Cohort computes imported models in float32 (WHERE): expected dtype float32, got bfloat16")
    one(L.EinsumDense("ab,bc->ac", output_shape=3, bias_axes="c"), (4,))
    one(L.EinsumDense("abc,cd->abd", output_shape=(None, 3), activation="relu"), (5, 4))
    refused("EinsumDense_heads", sequential((5, 4), L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), name="layer")),
            "Cohort has no general products of tensors (WHERE): expected an equation as abc,cd->abd, got abc,cde->abde")


def convolutions():
    for padding in ("valid", "same", "causal"):
        one(L.Conv1D(3, 3, padding=padding), (8, 4))
        one(L.Conv1D(3, 3, padding=padding, dilation_rate=2, use_bias=False), (8, 4))
    one(L.Conv1D(4, 3, strides=2, padding="same", groups=2, activation="relu"), (7, 4))
    one(L.Conv1D(4, 2, strides=3, padding="causal"), (7, 4))
    for padding in ("valid", "same"):
        one(L.Conv2D(3, (3, 2), padding=padding), (6, 5, 4))
        one(L.Conv2D(3, 3, strides=2, padding=padding), (6, 5, 4))
        one(L.Conv2D(3, (4, 3), strides=(2, 3), padding=padding, activation="relu"), (7, 6, 4))
        one(L.Conv2D(4, 2, padding=padding, dilation_rate=(2, 1), groups=2, use_bias=False), (6, 5, 4))
        one(L.DepthwiseConv1D(3, padding=padding), (6, 4))
        one(L.DepthwiseConv1D(3, padding=padding, depth_multiplier=2, strides=2, activation="relu"), (6, 4))
        one(L.DepthwiseConv2D(3, padding=padding), (6, 5, 4))
        one(L.DepthwiseConv2D(3, padding=padding, depth_multiplier=2, strides=2, use_bias=False), (6, 5, 4))
        one(L.SeparableConv1D(3, 3, padding=padding), (6, 4))
        one(L.SeparableConv1D(3, 3, padding=padding, depth_multiplier=2, strides=2, use_bias=False), (6, 4))
        one(L.SeparableConv2D(3, 3, padding=padding), (6, 5, 4))
        one(L.SeparableConv2D(3, 3, padding=padding, depth_multiplier=2, strides=2, activation="relu"), (6, 5, 4))
        one(L.Conv2DTranspose(3, 3, padding=padding), (3, 4, 2))
        one(L.Conv2DTranspose(3, (4, 3), strides=(2, 3), padding=padding, activation="relu"), (3, 4, 2))
        one(L.Conv2DTranspose(3, 2, strides=2, padding=padding, use_bias=False), (3, 4, 2))
    one(L.DepthwiseConv2D(3, dilation_rate=2), (6, 5, 4))
    refused("Conv2DTranspose_output", sequential((3, 4, 2), L.Conv2DTranspose(3, 3, strides=2, output_padding=1, name="layer")),
            "output_padding of a transposed convolution is not imported (WHERE): expected None")
    refused("Conv2DTranspose_small", sequential((3, 4, 2), L.Conv2DTranspose(3, 2, strides=3, name="layer")),
            "Keras adds rows behind the output of a transposed convolution whose kernel is smaller than its stride (WHERE): "
            "expected kernel_size ≥ strides, got (2, 2)")
    refused("Conv1D_first", sequential((4, 8), L.Conv1D(3, 3, data_format="channels_first", name="layer")),
            "Cohort's sequences are T×C (WHERE): expected data_format channels_last")


def padded_means():
    """AveragePooling2D((3, 2), strides=(2, 1), padding="same") of 6×5 images: the backend for PyTorch counts padding, the others do not."""
    images = wave((BATCH, 6, 5, 3), 0).astype("float64")
    made = numpy.zeros((BATCH, 3, 5, 3))
    for row in range(3):
        for column in range(5):
            made[:, row, column] = images[:, 2 * row:2 * row + 3, column:column + 2].mean(axis=(1, 2))
    return made


def pooling():
    for kind in ("Max", "Average"):
        one(getattr(L, kind + "Pooling1D")(2), (6, 4))
        one(getattr(L, kind + "Pooling1D")(3, strides=2, padding="same"), (7, 4))
        one(getattr(L, kind + "Pooling2D")(2), (6, 5, 3))
        one(getattr(L, kind + "Pooling2D")((3, 2), strides=(2, 1), padding="same"), (6, 5, 3), expected=padded_means() if kind == "Average" else None)
        one(getattr(L, kind + "Pooling2D")(3, strides=1), (6, 5, 3))
        for keep in (False, True):
            one(getattr(L, "Global" + kind + "Pooling1D")(keepdims=keep), (6, 4))
            one(getattr(L, "Global" + kind + "Pooling2D")(keepdims=keep), (4, 3, 5))
        one(getattr(L, "Adaptive" + kind + "Pooling1D")(3), (6, 4))
        one(getattr(L, "Adaptive" + kind + "Pooling2D")((3, 1)), (6, 5, 4))
        refused(f"Adaptive{kind}_uneven", sequential((6, 4), getattr(L, "Adaptive" + kind + "Pooling1D")(4, name="layer")),
                "adaptive pooling is imported only if the input is a multiple of the output (WHERE): expected a divisor of 6, got 4")
    case("GlobalAveragePooling1D_masked", sequential((5, 3), L.Masking(), L.GlobalAveragePooling1D()), masked=True)
    refused("GlobalMaxPooling1D_masked", sequential((5, 3), L.Masking(), L.Dense(3), L.GlobalMaxPooling1D(name="layer")),
            "Keras computes this layer with the padding of the masked sequence, which Cohort excludes (WHERE): expected a sequence without mask")


def normalisation():
    for shape in ((4,), (5, 4), (3, 2, 4)):
        one(L.BatchNormalization(), shape)
    one(L.BatchNormalization(momentum=0.9, epsilon=1e-5), (3, 2, 4))
    frozen = L.BatchNormalization(scale=False)
    frozen.trainable = False
    one(frozen, (4,), then=[L.Dense(2)])
    frozen = L.BatchNormalization(center=False)
    frozen.trainable = False
    one(frozen, (4,), then=[L.Dense(2)])
    refused("BatchNormalization_scale", sequential((4,), L.BatchNormalization(scale=False, name="layer")),
            "Cohort trains scale and shift of a batch normalisation (WHERE): expected scale and center, trainable=False, or "
            "keras_options::training false, got scale=False")
    refused("BatchNormalization_axis", sequential((5, 4), L.BatchNormalization(axis=1, name="layer")),
            "Cohort's batch normalisation is for each channel (WHERE): expected the channel axis, got 1")
    one(L.LayerNormalization(), (4,))
    one(L.LayerNormalization(epsilon=1e-6), (5, 4))
    one(L.LayerNormalization(axis=[1, 2]), (5, 4))
    one(L.LayerNormalization(axis=[1, 2, 3]), (3, 2, 4))
    refused("LayerNormalization_image", sequential((3, 2, 4), L.LayerNormalization(name="layer")),
            "Cohort normalises over the last axes of C×H×W or T×C (WHERE): expected the axes 1, 2 and 3, got (3)")
    one(L.GroupNormalization(2), (4,))
    one(L.GroupNormalization(2, epsilon=1e-2), (5, 4))
    one(L.GroupNormalization(2), (3, 2, 4))
    one(L.GroupNormalization(-1), (3, 2, 4))
    refused("GroupNormalization_axis", sequential((3, 2, 4), L.GroupNormalization(2, axis=2, name="layer")),
            "Cohort's groups consist of channels (WHERE): expected the channel axis, got 2")
    refused("GroupNormalization_scale", sequential((4,), L.GroupNormalization(2, scale=False, name="layer")),
            "Cohort trains scale and shift of a group normalisation (WHERE): expected scale and center, trainable=False, or "
            "keras_options::training false, got scale=False")
    one(L.RMSNormalization(), (4,))
    one(L.RMSNormalization(epsilon=1e-3), (5, 4))
    one(L.Rescaling(1 / 127.5), (3, 2, 4))
    one(L.Rescaling(1 / 127.5, offset=-1), (3, 2, 4), then=[L.Conv2D(2, 1)])
    one(L.Rescaling([0.5, 0.25], offset=[1, 2]), (3, 2), then=[L.Dense(2)])
    one(L.Normalization(mean=[0.1, 0.2, 0.3], variance=[1, 2, 3]), (5, 3), then=[L.Dense(2)])
    one(L.Normalization(mean=0.5, variance=2), (4,), then=[L.Dense(2)])
    adapted = L.Normalization()
    adapted.adapt(wave((8, 3), 0))
    one(adapted, (3,), then=[L.Dense(2)])


def indices():
    words = [[1, 2, 3, 0, 0], [4, 3, 2, 1, 5]]
    one(L.Embedding(7, 3), (5,), inputs=[words])
    case("Embedding_mask", sequential((5,), L.Embedding(7, 3, mask_zero=True), L.LSTM(2), dtype="int32"), inputs=[words], of=["Embedding"])
    one(L.Embedding(7, 3, embeddings_regularizer="l2"), (5,), inputs=[words])
    one(L.CategoryEncoding(6, output_mode="one_hot"), (1,), inputs=[[[2], [5]]], then=[L.Dense(2)])
    refused("CategoryEncoding_hot", sequential((3,), L.CategoryEncoding(6, output_mode="multi_hot", name="layer"), dtype="int32"),
            "CategoryEncoding is imported only with output_mode one_hot (WHERE): expected one_hot, got multi_hot")


def shapes():
    one(L.Flatten(), (5, 4))
    case("Flatten_image", sequential((3, 2, 4), L.Flatten(), L.Dense(3)), of=["Flatten"])
    case("Flatten_norm", sequential((3, 2, 4), L.Flatten(), L.ReLU(), L.BatchNormalization(), L.Dropout(0.5), L.Dense(3)), of=["Flatten"])
    case("Flatten_one", sequential((3, 2, 1), L.Flatten()), of=["Flatten"])
    refused("Flatten_output", sequential((3, 2, 4), L.Flatten(name="layer")),
            "the output layer is a flattened image, whose elements are in another order in Cohort (C×H×W) (Keras configuration)")
    one(L.Reshape((2, 6)), (12,))
    one(L.Reshape((6, -1)), (4, 3))
    one(L.Reshape((3, 4, 1)), (12,))
    one(L.Reshape((1, 1, 12)), (12,))
    case("Reshape_vector", sequential((3, 2, 4), L.Reshape((24,)), L.Dense(3)), of=["Reshape"])
    case("Reshape_back", sequential((3, 2, 4), L.Flatten(), L.Reshape((3, 2, 4)), L.Conv2D(2, 2)), of=["Reshape"])
    one(L.Reshape((2, 2, 3)), (12,))
    one(L.Reshape((2, 2, 3)), (4, 3))
    one(L.Reshape((6, 4)), (3, 2, 4))
    one(L.Reshape((4, 3, 2)), (3, 2, 4))
    refused("Reshape_flattened", sequential((3, 2, 4), L.Flatten(), L.Reshape((4, 6), name="layer")),
            "a flattened image gets other extents, but its elements are in another order in Cohort (WHERE): "
            "expected the extents of the image, or Reshape instead of Flatten, got (4, 6)")
    one(L.Permute((2, 1)), (1, 4))
    one(L.Permute((2, 1)), (3, 4))
    for axes in ((1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)):
        one(L.Permute(axes), (3, 2, 4))
    case("Permute_steps", sequential((3, 4), L.Permute((2, 1)), L.LSTM(2)), of=["Permute"])
    one(L.RepeatVector(3), (4,))
    one(L.UpSampling1D(2), (3, 4))
    one(L.UpSampling2D((2, 3)), (3, 2, 4))
    one(L.UpSampling2D((3, 2), interpolation="bilinear"), (3, 2, 4))
    refused("UpSampling2D_bicubic", sequential((3, 2, 4), L.UpSampling2D(2, interpolation="bicubic", name="layer")),
            "Cohort has no such interpolation (WHERE): expected nearest or bilinear, got bicubic")
    one(L.ZeroPadding1D((1, 2)), (3, 4))
    one(L.ZeroPadding2D(((1, 2), (0, 3))), (3, 2, 4))
    one(L.ZeroPadding2D(2), (3, 2, 4))
    one(L.Cropping1D((1, 0)), (3, 4))
    one(L.Cropping2D(((1, 0), (0, 1))), (4, 3, 4))
    one(L.CenterCrop(3, 2), (6, 5, 3))


def merging():
    for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
        functional([(5, 4), (5, 4)], lambda *x, k=kind: getattr(L, k)()(list(x)), kind)
    for kind in ("Add", "Multiply", "Average", "Maximum", "Minimum"):
        functional([(4,), (4,), (4,)], lambda *x, k=kind: getattr(L, k)()(list(x)), kind)
    functional([(3, 2, 4), (1, 1, 4)], lambda *x: L.Multiply()(list(x)), "Multiply")
    functional([(3,), (4,)], lambda *x: L.Concatenate()(list(x)), "Concatenate")
    functional([(5, 3), (5, 4)], lambda *x: L.Concatenate()(list(x)), "Concatenate")
    functional([(3, 3), (5, 3)], lambda *x: L.Concatenate(axis=1)(list(x)), "Concatenate")
    functional([(3, 2, 4), (3, 2, 1)], lambda *x: L.Concatenate()(list(x)), "Concatenate")
    functional([(3, 2, 4), (3,)], lambda x, y: L.Dense(2)(L.Concatenate()([L.Flatten()(x), y])), "Concatenate")
    functional([(4,), (4,)], lambda *x: L.Dot(axes=1)(list(x)), "Dot")
    functional([(5, 4), (3, 4)], lambda *x: L.Dot(axes=2)(list(x)), "Dot")
    functional([(5, 4), (5, 3)], lambda *x: L.Dot(axes=1)(list(x)), "Dot")
    x = [keras.Input((3, 2, 4), name="a"), keras.Input((3, 2, 4), name="b")]
    for axis in (1, 2):
        case(f"Concatenate_images_{axis}", keras.Model(x, L.Concatenate(axis=axis)(x)), of=["Concatenate"])
    refused("Dot_cosine", dot_cosine(), "Cohort has no cosine of two vectors (normalize) (WHERE)")
    x = keras.Input((4,), name="x")
    case("operations", keras.Model(x, (x + L.Dense(4)(x)) * x - L.Dense(4)(x)))
    h = L.Dense(4)(x)
    case("operations_with_numbers", keras.Model(x, [h * 0.5, 2.0 - h, h - 1.5, 1 + h, h / 4.0, -h]))
    inverse = keras.Model(x, 2.0 / x)
    refused("operation_division", inverse, f"a constant is divided by a tensor (Keras configuration, layer {inverse.operations[-1].name}): "
            "expected a tensor divided by a constant, got TrueDivide")
    shifted = keras.Model(x, keras.ops.maximum(x, 1.0))
    refused("operation_number", shifted, f"the function keras.ops.Maximum is not imported for these arguments (Keras configuration, layer "
            f"{shifted.operations[-1].name}): expected two tensors, or a tensor and a number; no division by a tensor, got 1 tensors and 1 constants")
    steps, image = keras.Input((5, 3), name="steps"), keras.Input((4, 3, 2), name="image")
    case("items_of_steps", keras.Model(steps, [steps[:, -1], steps[:, 1:4], steps[:, :, 1], steps[:, 2, 1:], steps[..., :2]]))
    case("items_of_images", keras.Model(image, [image[:, 1], image[:, :, -1], image[..., 1], image[:, 1:3, :2], image[..., 0, 1], image[:, 2, 1]]))
    reversed_steps = keras.Model(steps, steps[:, ::-1])
    refused("item_reversed", reversed_steps, f"a slice skips or reverses elements (Keras configuration, layer {reversed_steps.operations[-1].name}): "
            "expected step 1, got another step")
    photo = keras.Input((4, 5, 3), name="photo")
    for family in ("resnet50", "mobilenet_v2", "densenet", "vgg16"):
        made = getattr(keras.applications, family).preprocess_input(photo)
        case(f"preprocessed_for_{family}", keras.Model(photo, L.Conv2D(2, 2)(made)))


def dot_cosine():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    return keras.Model([a, b], L.Dot(axes=1, normalize=True, name="layer")([a, b]))


def randoms():
    one(L.Dropout(0.5), (4,))
    one(L.SpatialDropout1D(0.5), (5, 4))
    one(L.SpatialDropout2D(0.5), (3, 2, 4))
    one(L.GaussianNoise(0.5), (4,))
    one(L.ActivityRegularization(), (4,))
    one(L.GaussianDropout(0), (4,))
    one(L.AlphaDropout(0), (4,))
    refused("GaussianDropout_rate", sequential((4,), L.GaussianDropout(0.5, name="layer")),
            "Cohort has no GaussianDropout (WHERE): expected Dropout, or keras_options::training false")
    one(L.Identity(), (4,))


def recurrent():
    for kind in ("LSTM", "GRU", "SimpleRNN"):
        make = getattr(L, kind)
        for masked in (False, True):
            before = [L.Masking()] if masked else []
            for sequences in (False, True):
                case(f"{kind}_{counted.get(kind, 0)}", sequential((5, 3), *before, make(2, return_sequences=sequences)), masked=masked, of=[kind])
            case(f"{kind}_{counted.get(kind, 0)}", sequential((5, 3), *before, make(2, go_backwards=True)), masked=masked, of=[kind])
            case(f"{kind}_{counted.get(kind, 0)}", sequential((5, 3), *before, make(2, use_bias=False, activation="relu", return_sequences=True), make(3)),
                 masked=masked, of=[kind])
            case(f"{kind}_{counted.get(kind, 0)}", sequential((5, 3), *before, make(2, return_sequences=True, zero_output_for_mask=True)), masked=masked, of=[kind])
            for mode in ("concat", "sum", "mul", "ave"):
                for sequences in (False, True):
                    case(f"Bidirectional_{counted.get('Bidirectional', 0)}",
                         sequential((5, 3), *before, L.Bidirectional(make(2, return_sequences=sequences), merge_mode=mode)), masked=masked, of=["Bidirectional"])
        functional([(5, 3)], lambda x, m=make: m(2, return_state=True)(x), kind)
        functional([(5, 3)], lambda x, m=make: m(2, return_state=True, return_sequences=True)(x), kind)
        functional([(5, 3)], lambda x, m=make: L.Dense(2)(m(2, return_state=True, return_sequences=True)(x)[1]), kind)
        states = [(2,)] * (2 if kind == "LSTM" else 1)
        functional([(5, 3), *states], lambda x, *s, m=make: m(2)(x, initial_state=list(s)), kind)
        functional([(5, 3)], lambda x, m=make: L.Bidirectional(m(2, return_sequences=True), merge_mode=None)(x), "Bidirectional")
        functional([(5, 3)], lambda x, m=make: L.Bidirectional(m(2, return_sequences=True, return_state=True))(x), "Bidirectional")
        one(L.RNN(getattr(L, kind + "Cell")(2), return_sequences=True), (5, 3))
        one(make(2, dropout=0.2, recurrent_dropout=0.3, unroll=True), (5, 3))
        one(make(2, kernel_regularizer="l2", recurrent_regularizer="l2"), (5, 3))
        refused(f"{kind}_reversed", sequential((5, 3), make(2, go_backwards=True, return_sequences=True, name="layer")),
                "Keras returns the outputs of go_backwards in reversed order, Cohort at their steps (WHERE): expected Bidirectional, or return_sequences False")
        refused(f"{kind}_softmax", sequential((5, 3), make(2, activation="softmax", name="layer")),
                "a recurrent layer has no such activation (WHERE): expected tanh, sigmoid, hard_tanh, relu or linear, got softmax")
        one(make(2, activation="hard_tanh"), (5, 3))
    one(L.GRU(2, reset_after=False), (5, 3))
    one(L.GRU(2, reset_after=False, use_bias=False, return_sequences=True), (5, 3))
    one(L.LSTM(2, recurrent_activation="hard_tanh", unit_forget_bias=False), (5, 3))
    refused("LSTM_hard_sigmoid", sequential((5, 3), L.LSTM(2, recurrent_activation="hard_sigmoid", name="layer")),
            "Keras 3's hard_sigmoid of a recurrent layer is x/6 + 0.5, Cohort's 0.2·x + 0.5 (WHERE): expected tanh, sigmoid, hard_tanh, relu or linear, "
            "got hard_sigmoid")
    case("Bidirectional_layers", sequential((5, 3), L.Bidirectional(L.LSTM(2), backward_layer=L.LSTM(3, go_backwards=True))), of=["Bidirectional"])
    case("Masking_stack", sequential((5, 3), L.Masking(), L.Bidirectional(L.LSTM(3, return_sequences=True)), L.TimeDistributed(L.Dense(4, activation="relu")),
                                     L.Dropout(0.3), L.LSTM(2), L.Dense(3, activation="softmax")), masked=True, of=["Masking", "TimeDistributed"])
    case("Masking_attention", masked_attention(), masked=True, of=["Masking"])
    x = keras.Input((5, 3), name="x")
    h = L.Bidirectional(L.GRU(2, return_sequences=True))(L.Masking(mask_value=0.0)(x))
    case("Masking_functional", keras.Model(x, L.LSTM(2)(L.Dense(3)(h))), masked=True, of=["Masking"])
    x = keras.Input((5,), name="x", dtype="int32")
    h = L.Embedding(7, 4, mask_zero=True)(x)
    h = L.Add()([h, L.MultiHeadAttention(2, 2)(h, h)])
    case("Embedding_functional", keras.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(h))), inputs=[[[1, 2, 3, 0, 0], [4, 3, 2, 1, 5]]], of=["Embedding"])
    refused("Embedding_other_mask", keras.Model(x, L.LSTM(2, name="layer")(L.Embedding(7, 4, mask_zero=True)(x), mask=keras.ops.not_equal(x, 3))),
            "an explicit mask is an argument of the layer, and Cohort derives masks from inputs (WHERE): expected the mask of the layer's input")
    case("Masking_convolution", sequential((5, 3), L.Masking(), L.Conv1D(2, 3, padding="same")), masked=True, of=["Masking"])
    refused("Masking_later", sequential((5, 3), L.Dense(2), L.Masking(name="layer"), L.LSTM(2)),
            "a mask begins at an input of the network in Cohort (WHERE): expected Masking directly behind an Input that nothing else reads")
    one(L.TimeDistributed(L.Dense(2)), (5, 3))
    one(L.TimeDistributed(L.LayerNormalization()), (5, 3))
    one(L.TimeDistributed(L.Activation("tanh")), (5, 3))
    refused("TimeDistributed_convolution", sequential((5, 6, 3), L.TimeDistributed(L.Conv1D(2, 3), name="layer")),
            "TimeDistributed is imported only for inputs of 2 axes besides the batch (WHERE): expected 2 axes, got (5, 6, 3)")
    refused("TimeDistributed_norm", sequential((5, 3), L.TimeDistributed(L.BatchNormalization(), name="layer")),
            "TimeDistributed(BatchNormalization) is not imported (WHERE): expected Dense, an activation, Dropout or LayerNormalization")


def masked_attention():
    x = keras.Input((5, 4), name="x")
    h = L.Masking()(x)
    h = L.LayerNormalization()(L.Add()([h, L.MultiHeadAttention(2, 3)(h, h)]))
    return keras.Model(x, L.GlobalAveragePooling1D()(h))


def masked_cross_attention(name, attend):
    """Queries of 5 steps and values of 4, each with a mask of its own."""
    x, y = keras.Input((5,), name="x", dtype="int32"), keras.Input((4,), name="y", dtype="int32")
    queries, values = L.Embedding(7, 4, mask_zero=True)(x), L.Embedding(6, 4, mask_zero=True)(y)
    read = L.GlobalAveragePooling1D()(attend(queries, values))
    case(f"masked_cross_{name}", keras.Model([x, y], read), inputs=[[[1, 2, 3, 0, 0], [4, 3, 2, 1, 5]], [[2, 1, 0, 0], [5, 4, 3, 0]]], of=[name])


def attention():
    def heads(*inputs, causal=False, **how):
        return L.MultiHeadAttention(2, 3, **how)(*inputs, use_causal_mask=causal)
    functional([(5, 4)], lambda x: heads(x, x), "MultiHeadAttention")
    functional([(5, 4)], lambda x: heads(x, x, causal=True), "MultiHeadAttention")
    functional([(5, 4), (3, 6)], lambda x, y: heads(x, y), "MultiHeadAttention")
    functional([(5, 4), (3, 6), (3, 2)], lambda x, y, z: heads(x, y, z), "MultiHeadAttention")
    functional([(5, 4)], lambda x: heads(x, x, value_dim=2, use_bias=False, output_shape=7), "MultiHeadAttention")
    functional([(5, 4)], lambda x: L.GroupQueryAttention(3, 4, 2)(x, x), "GroupedQueryAttention")
    functional([(5, 4)], lambda x: L.GroupQueryAttention(3, 4, 1)(x, x, use_causal_mask=True), "GroupedQueryAttention")
    functional([(5, 4), (3, 4)], lambda x, y: L.Attention()([x, y]), "Attention")
    functional([(5, 4), (5, 3), (5, 4)], lambda x, y, z: L.Attention()([x, y, z], use_causal_mask=True), "Attention")
    masked_cross_attention("MultiHeadAttention", L.MultiHeadAttention(2, 3))
    masked_cross_attention("GroupedQueryAttention", L.GroupQueryAttention(3, 4, 1))
    masked_cross_attention("Attention", lambda queries, values: L.Attention()([queries, values]))
    x = keras.Input((5, 4), name="x")
    refused("MultiHeadAttention_dropout", keras.Model(x, L.MultiHeadAttention(2, 3, dropout=0.1, name="layer")(x, x)),
            "Cohort has no dropout of attention weights (WHERE): expected dropout 0, or keras_options::training false")
    refused("Attention_scale", keras.Model(x, L.Attention(use_scale=True, name="layer")([x, x])), "Cohort has no learned scale of attention (use_scale) (WHERE)")


def models():
    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="relu"), L.BatchNormalization(), L.Dense(4)], name="inner")
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    case("shared", keras.Model([a, b], keras.Sequential([keras.Input((8,)), L.Dense(2)])(L.Concatenate()([L.Dense(4, name="tied")(a), b]))))
    tied = L.Dense(3, activation="tanh", name="tied")
    case("tied", keras.Model([a, b], [tied(a), L.Dense(2)(L.Add()([tied(a), tied(b)]))]))
    case("nested", keras.Model(a, L.Dense(2)(inner(a))))
    x = keras.Input((4,), name="inner_x")
    deep = keras.Model(x, [L.Dense(3)(x), keras.Sequential([keras.Input((4,)), L.Dense(2)])(x)], name="deep")
    case("nested_outputs", keras.Model([a, b], [deep(a)[1], L.Dense(1)(deep(b)[0])]))
    case("read_output", keras.Model(a, [h := L.Dense(3, activation="sigmoid")(a), L.Dense(2, activation="softmax")(h)]))
    refused("shared_norm", keras.Model([a, b], shared_norm(a, b)), "batch_norm: a layer with running statistics cannot share parameters (WHERE)")


def shared_norm(a, b):
    norm = L.BatchNormalization(name="layer")
    return L.Add()([norm(a), norm(b)])


def classes():
    """One line for each class, with the result of the cases above."""
    config = {"class_name": "Sequential", "module": "keras", "config": {"name": "s", "layers": [
        {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 4], "name": "x"}}]}}
    known = {}
    for name in sorted(dir(L)):
        kind = getattr(L, name)
        if inspect.isclass(kind):
            known.setdefault(kind.__name__, []).append(name)
    for name in sorted(known):
        if name in counted or name == "InputLayer":
            lines.append(f"class {name} imported")
        else:
            lines.append(f"class {name} refused")
            made = json.loads(json.dumps(config))
            made["config"]["layers"].append({"module": "keras.layers", "class_name": name, "config": {"name": "layer"}})
            lines.append("config " + json.dumps(made, separators=(",", ":")))


# ---- training ----------------------------------------------------------------------------------------------

STEPS = 20


def curve(name, model, loss, optimizer, targets, masked=False, loss_weights=None, inputs=None, metrics=None):
    """Writes the losses of 20 steps with one batch, and the outputs after them."""
    fill(model)
    model.compile(optimizer=optimizer, loss=loss, loss_weights=loss_weights, metrics=metrics)
    lines.append(f"case {name}")
    lines.append("config " + json.dumps(without_defaults(json.loads(model.to_json())), separators=(",", ":")))
    given = []
    for i, tensor in enumerate(model.inputs):
        dims = (BATCH,) + tuple(tensor.shape[1:])
        value = wave(dims, i)
        if masked:
            for row, length in enumerate(LENGTHS):
                value[row, length:] = 0
        lines.append(f"input {tensor.name} {' '.join(map(str, dims))}")
        given.append(value)
    if masked:
        lines.append("mask " + " ".join("1" if t < n else "0" for n in LENGTHS for t in range(model.inputs[0].shape[1])))
    for target in targets:
        lines.append(f"target {' '.join(map(str, numpy.shape(target)))} : {numbers(target)}")
    losses = []
    for _ in range(STEPS):
        model.reset_metrics()
        result = model.train_on_batch(given if len(given) > 1 else given[0], [numpy.array(t) for t in targets] if len(targets) > 1 else numpy.array(targets[0]))
        losses.append(float(numpy.ravel(result)[0]))
    lines.append("losses " + numbers(losses))
    outputs = model(given if len(given) > 1 else given[0], training=False)
    for output in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
        lines.append(f"output {' '.join(map(str, output.shape))} : {numbers(output)}")


def classifier(**how):
    return sequential((4,), L.Dense(5, activation="tanh", **how), L.Dense(3, activation="softmax"))


def regression(units=2, activation=None):
    return sequential((4,), L.Dense(5, activation="tanh"), L.Dense(units, activation=activation))


ONE_HOT = [[0, 1, 0], [0, 0, 1]]


def curves():
    o, s = keras.optimizers, keras.optimizers.schedules
    optimizers = [o.SGD(0.1), o.SGD(0.1, momentum=0.9), o.SGD(0.1, momentum=0.9, nesterov=True), o.Adam(0.01), o.Adam(0.01, amsgrad=True), o.Adam(0.01, weight_decay=0.1),
                  o.AdamW(0.01, weight_decay=0.2), o.Adamax(0.01), o.Adagrad(0.1), o.Adadelta(1.0), o.Lion(0.001, weight_decay=0.1), o.Lamb(0.01),
                  o.SGD(0.5, clipvalue=0.05), o.SGD(0.5, clipnorm=0.1), o.SGD(0.5, global_clipnorm=0.1),
                  o.SGD(s.ExponentialDecay(0.5, 5, 0.7)), o.SGD(s.ExponentialDecay(0.5, 5, 0.7, staircase=True)), o.SGD(s.InverseTimeDecay(0.5, 4, 0.5)),
                  o.SGD(s.PolynomialDecay(0.5, 15, end_learning_rate=0)), o.SGD(s.CosineDecay(0.5, 15, alpha=0.1)), o.SGD(s.PiecewiseConstantDecay([3, 9], [0.5, 0.2, 0.05])),
                  o.SGD(s.CosineDecayRestarts(0.5, 4))]
    for i, optimizer in enumerate(optimizers):
        curve(f"{type(optimizer).__name__}_{i}", classifier(), "categorical_crossentropy", optimizer, [ONE_HOT], metrics=["accuracy"])
    curve("smoothed", classifier(), keras.losses.CategoricalCrossentropy(label_smoothing=0.1), "sgd", [ONE_HOT])
    curve("sparse", classifier(), "sparse_categorical_crossentropy", "adam", [[1, 2]])
    curve("logits", regression(3), keras.losses.CategoricalCrossentropy(from_logits=True), "sgd", [ONE_HOT])
    curve("divergence", classifier(), "kl_divergence", o.SGD(0.1), [[[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]])
    curve("binary", regression(2, "sigmoid"), "binary_crossentropy", o.SGD(0.1), [[[0, 1], [1, 1]]], metrics=["accuracy"])
    for loss in ("mse", "mae", keras.losses.Huber(), "hinge"):
        curve(f"regression_{getattr(loss, 'name', loss)}", regression(), loss, o.SGD(0.05), [[[-1, 1], [1, -1]]])
    curve("penalties", classifier(kernel_regularizer=keras.regularizers.L1L2(0.01, 0.02), bias_regularizer=keras.regularizers.L2(0.03)),
          "categorical_crossentropy", o.SGD(0.1), [ONE_HOT])
    curve("constraint", classifier(kernel_constraint=keras.constraints.MaxNorm(0.5), bias_constraint="non_neg"), "categorical_crossentropy", o.SGD(0.1), [ONE_HOT])
    frozen = classifier()
    frozen.layers[0].trainable = False
    curve("frozen", frozen, "categorical_crossentropy", o.SGD(0.1), [ONE_HOT])
    curve("normalised", sequential((6, 5, 2), L.Conv2D(3, 3, padding="same"), L.BatchNormalization(momentum=0.9), L.ReLU(), L.MaxPooling2D(2), L.Flatten(), L.Dense(3, activation="softmax")),
          "categorical_crossentropy", o.SGD(0.1), [ONE_HOT])
    curve("tagger", sequential((5, 3), L.Masking(), L.Bidirectional(L.LSTM(3, return_sequences=True)), L.TimeDistributed(L.Dense(3, activation="softmax"))),
          "sparse_categorical_crossentropy", o.SGD(0.3), [[[0, 1, 2, 0, 0], [2, 1, 0, 1, 2]]], masked=True)
    curve("gru", sequential((5, 3), L.GRU(4), L.Dense(2)), "mse", o.Adam(0.01), [[[-1, 1], [1, -1]]])
    x = keras.Input((5, 4), name="x")
    h = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 3)(x, x)]))
    curve("attention", keras.Model(x, L.Dense(3, activation="softmax")(L.GlobalAveragePooling1D()(h))), "categorical_crossentropy", o.SGD(0.3), [ONE_HOT])
    x = keras.Input((4,), name="x")
    h = L.Dense(5, activation="tanh")(x)
    curve("two_losses", keras.Model(x, [L.Dense(3, activation="softmax", name="classes")(h), L.Dense(2, name="values")(h)]),
          {"classes": "categorical_crossentropy", "values": "mse"}, o.SGD(0.1), [ONE_HOT, [[-1, 1], [1, -1]]], loss_weights={"classes": 1, "values": 0.5})
    def training_refused(name, reason, loss="categorical_crossentropy", optimizer="sgd", metrics=None, model=None):
        model = model or classifier()
        model.compile(optimizer=optimizer, loss=loss, metrics=metrics)
        refused(name, model, reason)
    own = "expected keras_options::optimizer false, and training_settings of your own, got "
    where = "(Keras configuration, optimizer "
    training_refused("RMSprop", f"Keras' RMSprop adds ε below the root, Cohort's behind it {where}RMSprop): {own}RMSprop", optimizer=o.RMSprop())
    training_refused("Nadam", f"Keras' Nadam has a schedule of β₁, Cohort's has none {where}Nadam): {own}Nadam", optimizer=o.Nadam())
    training_refused("Ftrl", f"Cohort has no optimizer Ftrl {where}Ftrl): {own}Ftrl", optimizer=o.Ftrl())
    training_refused("Adafactor", f"Cohort has no optimizer Adafactor {where}Adafactor): {own}Adafactor", optimizer=o.Adafactor())
    training_refused("momentum_schedule", f"Keras multiplies the velocity's gradients by the rate of their step, Cohort the velocity by the rate of now {where}SGD): "
                     f"{own}momentum and a schedule", optimizer=o.SGD(s.ExponentialDecay(0.5, 5, 0.7), momentum=0.9))
    training_refused("clipped_penalty", f"Keras clips the gradient with the penalties, Cohort without them {where}SGD): {own}clipping and regularizers",
                     optimizer=o.SGD(0.1, clipnorm=1), model=classifier(kernel_regularizer="l2"))
    training_refused("clipped_gru", f"Keras clips the arrays of a GRU in other groups than Cohort {where}SGD): {own}clipnorm",
                     optimizer=o.SGD(0.1, clipnorm=1), model=sequential((5, 3), L.GRU(2), L.Dense(2, activation="softmax")))
    training_refused("poisson", "Cohort has no loss poisson (Keras configuration, loss dense_1): expected cross-entropies, MSE, MAE, Huber, hinge or KL divergence; or "
                     "keras_options::training false", loss="poisson", model=named("dense_1"))
    training_refused("no_softmax", "Cohort's categorical_crossentropy contains its activation, which must be the last of the network (Keras configuration, loss dense_1): "
                     "expected softmax, got none", model=named("dense_1", None))
    training_refused("summed", "Cohort's losses are means over the examples (Keras configuration, loss dense_1): expected sum_over_batch_size, got sum",
                     loss=keras.losses.CategoricalCrossentropy(reduction="sum"), model=named("dense_1"))
    training_refused("precision", "the metric Precision is not imported (Keras configuration, metrics): expected accuracy, MAE, RMSE, AUC, R2 or top-k accuracy; or "
                     "keras_options::metrics false", metrics=[keras.metrics.Precision()])


def named(name, activation="softmax"):
    return sequential((4,), L.Dense(3, activation=activation, name=name))


# ---- files ----------------------------------------------------------------------------------------------

def legacy_dialect(model):
    """A configuration of the same model as Keras 2 wrote it."""
    made = {"class_name": "Sequential", "keras_version": "2.2.4", "backend": "tensorflow", "config": {"name": "sequential_1", "layers": []}}
    for layer in model.layers:
        config = {key: value for key, value in layer.get_config().items() if isinstance(value, (str, int, float, tuple, list, bool)) and key != "dtype"}
        if not made["config"]["layers"]:
            config["batch_input_shape"] = [None, *model.input_shape[1:]]
        made["config"]["layers"].append({"class_name": type(layer).__name__, "config": config})
    return made


def files():
    """Small files of each kind, with their outputs in files.txt."""
    lines.clear()
    cnn = sequential((6, 6, 1), L.Conv2D(3, 3, activation="relu", name="conv"), L.MaxPooling2D(2, name="pool"), L.Flatten(name="flat"), L.Dense(2, activation="softmax", name="out"))
    case("cnn", cnn)
    cnn.compile(optimizer=keras.optimizers.SGD(0.1), loss="categorical_crossentropy", metrics=["accuracy"])
    cnn.save(FOLDER / "cnn.keras")
    cnn.save(FOLDER / "cnn.h5")
    cnn.save_weights(FOLDER / "cnn.weights.h5")
    (FOLDER / "cnn.json").write_text(cnn.to_json())
    # As Keras 2 wrote it: texts of fixed length, names in two parts, ":0" behind the names of arrays.
    with h5py.File(FOLDER / "cnn_keras2.h5", "w") as file:
        file.attrs["keras_version"] = numpy.bytes_("2.2.4")
        file.attrs["backend"] = numpy.bytes_("tensorflow")
        file.attrs["model_config"] = numpy.bytes_(json.dumps(legacy_dialect(cnn)))
        file.attrs["training_config"] = numpy.bytes_(json.dumps({
            "optimizer_config": {"class_name": "SGD", "config": {"lr": 0.1, "momentum": 0.0, "decay": 0.0, "nesterov": False}},
            "loss": "categorical_crossentropy", "metrics": ["accuracy"], "sample_weight_mode": None, "loss_weights": None}))
        group = file.create_group("model_weights")
        names = [layer.name.encode() for layer in cnn.layers]
        group.attrs["layer_names0"], group.attrs["layer_names1"] = names[:2], names[2:]
        for layer in cnn.layers:
            inner = group.create_group(layer.name)
            arrays = [(f"{layer.name}/{kind}:0".encode(), w) for kind, w in zip(("kernel", "bias"), layer.get_weights())]
            inner.attrs["weight_names"] = [name for name, _ in arrays]
            for name, array in arrays:
                inner.create_dataset(name.decode(), data=array)

    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="relu", name="first"), L.LayerNormalization(name="norm"), L.Dense(4, name="second")], name="inner")
    x = keras.Input((5, 3), name="x")
    h = L.Bidirectional(L.GRU(2, return_sequences=True), name="both")(L.Masking(name="mask")(x))
    tied = L.Dense(4, activation="tanh", name="tied")
    first, second = L.LSTM(4, name="lstm")(h), L.GlobalAveragePooling1D(name="mean")(h)
    tagger = keras.Model(x, L.Dense(3, activation="softmax", name="out")(L.Concatenate(name="joined")([inner(tied(first)), tied(second)])))
    case("tagger", tagger, masked=True)
    tagger.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy")
    tagger.save(FOLDER / "tagger.keras")
    tagger.save(FOLDER / "tagger.h5")
    # In .h5 files the statistics of a nested model are behind its trained arrays.
    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, name="first"), L.BatchNormalization(name="norm"), L.Dense(4, name="second")], name="inner")
    fixed = L.Dense(4, name="fixed")
    fixed.trainable = False
    nested = sequential((4,), inner, fixed, L.Dense(2, name="out"))
    case("nested", nested)
    nested.save(FOLDER / "nested.h5")
    (FOLDER / "files.txt").write_text("\n".join(lines) + "\n")


def write(name, *parts):
    lines.clear()
    for part in parts:
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        part()
    (FOLDER / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write("layers.txt", activations, dense, convolutions, pooling, normalisation, indices, shapes, merging, randoms, recurrent, attention, models, classes)
    write("curves.txt", curves)
    keras.backend.clear_session()
    files()
