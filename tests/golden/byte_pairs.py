# SPDX-License-Identifier: Apache-2.0
"""byte_pairs.py: prints byte_pairs.json, a small byte pair vocabulary and texts encoded with it, by the package tokenizers 0.23."""
import json
import random
import tempfile

from tokenizers import ByteLevelBPETokenizer

TEXT = """The quick brown fox doesn't jump over the lazy dog; they've seen 12 dogs, and we'll see 345 more.
    for (int i = 0; i < 128; ++i) total += values[i];  // a loop, counted from 0
Die Straße führt über die Brücke. Le garçon mange des pâtes à l'ail. Это не тест. 中文字符 и ещё раз."""


def drawn(numbers):
    """A character: often ASCII or white space, sometimes from anywhere in Unicode."""
    kind = numbers.randrange(4)
    if kind == 0:
        return chr(numbers.randrange(32, 127))
    if kind == 1:
        return numbers.choice(" \n\t\r\u00a0\u3000\u2003\u0085\x0b\x1c")
    if kind == 2:
        return chr(numbers.randrange(0x80, 0xd800))
    return chr(numbers.randrange(0x10000, 0x110000))


def main():
    made = ByteLevelBPETokenizer()
    made.train_from_iterator([TEXT], vocab_size=320, min_frequency=2, show_progress=False)
    with tempfile.TemporaryDirectory() as folder:
        vocabulary_file, merges_file = made.save_model(folder)
        with open(vocabulary_file, encoding="utf-8") as file:
            vocabulary = json.load(file)
        with open(merges_file, encoding="utf-8") as file:
            merges = file.read()
    numbers = random.Random(1)
    texts = [TEXT, "", " ", "  ", "a  b", "a \n", "it's 'll' DON'T", "x" * 40, "the the  the\n\nthe",
             *("".join(drawn(numbers) for _ in range(30)) for _ in range(40))]
    print(json.dumps({"vocabulary": json.dumps(vocabulary), "merges": merges,
                      "cases": [{"text": text, "tokens": made.encode(text).ids} for text in texts]}))


if __name__ == "__main__":
    main()
