#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test accuracy of a masked bidirectional LSTM on JapaneseVowels in Keras, the counterpart of sequence_classification.

    KERAS_BACKEND=jax python keras_vowels.py FOLDER [--epochs 40] [--seed 1]

FOLDER: as written by cmake/get_japanese_vowels.py. 270 utterances for training, 370 for the test, 7 to 29 steps of 12 values, 9
speakers. Network: LSTM of 64 units in both directions, concatenated, dense. Adam, rate 0.005, batch 32, gradients clipped to norm
1. The values are standardised by the mean and deviation of each column over the training steps. Prints one JSON line.
Needs keras and jax (PyPI)."""
import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras  # noqa: E402
import numpy  # noqa: E402

LONGEST = 29
COLUMNS = 12


def read(path):
    """Series (steps x columns) and speakers (from 0) of a .ts file: columns separated by ':', then the speaker."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    rows = [line.split(":") for line in lines[[line.lower() for line in lines].index("@data") + 1:] if line.strip()]
    return ([numpy.array([[float(value) for value in column.split(",")] for column in row[:-1]]).T for row in rows],
            numpy.array([int(row[-1]) - 1 for row in rows]))


def padded(series, mean, deviation):
    """Standardised series, padded with zeros, and the mask of their steps."""
    values = numpy.zeros((len(series), LONGEST, COLUMNS), "float32")
    mask = numpy.zeros((len(series), LONGEST), bool)
    for k, one in enumerate(series):
        values[k, :len(one)] = (one - mean) / deviation
        mask[k, :len(one)] = True
    return values, mask


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    keras.utils.set_random_seed(a.seed)
    train, train_speakers = read(pathlib.Path(a.folder) / "JapaneseVowels_TRAIN.ts")
    test, test_speakers = read(pathlib.Path(a.folder) / "JapaneseVowels_TEST.ts")
    steps = numpy.concatenate(train)
    mean, deviation = steps.mean(0), steps.std(0)

    values = keras.Input((LONGEST, COLUMNS))
    mask = keras.Input((LONGEST,), dtype="bool")
    hidden = keras.layers.Bidirectional(keras.layers.LSTM(64))(values, mask=mask)
    net = keras.Model([values, mask], keras.layers.Dense(9)(hidden))
    net.compile(keras.optimizers.Adam(0.005, global_clipnorm=1.0),
                keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    start = time.perf_counter()
    net.fit(padded(train, mean, deviation), train_speakers, batch_size=32, epochs=a.epochs, verbose=0)
    seconds = time.perf_counter() - start
    loss, accuracy = net.evaluate(padded(test, mean, deviation), test_speakers, batch_size=370, verbose=0)
    print(json.dumps({"seed": a.seed, "epochs": a.epochs, "parameters": net.count_params(), "accuracy": round(accuracy, 4),
                      "loss": round(loss, 4), "seconds": round(seconds, 1)}))


if __name__ == "__main__":
    main()
