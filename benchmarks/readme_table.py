#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes measurements into the README, between <!-- measured --> and <!-- /measured -->.

    readme_table.py COMPARISON.json... [--readme README.md]

COMPARISON files are from compare_pytorch.py --json, of one machine and commit. If several files contain the same row, the
one with the most rounds is used. Rejects comparisons on a GPU, and comparisons with disturbed blocks unless --disturbed is
given.
"""
import argparse
import json
import pathlib
import re
import sys

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
PLACE = re.compile(r"^<!-- measured -->\n.*?^<!-- /measured -->$", re.MULTILINE | re.DOTALL)
TITLES = {"lenet": "LeNet", "mlp": "MLP 784-500-100-10", "cifar": "CIFAR-10 network", "darknet": "Darknet blocks",
          "resnet50": "ResNet-50"}


def joined(comparisons):
    """Merges comparisons into one."""
    context = comparisons[0]["context"]
    rows = {}
    for comparison in comparisons:
        other = [key for key in context if key != "date" and comparison["context"].get(key) != context[key]]
        if other:
            raise ValueError(f"the comparisons differ in {', '.join(other)}")
        for row in comparison["rows"]:
            key = (list(TITLES).index(row["net"]) if row["net"] in TITLES else len(TITLES), row["net"], row["dtype"] != "f32", row["batch"])
            if key not in rows or rows[key]["rounds"] < row["rounds"]:
                rows[key] = row
    return {"context": context, "rows": [rows[key] for key in sorted(rows)]}


def sentence(context, rows):
    counts = {row["rounds"] for row in rows}
    rounds = str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return (f"Training steps (forward, backward, update) on {context['processors']} processors of {context['processor']} with "
            f"{context['threads']} threads. Measured on {context['date']} at commit {context['commit']} with oneDNN {context['onednn']}, "
            f"{context['compiler']} and PyTorch {context['pytorch']} in its fastest mode. Times are medians of {rounds} interleaved "
            "rounds; the brackets contain the quartiles of the rounds' ratios.")


def measured(comparison):
    """The table of the README: the rows in f32. benchmarks/results/steps.md contains memory and bf16."""
    lines = [sentence(comparison["context"], comparison["rows"]), "",
             "| network | batch | Cohort | PyTorch | PyTorch's time divided by Cohort's |", "|---|---|---|---|---|"]
    for row in comparison["rows"]:
        if row["dtype"] == "f32":
            low, high = row["ratio_quartiles"]
            lines.append(f"| {TITLES.get(row['net'], row['net'])} | {row['batch']} | {row['cohort_ms']:.2f} ms | {row['pytorch_ms']:.2f} ms "
                         f"({row['pytorch_mode']}) | **{row['ratio']:.2f}** ({low:.2f} to {high:.2f}) |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", type=pathlib.Path, nargs="+")
    parser.add_argument("--readme", type=pathlib.Path, default=README)
    parser.add_argument("--disturbed", action="store_true", help="also accept disturbed blocks")
    arguments = parser.parse_args()
    try:
        comparison = joined([json.loads(one.read_text(encoding="utf-8")) for one in arguments.comparison])
        if comparison["context"].get("device", "cpu") != "cpu":
            raise ValueError(f"expected a comparison on the CPU, got one on {comparison['context']['device']}")
        disturbed = sum(row["disturbed_blocks"] for row in comparison["rows"])
        if disturbed and not arguments.disturbed:
            raise ValueError(f"{disturbed} blocks were disturbed: measure again on an idle machine")
        readme = arguments.readme.read_text(encoding="utf-8")
        if len(PLACE.findall(readme)) != 1:
            raise ValueError(f"{arguments.readme}: expected one pair of <!-- measured --> and <!-- /measured --> lines")
        text = f"<!-- measured -->\n{measured(comparison)}\n<!-- /measured -->"
        arguments.readme.write_text(PLACE.sub(lambda _: text, readme), encoding="utf-8")
    except (OSError, KeyError, ValueError) as problem:
        print(f"readme_table.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
