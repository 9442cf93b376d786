# SPDX-License-Identifier: Apache-2.0
"""Writes keras_recurrent.txt beside it: recurrent networks by Keras in double precision.

Keras rounds to single precision in some places: the numbers have about 8 digits.

KERAS_BACKEND=jax python3 tests/golden/keras_recurrent.py    (made with Keras 3.15 and jax 0.10)

`case tagger` and `case masked_tagger`: embedding, convolution, LSTM and dense on sequences of indices, with a class per step:
`input`, `mask` (1: the step is unmasked), `target`, each parameter as `parameter NAME`, the mean `loss`, and its gradients as
`gradient NAME`, from one step of plain SGD at rate 1. Keras drops the mask at a convolution: the padding before the convolution is set
to 0, and the mask is passed to the LSTM.
`case vowels`: a masked bidirectional LSTM. `losses` of 20 steps of Adam with clipped gradients. Its data and parameters are
drawn as in curves.py: tensor 0 has the inputs, 1 the targets, 2 the lengths, then the parameters follow.
The networks of the same names are in training/recurrent_curves_test.cpp.
"""
import math
import os
import pathlib

os.environ.setdefault("KERAS_BACKEND", "jax")
import jax  # noqa: E402
import keras  # noqa: E402
import numpy  # noqa: E402

jax.config.update("jax_enable_x64", True)
keras.config.set_floatx("float64")
BATCH, STEPS, WORDS, CLASSES = 4, 6, 7, 3
LENGTHS = numpy.array([4, 6, 1, 3])


def hashed(tensor, count):
    x = (numpy.arange(count, dtype=numpy.uint64) * 0x9E3779B1 + tensor * 0x85EBCA6B) & 0xFFFFFFFF
    for _ in range(2):
        x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
    return ((x ^ (x >> 16)) & 0xFFFF).astype("int64")


def drawn(tensor, *extents):
    return (hashed(tensor, math.prod(extents)) / 65536 - 0.5).reshape(extents)


def ours(name, value):
    """A parameter in Cohort's layout: the extents of Keras' kernels are reversed, except those of an embedding."""
    return value if name.startswith("embedding") else value.T


def numbers(t):
    return " ".join(f"{x:.17g}" for x in numpy.asarray(t, "float64").flatten().tolist())


def tagger(masked):
    words, mask = keras.Input((STEPS,), dtype="int32"), keras.Input((STEPS,), dtype="bool")
    x = keras.layers.Embedding(WORDS, 4, name="embedding_1")(words)
    if masked:
        x = x * keras.ops.expand_dims(keras.ops.cast(mask, "float64"), 2)
    x = keras.layers.Conv1D(5, 3, padding="same", activation="relu", name="conv1d_1")(x)
    x = keras.layers.LSTM(3, return_sequences=True, name="lstm_1")(x, mask=mask if masked else None)
    return keras.Model([words, mask], keras.layers.Dense(CLASSES, name="dense_1")(x))


NAMES = {"embedding_1": ["weights"], "conv1d_1": ["weights", "bias"], "lstm_1": ["weights", "recurrent_weights", "bias"],
         "dense_1": ["weights", "bias"]}


def parameters_of(net):
    return {f"{layer}.{name}": ours(layer, numpy.array(value))
            for layer, names in NAMES.items() for name, value in zip(names, net.get_layer(layer).get_weights())}


def tagger_case(name, masked):
    random = numpy.random.default_rng(25)
    net = tagger(masked)
    net.set_weights([random.normal(size=w.shape).round(3) / 2 for w in net.get_weights()])
    mask = numpy.arange(STEPS) < (LENGTHS[:, None] if masked else STEPS)
    mask = numpy.broadcast_to(mask, (BATCH, STEPS))
    words, tags = random.integers(1, WORDS, mask.shape) * mask, random.integers(0, CLASSES, mask.shape) * mask
    net.compile(keras.optimizers.SGD(1.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = parameters_of(net)
    loss = net.train_on_batch([words, mask], tags)
    after = parameters_of(net)
    return [f"case {name} batch {BATCH}", f"input {numbers(words)}", f"mask {numbers(mask)}", f"target {numbers(tags)}",
            *(f"parameter {key} {numbers(value)}" for key, value in before.items()), f"loss {numbers(loss)}",
            *(f"gradient {key} {numbers(before[key] - after[key])}" for key in before)]


def vowels_case(batches=5, batch=8, steps=29, columns=12, units=6, classes=9):
    values, mask = keras.Input((steps, columns)), keras.Input((steps,), dtype="bool")
    hidden = keras.layers.Bidirectional(keras.layers.LSTM(units), name="both")(values, mask=mask)
    net = keras.Model([values, mask], keras.layers.Dense(classes, name="dense_1")(hidden))
    kernels = {"both": [(4 * units, columns), (4 * units, units), (4 * units,)] * 2,
               "dense_1": [(classes, 2 * units), (classes,)]}
    number = 3
    for layer, shapes in kernels.items():
        made = []
        for extents in shapes:
            scale = 2 / math.isqrt(extents[1]) if len(extents) > 1 else 1 / 8
            made.append((drawn(number, *extents) * scale).T)
            number += 1
        net.get_layer(layer).set_weights(made)
    lengths = 7 + hashed(2, batches * batch).reshape(batches, batch) % 23
    exists = numpy.arange(steps) < lengths[:, :, None]
    x = drawn(0, batches, batch, steps, columns) * 4 * exists[:, :, :, None]
    y = hashed(1, batches * batch).reshape(batches, batch) % classes
    net.compile(keras.optimizers.Adam(0.005, epsilon=1e-30, global_clipnorm=1.0),
                keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    losses = [net.train_on_batch([x[step % batches], exists[step % batches]], y[step % batches]) for step in range(20)]
    return [f"case vowels batch {batch}", f"losses {numbers(losses)}"]


def main():
    lines = [*tagger_case("tagger", False), *tagger_case("masked_tagger", True), *vowels_case()]
    pathlib.Path(__file__).with_name("keras_recurrent.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
