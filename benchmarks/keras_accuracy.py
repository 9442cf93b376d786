#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the network of train_images in Keras, and prints its accuracy as JSON.

    keras_accuracy.py FOLDER SEED EPOCHS BATCH RATE

FOLDER contains train and test with one folder of 32x32 images per class. Settings, initialisation and the schedule of the
learning rate are those of train_images; the random numbers differ. compare_accuracy.py runs both. Needs
`pip install keras jax pillow`; KERAS_BACKEND selects another backend than jax.
"""
import argparse
import json
import os
import pathlib
import sys
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy
from keras import layers
from PIL import Image


def network(classes):
    def convolution(filters):
        return layers.Conv2D(filters, 3, padding="same", activation="relu")

    return keras.Sequential([
        layers.Input((32, 32, 3)),
        convolution(32), convolution(32), layers.MaxPooling2D(2),
        convolution(64), convolution(64), layers.MaxPooling2D(2), layers.Flatten(),
        layers.Dense(256, activation="relu"), layers.Dropout(0.3),
        layers.Dense(classes, activation="softmax")])


def images_of(folder):
    """Returns all images in [0, 1], and their classes, numbered in the order of the folders' names."""
    images, labels = [], []
    for label, name in enumerate(sorted(path.name for path in folder.iterdir() if path.is_dir())):
        for path in sorted((folder / name).iterdir()):
            with Image.open(path) as image:
                images.append(numpy.asarray(image.convert("RGB")))
            labels.append(label)
    return numpy.stack(images).astype("float32") / 255, numpy.array(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    for name, kind in (("seed", int), ("epochs", int), ("batch", int), ("rate", float)):
        parser.add_argument(name, type=kind)
    how = parser.parse_args()
    keras.utils.set_random_seed(how.seed)
    images, labels = images_of(how.folder / "train")
    held_out, held_out_labels = images_of(how.folder / "test")
    mean, deviation = images.mean((0, 1, 2), dtype="float64"), images.std((0, 1, 2), dtype="float64")
    images, held_out = (((part - mean) / deviation).astype("float32") for part in (images, held_out))
    net = network(int(labels.max()) + 1)
    steps = -(-len(images) // how.batch) * how.epochs
    rate = keras.optimizers.schedules.PolynomialDecay(how.rate, steps, end_learning_rate=0)
    net.compile(keras.optimizers.Adam(rate, epsilon=1e-8), "sparse_categorical_crossentropy", metrics=["accuracy"])
    begun = time.monotonic()
    net.fit(images, labels, batch_size=how.batch, epochs=how.epochs, verbose=0)
    seconds = time.monotonic() - begun
    _, score = net.evaluate(held_out, held_out_labels, batch_size=256, verbose=0)
    print(json.dumps({"by": "Keras", "version": f"{keras.__version__}, {keras.backend.backend()}", "metric": "accuracy",
                      "score": float(score), "parameters": net.count_params(), "seconds": round(seconds, 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
