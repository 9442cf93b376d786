# SPDX-License-Identifier: Apache-2.0
"""Writes masks.txt, names.txt and optimizers.txt into tests/golden/keras: what Keras does with masks, what each layer of a
model returns, and the losses of all optimizers.

KERAS_BACKEND=torch python3 tests/golden/keras_rules.py    (made with Keras 3.15.1 and PyTorch 2)

masks.txt has one line for each class of keras.layers that computes something from a sequence, `CLASS passes|drops uses|ignores`:
whether the output has the mask of the input, and whether the output differs from that without mask.

names.txt has cases as layers.txt, with the outputs of all layers: `inner PATH dims… : numbers`, in Keras' order of axes.

optimizers.txt has cases as curves.txt: each optimizer with ε 1e-7, 1e-3 and 0.1, and with gradients of about 1e-6.
"""
import inspect
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras  # noqa: E402
import numpy  # noqa: E402

import keras_models  # noqa: E402
from keras_models import FOLDER, LENGTHS, L, case, curve, functional, lines, numbers, sequential, wave, write  # noqa: E402

STEPS = 5


# ---- masks ----------------------------------------------------------------------------------------------

ARGUMENTS = {
    "Activation": ["tanh"], "Attention": [], "Bidirectional": [L.LSTM(2, return_sequences=True)], "CategoryEncoding": [4], "CenterCrop": [2, 2], "Dense": [2],
    "AlphaDropout": [0.5], "Dropout": [0.5], "GaussianDropout": [0.5], "GaussianNoise": [0.5], "SpatialDropout1D": [0.5], "SpatialDropout2D": [0.5],
    "Discretization": [[0.0]], "Dot": [2], "EinsumDense": ["abc,cd->abd", (None, 2)], "Embedding": [8, 2], "ReversibleEmbedding": [8, 2], "GroupQueryAttention": [4, 4, 2],
    "GroupedQueryAttention": [4, 4, 2], "MultiHeadAttention": [2, 4], "GRU": [2], "LSTM": [2], "SimpleRNN": [2], "RNN": [L.LSTMCell(2)], "GroupNormalization": [2],
    "Permute": [(2, 1)], "RepeatVector": [3], "Reshape": [(4, 5)], "Rescaling": [0.5, 0.5], "SpectralNormalization": [L.Dense(2)],
    "TimeDistributed": [L.Dense(2)], "Lambda": [lambda x: x + 1], "UnitNormalization": [], "BatchNormalization": [], "Cropping2D": [1],
}
PAIRS = ("Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract", "Dot", "Attention", "AdditiveAttention")


def arguments_of(name):
    """Arguments of the constructor: a kernel of 2 for windows, 2 filters for convolutions."""
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    if "Adaptive" in name:
        return [2 if "1D" in name else (1, 2)]
    if name.startswith("Depthwise"):
        return [2]
    if "Conv" in name:
        return [2, 2]
    return [2] if "Pooling" in name and "Global" not in name else []


def masked(array):
    made = keras.ops.convert_to_tensor(array)
    mask = numpy.arange(STEPS)[None, :] < numpy.array(LENGTHS)[:, None]
    keras.src.backend.set_keras_mask(made, keras.ops.convert_to_tensor(mask))
    return made


def mask_rule(name):
    """What a layer does with a masked tensor of 2 to 4 axes, or None if it computes none of them."""
    kind = getattr(L, name)
    for axes in ((STEPS, 4), (STEPS, 4, 4), (STEPS,)):
        indices = name in ("Embedding", "CategoryEncoding") or axes == (STEPS,)
        array = numpy.abs(numpy.round(3 * wave((2, *axes), 1))).astype("int32") if indices else wave((2, *axes), 1)
        try:
            layer = kind(*arguments_of(name))
            tensors = [[array, array[::-1].copy()] if name in PAIRS else array] * (2 if "Head" in name or "Query" in name else 1)
            read = keras.tree.map_structure(masked, tensors)
            plain = keras.tree.map_structure(keras.ops.convert_to_tensor, tensors)
            how = {"training": False} if "training" in inspect.signature(layer.call).parameters else {}
            with_mask, without = layer(*read, **how), layer(*plain, **how)
            uses = bool(numpy.any(numpy.abs(keras.ops.convert_to_numpy(with_mask) - keras.ops.convert_to_numpy(without)) > 1e-6))
            if name == "BatchNormalization":  # its statistics
                trained = [keras.ops.convert_to_numpy(layer(*one, training=True)) for one in (read, plain)]
                uses = uses or bool(numpy.any(numpy.abs(trained[0] - trained[1]) > 1e-6))
            passes = keras.src.backend.get_keras_mask(with_mask) is not None
            return f"{'passes' if passes else 'drops'} {'uses' if uses else 'ignores'}"
        except Exception:  # noqa: BLE001  (layers raise all kinds of errors for tensors of other shapes)
            continue
    return None


def masks():
    kinds = {name: getattr(L, name) for name in dir(L) if inspect.isclass(getattr(L, name)) and issubclass(getattr(L, name), L.Layer)}
    for name in sorted(kinds):
        is_alias = name != kinds[name].__name__ and kinds.get(kinds[name].__name__) is kinds[name]
        rule = None if is_alias else mask_rule(name)
        if rule:
            lines.append(f"{name} {rule}")


# ---- names ------------------------------------------------------------------------------------------------

def write_inner(model, values, prefix=""):
    """Writes the outputs of all layers, also of those in nested models. `values`: of the model's inputs."""
    values = [keras.ops.convert_to_tensor(value) for value in values]
    for layer in model.layers:
        if isinstance(layer, L.InputLayer):
            continue
        node = layer._inbound_nodes[0] if not prefix else [n for n in layer._inbound_nodes if n.operation is layer][0]
        results = node.outputs
        path = prefix + layer.name
        if isinstance(layer, keras.Model):
            arguments = keras.Model(model.inputs, list(node.input_tensors))(values)
            write_inner(layer, arguments if isinstance(arguments, (list, tuple)) else [arguments], path + "/")
        if len(results) > 1:
            lines.append(f"inner {path} several")
            continue
        output = keras.Model(model.inputs, results[0])(values if len(values) > 1 else values[0])
        lines.append(f"inner {path} {' '.join(map(str, output.shape))} : {numbers(output)}")


def named(name, model, inputs=None, padding=None):
    """Writes a case with the outputs of all layers. `padding`: the value of the padded steps of a Masking layer."""
    if padding is not None:
        value = wave((2, *model.inputs[0].shape[1:]), 0)
        for row, length in enumerate(LENGTHS):
            value[row, length:] = padding
        inputs = [value]
    case(name, model, inputs=inputs)
    given = []
    for i, tensor in enumerate(model.inputs):
        given.append(numpy.array(inputs[i]) if inputs is not None and inputs[i] is not None else wave((2, *tensor.shape[1:]), i))
    write_inner(model, given)


def names():
    x = keras.Input((4,), name="x")
    h = L.Dense(5, activation="elu", name="trunk")(x)
    named("outputs", keras.Model(x, [L.Dense(3, activation="softmax", name="cls")(h), L.Dense(1, name="reg")(h), L.Dense(2, activation="sigmoid", name="tags")(h)]))
    x = keras.Input((5, 4), name="x")
    h = L.MultiHeadAttention(2, 3, name="attention")(x, x)
    h = L.LayerNormalization(name="norm")(L.Add(name="sum")([x, h]))
    named("attention", keras.Model(x, L.MultiHeadAttention(3, 2, value_dim=5, output_shape=7, name="last")(h, h)))
    named("grouped_attention", functional_of(lambda x: L.GroupQueryAttention(3, 4, 2, name="grouped")(x, L.Attention(name="plain")([x, x])), (5, 4)))
    named("sequences", sequential((12, 3), L.Conv1D(4, 3, padding="same", activation="elu", name="conv"), L.MaxPooling1D(2, name="pool"), L.SeparableConv1D(5, 3, activation="tanh", name="separable"),
                                  L.UpSampling1D(2, name="up"), L.ZeroPadding1D(2, name="pad"), L.Cropping1D(1, name="crop"), L.AveragePooling1D(2, name="average"),
                                  L.AdaptiveAveragePooling1D(5, name="adaptive"), L.PReLU(shared_axes=[1], name="prelu"), L.TimeDistributed(L.Dense(4, activation="elu"), name="each"),
                                  L.EinsumDense("abc,cd->abd", (None, 3), bias_axes="d", activation="elu", name="einsum"), L.GlobalAveragePooling1D(keepdims=True, name="mean")))
    named("images", sequential((6, 6, 2), L.Conv2D(3, 3, activation="elu", name="conv"), L.BatchNormalization(name="norm"), L.DepthwiseConv2D(2, activation="tanh", name="depthwise"),
                               L.SeparableConv2D(4, 2, activation="elu", name="separable"), L.Conv2DTranspose(2, 2, activation="elu", name="transposed"), L.Dense(3, activation="elu", name="pixels"),
                               L.Flatten(name="flat"), L.ELU(name="order"), L.Dense(3, activation="softmax", name="out")))
    x = keras.Input((5, 3), name="x")
    steps, state, cell = L.LSTM(4, return_sequences=True, return_state=True, name="states")(x)
    both = L.Bidirectional(L.GRU(2, return_sequences=True), name="both")(steps)
    apart = L.Bidirectional(L.LSTM(2), merge_mode=None, name="apart")(both)
    joined = L.Concatenate(axis=1, name="steps")([both, steps])
    h = L.SimpleRNN(4, activation="relu", name="rnn")(joined)
    h = L.Minimum(name="least")([L.Subtract(name="difference")([h, state]), cell])
    h = L.Concatenate(name="all")([h, *apart, L.Dot(1, name="dot")([h, state])])
    h = L.LSTM(2, name="again")(L.RepeatVector(3, name="copies")(h))
    named("recurrent", keras.Model(x, L.Dense(2, activation="softmax", name="out")(h)))
    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="elu", name="first"), L.Dense(4, activation="tanh", name="second")], name="inner")
    x = keras.Input((4,), name="x")
    tied = L.Dense(4, activation="tanh", name="tied")
    named("nested", keras.Model(x, inner(L.Dropout(0.5, name="drop")(L.Add(name="sum")([tied(x), tied(tied(x))])))))
    named("activations", sequential((4,), *[L.Dense(4, activation=one, name=f"dense_{one}") for one in ("hard_sigmoid", "hard_swish", "log_sigmoid", "tanh_shrink", "sigmoid", "selu", "gelu", "linear")],
                                    L.Activation("softmax", name="softmax"), L.LeakyReLU(name="leaky"), L.Rescaling(0.5, 1, name="rescaled"), L.Softmax(name="last")))
    index = keras.Input((1,), dtype="int32", name="x")
    named("one_hot", keras.Model(index, L.Dense(2, activation="elu", name="out")(L.CategoryEncoding(4, "one_hot", name="code")(index))), inputs=[[[1], [3]]])

    # Masks, without a mask in the batch.
    for value in (0, -1):
        named(f"masked_{-value}", sequential((5, 3), L.Masking(value, name="mask"), L.Dense(4, activation="tanh", name="each"), L.LSTM(3, return_sequences=True, name="steps"),
                                             L.Bidirectional(L.GRU(2, return_sequences=True), name="both"), L.LayerNormalization(name="norm"), L.GlobalAveragePooling1D(name="mean"),
                                             L.Dense(2, name="out")), padding=value)
    named("masked_gaps", sequential((5, 3), L.Masking(0.5, name="mask"), L.GRU(3, name="gru"), L.Dense(2, name="out")), inputs=[gaps(0.5)])
    index = keras.Input((5,), dtype="int32", name="x")
    h = L.Embedding(6, 3, mask_zero=True, name="words")(index)
    h = L.Bidirectional(L.LSTM(2, return_sequences=True), name="both")(h)
    named("embedded", keras.Model(index, L.GlobalAveragePooling1D(name="mean")(L.Dense(3, activation="elu", name="each")(h))), inputs=[[[1, 2, 3, 0, 0], [5, 0, 1, 2, 4]]])

    # Layers that drop the mask: behind them, padding counts as any step.
    for layer in (L.RMSNormalization(name="drops"), L.EinsumDense("abc,cd->abd", (None, 4), name="drops"), L.Conv1D(4, 2, strides=2, activation="elu", name="drops"), L.DepthwiseConv1D(2, name="drops"),
                  L.SeparableConv1D(4, 2, name="drops"), L.MaxPooling1D(2, name="drops"), L.AveragePooling1D(2, name="drops"), L.UpSampling1D(2, name="drops"), L.ZeroPadding1D(1, name="drops"),
                  L.Cropping1D(1, name="drops"), L.Reshape((3, 5), name="drops"), L.AdaptiveMaxPooling1D(1, name="drops")):
        named(f"drops_{type(layer).__name__}", sequential((5, 3), L.Masking(-1, name="mask"), layer, L.LSTM(3, return_sequences=True, name="steps"), L.GlobalAveragePooling1D(name="mean")), padding=-1)
    named("drops_GlobalMaxPooling1D", sequential((5, 3), L.Masking(-1, name="mask"), L.GlobalMaxPooling1D(name="drops"), L.Dense(2, name="out")), padding=-1)
    named("drops_Flatten", sequential((5, 3), L.Masking(-1, name="mask"), L.Flatten(name="drops"), L.Dense(2, name="out")), padding=-1)
    x = keras.Input((5, 3), name="x")
    h = L.Masking(-1, name="mask")(x)
    named("drops_operation", keras.Model(x, L.GlobalAveragePooling1D(name="mean")(h + h)), padding=-1)
    x = keras.Input((5, 3), name="x")
    h = L.Masking(-1, name="mask")(x)
    named("drops_Dot", keras.Model(x, L.GlobalAveragePooling1D(name="mean")(L.Dot(2, name="dot")([h, h]))), padding=-1)


def gaps(value):
    made = wave((2, 5, 3), 0)
    made[0, 1], made[0, 4], made[1, 0] = value, value, value
    made[1, 2, 0] = value  # one number of a step: not padding
    return made


def functional_of(build, shape):
    x = keras.Input(shape, name="x")
    return keras.Model(x, build(x))


# ---- optimizers -------------------------------------------------------------------------------------------

def optimizers():
    o = keras.optimizers
    made = {
        "Adam": lambda e: o.Adam(0.05, epsilon=e), "Adam_amsgrad": lambda e: o.Adam(0.05, beta_2=0.7, epsilon=e, amsgrad=True), "Adam_decay": lambda e: o.Adam(0.05, epsilon=e, weight_decay=0.1),
        "AdamW": lambda e: o.AdamW(0.05, epsilon=e, weight_decay=0.2), "Adamax": lambda e: o.Adamax(0.05, epsilon=e), "Adagrad": lambda e: o.Adagrad(0.1, epsilon=e),
        "Adagrad_0": lambda e: o.Adagrad(0.1, initial_accumulator_value=0, epsilon=e), "Adadelta": lambda e: o.Adadelta(1.0, epsilon=e), "Lamb": lambda e: o.Lamb(0.05, epsilon=e),
    }
    for name, optimizer in made.items():
        for epsilon in (1e-7, 1e-3, 0.1):
            curve(f"{name}_{epsilon:g}", keras_models.regression(), "mse", optimizer(epsilon), [[[-1, 1], [1, -1]]])
        curve(f"{name}_small_gradients", keras_models.regression(), "mse", optimizer(1e-7), [[[-1, 1], [1, -1]]], loss_weights=1e-6)


if __name__ == "__main__":
    write("masks.txt", masks)
    write("names.txt", names)
    write("optimizers.txt", optimizers)
