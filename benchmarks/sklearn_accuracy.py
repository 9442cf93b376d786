#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cross-validates scikit-learn's network on one of its tables, writes the rows of each fold, and prints the mean score as JSON.

    sklearn_accuracy.py breast_cancer|diabetes FOLDER SEED EPOCHS BATCH RATE PENALTY UNITS...

The rows of fold k are FOLDER/training_k.csv and FOLDER/held_out_k.csv, with the target in the last column. One hidden layer of
rectifiers per number of UNITS, Adam with learning rate RATE, penalty PENALTY (scikit-learn's alpha). Inputs, and the targets of
a regression, are standardised by the training rows. compare_accuracy.py runs it; train_table is its counterpart. Needs
`pip install scikit-learn`.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import sklearn
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDS = 5


def write_rows(path, names, inputs, targets):
    """Writes a table whose numbers are read back exactly."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(names) + ",target\n")
        for row, target in zip(inputs.tolist(), targets.tolist()):
            file.write(",".join(map(repr, [*row, target])) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["breast_cancer", "diabetes"])
    parser.add_argument("folder", type=pathlib.Path)
    for name, kind in (("seed", int), ("epochs", int), ("batch", int), ("rate", float), ("penalty", float)):
        parser.add_argument(name, type=kind)
    parser.add_argument("units", type=int, nargs="+")
    how = parser.parse_args()
    settings = {"hidden_layer_sizes": how.units, "solver": "adam", "alpha": how.penalty, "batch_size": how.batch,
                "learning_rate_init": how.rate, "max_iter": how.epochs, "random_state": how.seed,
                "tol": 0, "n_iter_no_change": how.epochs}  # all epochs
    if how.table == "breast_cancer":
        data, metric = load_breast_cancer(), "accuracy"
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=how.seed)
        network = MLPClassifier(**settings)
    else:
        data, metric = load_diabetes(scaled=False), "r2"
        folds = KFold(FOLDS, shuffle=True, random_state=how.seed)
        network = TransformedTargetRegressor(MLPRegressor(**settings), transformer=StandardScaler())
    how.folder.mkdir(parents=True, exist_ok=True)
    scores, seconds = [], 0.0
    for number, parts in enumerate(folds.split(data.data, data.target)):
        for name, rows in zip(("training", "held_out"), parts):
            write_rows(how.folder / f"{name}_{number}.csv", data.feature_names, data.data[rows], data.target[rows])
        training, held_out = parts
        model = make_pipeline(StandardScaler(), network)
        begun = time.monotonic()
        model.fit(data.data[training], data.target[training])
        seconds += time.monotonic() - begun
        scores.append(model.score(data.data[held_out], data.target[held_out]))
    print(json.dumps({"by": "scikit-learn", "version": sklearn.__version__, "metric": metric, "score": statistics.mean(scores),
                      "folds": scores, "seconds": round(seconds, 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
