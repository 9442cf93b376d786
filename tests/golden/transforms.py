# SPDX-License-Identifier: Apache-2.0
"""Writes transforms.csv, a table, and transforms.txt, what pandas and scikit-learn make of it, beside it.

python3 tests/golden/transforms.py    (made with pandas 3.1 and scikit-learn 1.9, in double precision)

For each case a line `case NAME`, then lines of numbers, by column: `COLUMN numbers…`. Missing numbers are left out. The pipelines
of the same names are in transform/transform_golden_test.cpp.
"""
import pathlib

import numpy
import pandas
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

ROWS = 60
FOLDER = pathlib.Path(__file__).parent


def drawn():
    random = numpy.random.default_rng(3)
    text = pandas.DataFrame({
        "id": random.choice(["p1", "p2", "p10", "q"], ROWS),
        "when": pandas.date_range("2023-12-30T21:17:05", periods=ROWS, freq="7h13min").strftime("%Y-%m-%dT%H:%M:%SZ"),
        "age": random.integers(0, 90, ROWS).astype(str),
        "income": [f"{x:.4f}" for x in random.lognormal(3, 2, ROWS)],
        "far": [f"{x:.3f}" for x in 1e9 + random.normal(0, 1, ROWS)],
        "city": random.choice(["Rome", "Bern", "Oslo"], ROWS),
        "size": random.choice(["small", "medium", "large"], ROWS)}).sample(frac=1, random_state=5)
    for column in ("age", "income", "city"):
        text.loc[random.random(ROWS) < 0.15, column] = ""
    return text


def lines_of(name, columns):
    yield f"case {name}"
    for column, values in columns.items():
        values = numpy.asarray(values, dtype=float).ravel()
        yield f"{column} " + " ".join(f"{x:.17g}" for x in values[~numpy.isnan(values)])


def main():
    drawn().to_csv(FOLDER / "transforms.csv", index=False)
    table = pandas.read_csv(FOLDER / "transforms.csv")
    numbers = ["age", "income", "far"]
    when = pandas.to_datetime(table["when"])
    seconds = (when - pandas.Timestamp("1970-01-01", tz="UTC")) / pandas.Timedelta(seconds=1)
    lines = []

    def case(name, columns):
        lines.extend(lines_of(name, columns))

    case("standardise", dict(zip(numbers, StandardScaler().fit_transform(table[numbers]).T)))
    far = table["far"]  # scikit-learn's multiplication and addition would lose 8 digits here
    case("min_max", dict(zip(numbers[:2], MinMaxScaler().fit_transform(table[numbers[:2]]).T))
         | {"far": (far - far.min()) / (far.max() - far.min())})
    for strategy in ("mean", "median", "most_frequent"):
        case(strategy, dict(zip(numbers[:2], SimpleImputer(strategy=strategy).fit_transform(table[numbers[:2]]).T)))
    filled = SimpleImputer(strategy="most_frequent").fit_transform(table[["city"]])
    encoder = OneHotEncoder(sparse_output=False).fit(filled)
    case("one_hot", dict(zip([f"city={value}" for value in encoder.categories_[0]], encoder.transform(filled).T)))
    case("index", {"size": OrdinalEncoder(categories=[["small", "medium", "large"]]).fit_transform(table[["size"]])})
    adults = table[(table["age"] >= 18) & ((table["city"] != "Bern") & table["city"].notna() | (table["size"] == "large"))]
    case("filter", {"far": adults["far"]})
    case("derive", {"ratio": numpy.log(table["income"] + 1) / (table["age"] + 1), "rest": (table["far"] - 1e9) % 0.7,
                    "clipped": table["age"].clip(20, 60), "choice": numpy.where(table["size"] == "small", 1, 2)})
    case("time", {"when": seconds, "year": when.dt.year, "month": when.dt.month, "day": when.dt.day, "hour": when.dt.hour,
                  "minute": when.dt.minute, "weekday": when.dt.day_of_week})
    chain = table[table["age"] >= 18].copy()
    chain["income"] = SimpleImputer(strategy="median").fit_transform(chain[["income"]])
    chain["log"] = numpy.log(chain["income"])
    chain[["income", "log"]] = StandardScaler().fit_transform(chain[["income", "log"]])
    case("chain", {"income": chain["income"], "log": chain["log"]})
    table["seconds"] = seconds
    groups = [group.sort_values("seconds") for _, group in table.groupby("id")]
    case("sequences", {"lengths": [len(group) for group in groups], "far": pandas.concat(groups)["far"]})
    case("windows", {"far": numpy.concatenate([group["far"].rolling(4).sum().dropna().iloc[::3] for group in groups])})
    (FOLDER / "transforms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
