# SPDX-License-Identifier: Apache-2.0
"""Draws bar charts of the tables in benchmarks/results/*.md as SVG inside the pages, in the colours of the theme."""
import dataclasses
import html
import math
import re


class broken_table(Exception):
    pass


@dataclasses.dataclass
class figure:
    title: str
    page: str  # in benchmarks/results
    section: str
    series: dict  # name → column, or (column, place in a list of numbers)
    unit: str
    category: tuple = (0,)  # columns of a row's label
    rows: str = ""  # regular expression of the labels shown
    spread: int = -1  # column of the quartiles of the only series
    one: bool = False  # draws a line at 1
    logarithmic: bool = False
    scale: dict = dataclasses.field(default_factory=dict)  # unit in a cell → factor
    landing: bool = False


TIME = {"µs": 1e-3, "ms": 1, "s": 1000}
RATIO = "PyTorch's time divided by Cohort's"
FIGURES = [
    figure("Training steps compared with PyTorch", "steps", "Two processors of Zen 4", {RATIO: 4}, "ratio; more than 1: Cohort is faster", (0,), one=True,
           landing=True),
    figure("Recurrent networks and transformers compared with PyTorch", "sequences", "Training steps compared with PyTorch", {RATIO: 4},
           "ratio; more than 1: Cohort is faster", (0,), one=True),
    figure("Prediction compared with ONNX Runtime and PyTorch", "inference", "Compared with ONNX Runtime and PyTorch, Zen 4",
           {"ONNX Runtime's time divided by Cohort's": 6, "PyTorch's time divided by Cohort's": 8}, "ratio; more than 1: Cohort is faster", (0, 1, 2),
           one=True, landing=True),
    figure("LeNet over links between two hosts", "exchange", "Steps per second over links, compared with PyTorch's DistributedDataParallel",
           {"allreduce": 3, "averaging": 4, "sharing": 5, "PyTorch's DDP": 6}, "steps per second", (2,), rows="^LeNet, 2", landing=True),
    figure("Bytes that a host sends, two hosts", "exchange", "Steps per second over links, compared with PyTorch's DistributedDataParallel",
           {"allreduce": (7, 0), "averaging": (7, 1), "sharing": (7, 2)}, "kB per step, logarithmic", (0,), rows="^(LeNet|MLP), 2, no limit",
           logarithmic=True),
    figure("LeNet, two hosts: time to an accuracy of 97.5 %", "accuracy", "Time to accuracy over links",
           {"no limit": (4, 0), "1 Gbit/s": (4, 1), "100 Mbit/s": (4, 2)}, "seconds", (2,), rows="^LeNet, 2"),
    figure("Allreduce of two hosts", "tcp", "Allreduce between hosts", {"Cohort over TCP, TLS 1.3": 3, "gloo, plain": 4}, "ms, logarithmic", (0, 1),
           logarithmic=True, scale=TIME),
    figure("Allreduce of two processes on one host", "tcp", "Allreduce on one host", {"Cohort over TCP": 1, "Cohort over MPI": 2, "gloo": 4},
           "ms, logarithmic", (0,), logarithmic=True, scale=TIME),
    figure("Loading compared with PyTorch and pandas", "loading", "Loading examples", {"Cohort's rate divided by the other side's": 4},
           "ratio; more than 1: Cohort is faster", (0,), spread=5, one=True, landing=True),
]
NUMBER = r"(\d[\d,]*(?:\.\d+)?|\.\d+)"
WIDTH, BAR, GAP, LEFT, RIGHT = 480, 12, 4, 14, 62


def table_of(text, one):
    """Returns the rows of the section's first table that has all columns of the figure."""
    wanted = max(column if isinstance(column, int) else column[0] for column in one.series.values()) + 1
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if re.fullmatch(rf"#+ {re.escape(one.section)}", line)), None)
    if start is None:
        raise broken_table(f"benchmarks/results/{one.page}.md: no section '{one.section}', which the figure '{one.title}' shows")
    rows, end = [], start
    for k in range(start + 1, len(lines)):
        cells = [cell.strip() for cell in lines[k].split("|")[1:-1]] if lines[k].startswith("|") else []
        if len(cells) >= wanted:
            rows.append(cells)
            end = k
        elif rows or lines[k].startswith("#"):
            break
    if len(rows) < 3:
        raise broken_table(f"benchmarks/results/{one.page}.md: section '{one.section}' has no table of {wanted} columns for the figure '{one.title}'")
    return rows[0], rows[2:], end


def value_of(cell, place, scale):
    """(text, value, lowest, highest); of a range `a to b` the value is None."""
    if place is not None:
        cell = re.split(r", ", cell)[place]
    unit = re.search(rf"{NUMBER}\s*({'|'.join(scale)})\b", cell) if scale else None
    factor = scale[unit.group(2)] if unit else 1
    numbers = [float(text.replace(",", "")) * factor for text in re.findall(NUMBER, cell)]
    if not numbers:
        raise broken_table(f"no number in the cell '{cell}'")
    shown = re.sub(r" ?\(.*", "", cell).replace("*", "")
    if re.match(rf"{NUMBER} to {NUMBER}", cell):
        return shown, None, numbers[0], numbers[1]
    bounds = re.search(rf"\({NUMBER}(?: to |-){NUMBER}\)", cell)
    return shown, numbers[0], *(numbers[1:3] if bounds else (None, None))


def data_of(text, one):
    """[(label, [value of each series])] of the figure."""
    head, rows, _ = table_of(text, one)
    found = []
    for row in rows:
        if one.rows and not re.search(one.rows, ", ".join(row[:3])):
            continue
        label = ", ".join(f"{head[k]} {row[k]}" if row[k].isdigit() else row[k] for k in one.category)
        label = label.replace("`", "").replace("threads 1", "1 thread").replace("threads 2", "2 threads")
        values = []
        for column in one.series.values():
            k, place = (column, None) if isinstance(column, int) else column
            value = value_of(row[k], place, one.scale)
            if one.spread >= 0:
                value = (*value[:2], *value_of(row[one.spread], None, {})[2:])
            values.append(value)
        found.append((label, values))
    if not found:
        raise broken_table(f"benchmarks/results/{one.page}.md: no row of '{one.section}' matches {one.rows}, as the figure '{one.title}' needs")
    return found


def ticks_of(top, low, logarithmic):
    if logarithmic:
        return [10.0 ** k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(top)) + 1)]
    step = 10 ** math.floor(math.log10(top / 3))
    step = next(step * k for k in (1, 2, 5, 10) if step * k * 5 >= top)
    return [step * k for k in range(math.ceil(top / step) + 1)]


def svg(one, data):
    numbers = [number for _, values in data for value in values for number in value[1:] if number is not None]
    ticks = ticks_of(max(numbers), min(numbers), one.logarithmic)
    def place(number):
        part = (math.log(number / ticks[0]) / math.log(ticks[-1] / ticks[0])) if one.logarithmic else number / ticks[-1]
        return LEFT + part * (WIDTH - LEFT - RIGHT)
    out, y = [], 16
    if len(one.series) > 1:
        for k, name in enumerate(one.series):
            out.append(f'<rect class="series{k}" x="{LEFT}" y="{y - 10}" width="12" height="12"/><text x="{LEFT + 18}" y="{y}">{html.escape(name)}</text>')
            y += 18
        y += 4
    top = y - 8
    for label, values in data:
        y += 4
        out.append(f'<text x="{LEFT}" y="{y}">{html.escape(label)}</text>')
        y += 6
        for k, (shown, value, low, high) in enumerate(values):
            middle, end = y + BAR / 2, place(high if value is None else value)
            if value is None:
                out.append(f'<rect class="series{k}" x="{place(low):.1f}" y="{y}" width="{max(2, end - place(low)):.1f}" height="{BAR}"/>')
            elif one.logarithmic:
                out.append(f'<path class="stem{k}" d="M{LEFT} {middle}H{end:.1f}"/><circle class="series{k}" cx="{end:.1f}" cy="{middle}" r="5"/>')
                end += 5
            else:
                out.append(f'<rect class="series{k}" x="{LEFT}" y="{y}" width="{max(1, end - LEFT):.1f}" height="{BAR}"/>')
                if low is not None:
                    out.append(f'<path class="spread" d="M{place(low):.1f} {middle}H{place(high):.1f}"/>')
                    end = max(end, place(high))
            out.append(f'<text class="value" x="{end + 5:.1f}" y="{middle + 4}">{html.escape(shown)}</text>')
            y += BAR + GAP
        y += 12
    grid = "".join(f'<path class="{"one" if one.one and tick == 1 else "grid"}" d="M{place(tick):.1f} {top}V{y - 8}"/>'
                   f'<text class="tick" x="{place(tick):.1f}" y="{y + 8}">{tick:g}</text>' for tick in sorted({*ticks, *([1] if one.one else [])}))
    height = y + 34
    unit = f'<text class="unit" x="{WIDTH / 2}" y="{y + 26}">{html.escape(one.unit)}</text>'
    name = html.escape(f"{one.title}: {one.unit}", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}">{grid}{"".join(out)}{unit}</svg>'


def drawn(one, text, link):
    note = " Lines: quartiles." if any(value[2] is not None and value[1] is not None for _, values in data_of(text, one) for value in values) else ""
    title = html.escape(one.title + (f": {next(iter(one.series))}" if len(one.series) == 1 and one.one else ""))
    return f'<figure class="measured">\n<figcaption>{title}.{note} <a href="{link}">Source</a></figcaption>\n{svg(one, data_of(text, one))}\n</figure>'


def anchor(section):
    return re.sub(r"[^\w\- ]", "", section.lower()).replace(" ", "-")


def inserted(pages):
    """The pages with each figure behind its table, and some figures in README.md."""
    pages, landing = dict(pages), []
    for one in FIGURES:
        page = f"benchmarks/results/{one.page}.md"
        text = pages[page]
        lines = text.splitlines()
        if one.landing:
            landing.append(drawn(one, text, f"benchmarks/results/{one.page}.html#{anchor(one.section)}"))
        end = table_of(text, one)[2]
        while end + 1 < len(lines) and lines[end + 1].startswith("<figure"):
            end += 1
        lines[end + 1:end + 1] = ["", drawn(one, text, f"#{anchor(one.section)}"), ""]
        pages[page] = "\n".join(lines) + "\n"
    mark = "<!-- /measured -->"
    if pages["README.md"].count(mark) != 1:
        raise broken_table(f"README.md: expected one line {mark}, behind which the site shows figures")
    pages["README.md"] = pages["README.md"].replace(mark, mark + '\n\n<div class="figures">\n' + "\n".join(landing) + "\n</div>\n")
    return pages
