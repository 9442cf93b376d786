#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loss of word vectors learned by the program word2vec and by gensim, from the same text with the same settings.

    python gensim_word2vec.py TEXT [--program build/release/examples/word2vec] [--seeds 1 2 3] [--epochs 5] [--ranks 1]

Both: skip-gram, vectors of 100 elements, window 5, 5 noise words, words that occur at least 5 times, subsampling 0.001,
sgd with a rate that falls from 0.025 to 0.0001; gensim with one thread. TEXT is first converted as the program does: lower case, other characters
except apostrophes separate words. The loss is computed here for both, in double precision: the mean over the pairs of a word and a
word in its window of -ln s(v.u) - sum ln s(-v.n), over all windows of the text, with random window sizes, subsampling and
noise words, the same for all vectors. Prints one JSON line per seed and the means. Needs gensim and numpy (PyPI)."""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time
from collections import Counter

import numpy

WINDOW, NOISE, LEAST, SAMPLE, WIDTH = 5, 5, 5, 1e-3, 100


def sentences_of(path):
    text = pathlib.Path(path).read_bytes()
    text = re.sub(rb"[^a-z0-9'\n\x80-\xff]", b" ", text.lower())
    return [line.split() for line in text.decode("utf-8").split("\n")]


def vocabulary_of(sentences):
    """Words in the program's order, and their counts."""
    counts = Counter(word for line in sentences for word in line)
    words = sorted((word for word, count in counts.items() if count >= LEAST), key=lambda word: (-counts[word], word.encode()))
    return words, numpy.array([counts[word] for word in words], float)


def drawn_pairs(sentences, words, counts):
    """Words in windows, centres, and noise words of each pair."""
    numbers = numpy.random.default_rng(0)
    index = {word: i for i, word in enumerate(words)}
    ratio = counts / (SAMPLE * counts.sum())
    keep = (numpy.sqrt(ratio) + 1) / ratio
    around, centres = [], []
    for line in sentences:
        kept = [i for i in (index.get(word) for word in line) if i is not None and numbers.random() < keep[i]]
        for at, centre in enumerate(kept):
            reach = numbers.integers(1, WINDOW + 1)
            for other in range(max(0, at - reach), min(len(kept), at + reach + 1)):
                if other != at:
                    around.append(kept[other])
                    centres.append(centre)
    share = counts**0.75 / (counts**0.75).sum()
    return numpy.array(around), numpy.array(centres), numbers.choice(len(words), (len(around), NOISE), p=share)


def loss_of(vectors, outputs, pairs, part=20000):
    total = 0.0
    vectors, outputs = vectors.astype(float), outputs.astype(float)
    for begin in range(0, len(pairs[0]), part):
        around, centres, noise = (one[begin:begin + part] for one in pairs)
        v = vectors[around]
        total += numpy.logaddexp(0, -(v * outputs[centres]).sum(1)).sum()
        away = numpy.einsum("pd,pkd->pk", v, outputs[noise])
        total += (numpy.logaddexp(0, away) * (noise != centres[:, None])).sum()
    return total / len(pairs[0])


def tensors_of(path):
    """Tensors f32 of a safetensors file."""
    content = pathlib.Path(path).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    return {name: numpy.frombuffer(content, "<f4", (one["data_offsets"][1] - one["data_offsets"][0]) // 4,
                                   8 + size + one["data_offsets"][0]).reshape(one["shape"])
            for name, one in header.items() if name != "__metadata__"}


def train_ours(a, seed):
    with tempfile.TemporaryDirectory() as folder:
        state, report = pathlib.Path(folder) / "state.safetensors", pathlib.Path(folder) / "report.json"
        subprocess.run([a.program, "--data", a.text, "--seed", str(seed), "--epochs", str(a.epochs), "--ranks", str(a.ranks),
                        "--batch", str(1024 // a.ranks), "--save", state, "--json", report], check=True, stdout=subprocess.DEVNULL)
        tensors = tensors_of(state)
        return tensors["input"], tensors["output"], json.loads(report.read_text(encoding="utf-8"))["seconds"]


def train_gensim(a, seed, sentences, words):
    from gensim.models import Word2Vec
    begin = time.perf_counter()
    net = Word2Vec(sentences, vector_size=WIDTH, window=WINDOW, min_count=LEAST, sg=1, negative=NOISE, sample=SAMPLE,
                   alpha=0.025, min_alpha=1e-4, epochs=a.epochs, seed=seed, workers=1)
    seconds = time.perf_counter() - begin
    order = [net.wv.key_to_index[word] for word in words]
    return net.wv.vectors[order], net.syn1neg[order], seconds


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("text")
    p.add_argument("--program", default="build/release/examples/word2vec")
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--ranks", type=int, default=1)
    a = p.parse_args()
    sentences = sentences_of(a.text)
    words, counts = vocabulary_of(sentences)
    pairs = drawn_pairs(sentences, words, counts)
    losses = []
    for seed in a.seeds:
        ours, gensim = train_ours(a, seed), train_gensim(a, seed, sentences, words)
        losses.append([loss_of(*one[:2], pairs) for one in (ours, gensim)])
        print(json.dumps({"seed": seed, "loss": losses[-1][0], "loss of gensim": losses[-1][1], "seconds": ours[2],
                          "seconds of gensim": gensim[2]}), flush=True)
    mean = numpy.mean(losses, 0)
    print(json.dumps({"words": len(words), "pairs": len(pairs[0]), "loss": mean[0], "loss of gensim": mean[1],
                      "ratio": mean[0] / mean[1]}))


if __name__ == "__main__":
    main()
