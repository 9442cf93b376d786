# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a page of docs/guide/ in an empty folder and compares their output with the page.

    guide_page.py PROGRAM PAGE.md

A block ```console contains commands, which begin with "$ ", and the lines that each command prints. If a page has no such block,
its command is "./NAME", NAME as in NAME.md. A block ```text contains lines that one of the commands prints. The output may have
further lines before, between and after them. In the page, `…` matches any text, and a number with decimals matches any number. A
command must succeed, unless the next command is `echo $?`. PREPARED are the pages whose program reads files of the user; the test
writes these files first.
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import guide_images

MPIRUN = pathlib.Path(__file__).resolve().parent / "mpirun"
NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan)"
LONGEST = 120  # seconds of a command
PREPARED = {"your_images": lambda folder: guide_images.write(folder / "photographs"),
            "your_text": lambda folder: (folder / "sentences.txt").write_text(sentences(2000), encoding="utf-8"),
            "language_model": lambda folder: write_language(folder),
            "word_vectors": lambda folder: (folder / "sentences.txt").write_text(sentences(2000), encoding="utf-8")}


def sentences(count):
    """Random sentences such as "the king sees the sea."."""
    numbers = random.Random(1)
    parts = (("the king", "a sailor", "my lady", "the old clerk"), ("sees", "hears", "has found", "remembers"),
             ("the sea", "a letter", "his sword", "an honest word"))
    return "".join(" ".join(numbers.choice(some) for some in parts) + ".\n" for _ in range(count))


def write_language(folder):
    """Sentences, and a vocabulary of a few words in the format of GPT-2's files."""
    (folder / "sentences.txt").write_text(sentences(2000), encoding="utf-8")
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    names = {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + k) for k, byte in enumerate(others)}}
    merges = {}
    for word in (" the", " king", " sees", " sea", " letter", " sailor", " my", " lady"):
        letters = [names[byte] for byte in word.encode()]
        merges.update({f"{''.join(letters[:k])} {letters[k]}": None for k in range(1, len(letters))})
    pieces = [*names.values(), *(merge.replace(" ", "") for merge in merges), "<|endoftext|>"]
    (folder / "gpt2").mkdir()
    (folder / "gpt2/vocab.json").write_text(json.dumps({piece: k for k, piece in enumerate(pieces)}), encoding="utf-8")
    (folder / "gpt2/merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")


def blocks(text, language):
    return [block.splitlines() for block in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def commands(text, name):
    """Pairs of a command and the lines that the page shows for it."""
    found = []
    for block in blocks(text, "console"):
        for line in block:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found or [(f"./{name}", [])]


def pattern(line):
    parts = re.split(r"(…|\d+\.\d+(?:e[+-]?\d+)?)", line)
    return re.compile("".join(".*" if part == "…" else NUMBER if k % 2 else re.escape(part) for k, part in enumerate(parts)))


def missing(lines, output):
    """The first line that the output lacks; None if the output contains all lines in this order."""
    rest = iter(output)
    for line in lines:
        if line.strip() and not any(pattern(line).fullmatch(one) for one in rest):
            return line
    return None


def complaints(program, page):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    name = pathlib.Path(page).stem
    found, everything, status = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(program, os.path.join(folder, name))
        PREPARED.get(name, lambda _: None)(pathlib.Path(folder))
        tools = pathlib.Path(folder, "tools")
        tools.mkdir()
        (tools / "mpirun").write_text(f'#!/bin/sh\nexec bash "{MPIRUN}" "$@"\n', encoding="utf-8")
        (tools / "mpirun").chmod(0o755)
        system = os.environ.get("MPIRUN") or "mpirun"
        environment = {**os.environ, "MPIRUN": system if "/" in system else find(system), "PATH": f"{tools}:{os.environ['PATH']}"}
        todo = commands(text, name)
        for k, (command, lines) in enumerate(todo):
            asks = k + 1 < len(todo) and todo[k + 1][0] == "echo $?"
            done = subprocess.run(["bash", "-c", f"(exit {status}); {command}"], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LONGEST)
            status = done.returncode
            output = done.stdout.splitlines()
            everything += output
            if status != 0 and not asks:
                found.append(f"{command}: status {status}\n{done.stdout}")
            if (line := missing(lines, output)) is not None:
                found.append(f"{command} does not print, in this order: {line}\n{done.stdout}")
    for block in blocks(text, "text"):
        for line in block:
            if missing([line], everything) is not None:
                found.append(f"the program does not print: {line}\n" + "\n".join(everything))
    return found


def find(tool):
    for folder in os.environ["PATH"].split(":"):
        if os.access(os.path.join(folder, tool), os.X_OK):
            return os.path.join(folder, tool)
    return tool


def main():
    found = complaints(os.path.abspath(sys.argv[1]), sys.argv[2])
    for complaint in found:
        print(f"{sys.argv[2]}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
