# SPDX-License-Identifier: Apache-2.0
"""The script of a report draws all parts of the document that html_report_listener writes, as text, and zooms."""
# tools: node
import copy
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

DOM = pathlib.Path(__file__).with_name("report_page_dom.js")
SVG = "http://www.w3.org/2000/svg"
CLASSES = ("<script>alert(1)</script>", "a\u2028b", "?<!--")  # the program's third one is not UTF-8


def text_of(node):
    return node if isinstance(node, str) else "".join(map(text_of, node["children"]))


def nodes(root, **wanted):
    """The elements in the order of the document that have these attributes."""
    if isinstance(root, str):
        return []
    found = [root] if all(root.get(name) == value for name, value in wanted.items()) else []
    return found + [inner for child in root["children"] for inner in nodes(child, **wanted)]


def cells(table):
    return [[text_of(cell) for cell in row["children"]] for row in table["children"]]


def hints(root):
    return [text_of(node) for node in nodes(root, tag="title")]


class report_page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        file = pathlib.Path(cls.scratch.name, "run.html")
        subprocess.run([os.environ["COHORT_PROGRAM"], str(file)], check=True, timeout=120)
        cls.page = file.read_text(encoding="utf-8")
        cls.before, cls.document, cls.after = re.fullmatch(r'(.*<script type="application/json" id="run">)(.*?)(</script>.*)', cls.page, re.DOTALL).groups()
        cls.run_of_page = json.loads(cls.document)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def draw(self, run=None, events=(), state=None):
        """What the script has done with this document, and with these events afterwards."""
        file = pathlib.Path(self.scratch.name, "drawn.html")
        text = self.document if run is None else json.dumps(run).replace("<", "\\u003c")
        file.write_text(self.before + text + self.after, encoding="utf-8")
        done = subprocess.run(["node", str(DOM), str(file), json.dumps(state)], input=json.dumps(list(events)), capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def drawing(self, **changes):
        """The elements of a document with other values."""
        return self.draw({**self.run_of_page, **changes})["drawings"][0]

    def section(self, root, heading):
        return next(one for one in nodes(root, tag="section") if text_of(one["children"][0]) == heading)

    def chart(self, root, title):
        """The picture of a chart, its figure, and the labels of both axes."""
        figure = next(one for one in nodes(root, tag="figure") if nodes(one, **{"aria-label": title}))
        picture = nodes(figure, **{"aria-label": title})[0]
        labels = [one for one in picture["children"] if one["tag"] == "text"]
        y = [text_of(one) for one in labels if one.get("class") == "end"]
        return picture, figure, [text_of(one) for one in labels if "class" not in one], y

    def curve(self, points, title="Loss", **more):
        root = self.drawing(loss=[["a<b", points[-1][1], points]], **more)
        return self.chart(root, title)

    def test_the_page_of_the_program_has_all_sections(self):
        done = self.draw()
        self.assertEqual((done["title"], done["scripts"], done["timers"]), ("<img src=x onerror=alert(1)>", 2, []))
        root = done["drawings"][0]
        self.assertEqual([text_of(one) for one in nodes(root, tag="h2")],
                         ["Loss and metrics", "Updates", "Classes", "Phases of a step", "Exchange", "Memory", "Network", "Settings"])
        self.assertEqual(text_of(nodes(root, tag="h1")[0]), "<img src=x onerror=alert(1)>")
        self.assertRegex(text_of(nodes(root, tag="p")[0]), r"^completed, step 24, 4 epochs, 2 ranks, \S+ s in steps$")
        pictures = [one["aria-label"] for one in nodes(root, role="img")]
        self.assertEqual(pictures, ["Loss", "Metrics", "Speed", "Norm of the update / norm of the weights", "confusion matrix",
                                    "ROC curves: each class against the others", "Calibration: frequency of correct predictions",
                                    "Mean step of rank 0", "Resident memory", "Tensors of a rank, computed before the run", "network"])
        for name in ("loss of rank 0", "loss of the epoch", "validation loss", "accuracy", "samples/s", "</script><b>first.weights",
                     "peak resident memory of rank 0, MB", "expected calibration error"):
            self.assertEqual(len([one for one in nodes(root, tag="li") if re.fullmatch(re.escape(name) + r" [0-9.e-]+", text_of(one))]), 1, name)
        classes, _, ranks, measured, _ = (cells(one) for one in nodes(root, tag="table"))
        self.assertEqual(classes[0], ["class", "examples", "predicted", "precision", "recall", "F1", "area under ROC"])
        self.assertEqual([row[0] for row in classes[1:]], list(CLASSES))
        self.assertEqual(ranks[0], ["ms a step", "mean of all ranks", "fastest", "rank", "slowest", "rank"])
        self.assertEqual(ranks[-1][0], "all")
        self.assertIn("message_bytes", [row[0] for row in measured])
        self.assertRegex(text_of(self.section(root, "Exchange")), r"2 ranks; rank 0 sent \S+ B a step and waited \S+ % of the time for other ranks")
        self.assertIn("sgd", text_of(nodes(root, tag="pre")[0]))

    def test_names_with_markup_are_shown_as_text(self):
        self.assertNotIn("<", self.document)
        root = self.draw()["drawings"][0]
        for one in nodes(root):
            self.assertRegex(one["tag"], r"^[a-z0-9]+$")
            self.assertIn(one.get("namespace", "html"), ("html", SVG))
            self.assertNotIn(one["tag"], ("script", "img"))
            self.assertFalse(any(name.startswith("on") or name in ("href", "src") for name in one), one)
        for shown in ("td", "text", "li", "title"):
            self.assertTrue(any(CLASSES[0] in text_of(one) for one in nodes(root, tag=shown)), shown)
        self.assertIn(f"{CLASSES[0]} as {CLASSES[1]}: ", "".join(hints(root)))

    def test_an_empty_run_has_only_a_heading(self):
        empty = {name: [] for name in ("loss", "metrics", "speed", "updates", "resident_memory", "phases_of_ranks")}
        root = self.drawing(**empty, classes=None, exchange=None, network=None, settings="", state="not started", step=0, epoch=0, epochs=0,
                            seconds=0, ranks=1, phases=[0] * 7, memory={"parameters": 0})
        self.assertEqual(nodes(root, tag="section"), [])
        self.assertEqual(text_of(nodes(root, tag="p")[0]), "not started, step 0, 0 epochs, 1 rank, 0 s in steps")

    def test_the_head_counts_epochs_and_steps(self):
        head = lambda **changes: text_of(nodes(self.drawing(**changes), tag="p")[0])
        self.assertEqual(head(state="stopped", step=6, epoch=1, epochs=2, ranks=1, seconds=12.3456),
                         "stopped, step 6, 1 epoch of 2, 1 rank, 12.35 s in steps")
        self.assertEqual(head(state="running", step=4, epoch=0, epochs=2, step_in_epoch=4, steps_in_epoch=6, ranks=3, seconds=1e-5),
                         "running, step 4, epoch 1, step 4 of 6, 3 ranks, 1e-5 s in steps")
        self.assertIn("epoch 1, step 4, 3 ranks", head(epoch=0, step_in_epoch=4, steps_in_epoch=-1, ranks=3))

    def test_a_running_page_loads_itself_again_but_not_during_a_drag(self):
        run = {**self.run_of_page, "refresh": 7}
        self.assertEqual(self.draw(run)["timers"], [7000])
        self.assertEqual(self.draw(run, [["", "timer", {}]])["reloads"], 1)
        begin, end = (["Loss", name, {"clientX": 300, "clientY": 100}] for name in ("pointerdown", "pointerup"))
        held = self.draw(run, [begin, ["", "timer", {}]])
        self.assertEqual((held["reloads"], held["timers"]), (0, [1000]))
        self.assertEqual(self.draw(run, [begin, ["", "timer", {}], end, ["", "timer", {}]])["reloads"], 1)

    def test_curves_are_drawn_between_round_ticks(self):
        picture, figure, x, y = self.curve([[0, 1], [10, 3]])
        self.assertEqual((x, y), (["0", "2", "4", "6", "8", "10"], ["1.0", "1.5", "2.0", "2.5", "3.0"]))
        plot = nodes(picture, tag="svg")[1]
        self.assertEqual([plot[name] for name in ("x", "y", "width", "height")], ["64", "12", "552", "200"])
        self.assertEqual(nodes(plot, tag="polyline")[0]["points"], "0.0,200.0 552.0,0.0")
        self.assertEqual([text_of(one) for one in nodes(figure, tag="li")], ["a<b 3"])
        self.assertEqual(hints(plot), ["a<b"])

    def test_a_curve_of_one_point_is_a_dot_and_a_constant_one_has_a_range(self):
        picture, *_ = self.curve([[5, 7]])
        self.assertEqual([(one["cx"], one["cy"], one["r"]) for one in nodes(picture, tag="circle")], [("276.0", "100.0", "3")])
        picture, *_ = self.curve([[0, 7], [10, 7]])
        self.assertEqual(nodes(picture, tag="polyline")[0]["points"], "0.0,100.0 552.0,100.0")

    def test_ticks_have_different_labels_and_room(self):
        labels = lambda *points: self.curve([list(one) for one in points])[2:]
        self.assertEqual(labels((0, 2.3022), (10, 2.3026))[1], ["2.3022", "2.3023", "2.3024", "2.3025", "2.3026"])
        self.assertEqual(labels((1000100, -1), (1000200, 1)),
                         (["1000100", "1000120", "1000140", "1000160", "1000180", "1000200"], ["-1.0", "-0.5", "0.0", "0.5", "1.0"]))
        self.assertEqual(labels((10000000, 12345), (12000000, 12350)),
                         (["1.00e+7", "1.05e+7", "1.10e+7", "1.15e+7", "1.20e+7"], ["12345", "12346", "12347", "12348", "12349", "12350"]))
        self.assertEqual(labels((0, 1e-8), (10, 2e-8))[1][0], "1.0e-8")
        picture, _, _, y = self.curve([[0, 2.302585093], [10, 2.302585095]])
        self.assertEqual(y[0], "2.3025850925")
        self.assertGreater(float(nodes(picture, **{"class": "end"})[0]["x"]), 6.2 * len(y[0]))

    def test_a_logarithmic_axis_has_powers_of_ten_and_omits_zero(self):
        title = "Norm of the update / norm of the weights"
        root = self.drawing(updates=[["a", 0.1, [[0, 0], [1, 1e-3], [2, 1e-1]]], ["zero", 0, [[0, 0]]]])
        picture, figure, _, y = self.chart(root, title)
        self.assertEqual(y, ["0.001", "0.01", "0.1"])
        self.assertEqual(nodes(picture, tag="polyline")[0]["points"], "0.0,200.0 552.0,0.0")
        self.assertEqual([text_of(one) for one in nodes(figure, tag="li")], ["a 0.1", "zero 0"])
        self.assertEqual(nodes(self.drawing(updates=[["zero", 0, [[0, 0]]]]), **{"aria-label": title}), [])

    def test_numbers_are_rounded_to_four_digits_or_to_integers(self):
        values = {0.123456: "0.1235", 12: "12", 1.23e-5: "1.23e-5", -2.50001: "-2.5", 123456.7: "123457", 12500000.5: "1.25e+7", 1700000000: "1700000000"}
        exchange = {**self.run_of_page["exchange"], "measurements": [["x", value] for value in values] + [["x", None]]}
        table = nodes(self.section(self.drawing(exchange=exchange), "Exchange"), tag="table")[0]
        self.assertEqual([row[1] for row in cells(table)], [*values.values(), "-"])

    def drag(self, begin, end, title="Loss", shift=False):
        event = lambda at: {"clientX": at[0], "clientY": at[1], "shiftKey": shift}
        return [[title, "pointerdown", event(begin)], [title, "pointermove", event(end)], [title, "pointerup", event(end)]]

    def zoomed(self, *events, state=None, title="Loss"):
        run = {**self.run_of_page, "loss": [["a", 3, [[x, 1 + x / 50] for x in range(101)]]]}
        done = self.draw(run, events, state)
        return [self.chart(root, title) for root in done["drawings"]], done["views"]

    def test_a_horizontal_drag_selects_steps_and_a_double_click_resets_them(self):
        # the plot is from 64 to 616 and from 12 to 212: 552 units of steps 0 to 100
        charts, views = self.zoomed(*self.drag((64 + 138, 100), (64 + 276, 103)), ["Loss", "dblclick", {}])
        whole, _, marked, selected, reset = charts
        self.assertEqual(whole[2], ["0", "20", "40", "60", "80", "100"])
        mark = nodes(marked[0], **{"class": "mark"})[0]
        self.assertEqual([float(mark[name]) for name in ("x", "y", "width", "height")], [202, 12, 138, 200])
        self.assertEqual(selected[2], ["25", "30", "35", "40", "45", "50"])
        self.assertEqual(selected[3], ["1.5", "1.6", "1.7", "1.8", "1.9", "2.0"])  # of the points between 25 and 50
        self.assertEqual(nodes(selected[0], **{"class": "mark"}), [])
        self.assertEqual(selected[0]["class"], "chart zoomed")
        points = [one.split(",") for one in nodes(selected[0], tag="polyline")[0]["points"].split()]
        self.assertEqual((len(points), float(points[25][0]), float(points[50][0])), (101, 0, 552))
        self.assertEqual((reset[2], reset[0]["class"], views), (whole[2], "chart", {"Loss": {}}))
        self.assertEqual(nodes(reset[0], tag="polyline"), nodes(whole[0], tag="polyline"))

    def test_a_drag_selects_a_rectangle_in_any_direction(self):
        charts, views = self.zoomed(*self.drag((64 + 276, 162), (64 + 138, 62)))
        self.assertEqual({name: [round(value, 9) for value in values] for name, values in views["Loss"].items()}, {"x": [25, 50], "y": [1.5, 2.5]})
        self.assertEqual(charts[-1][3], ["1.6", "1.8", "2.0", "2.2", "2.4"])

    def test_a_drag_out_of_a_chart_selects_up_to_its_edge(self):
        _, views = self.zoomed(*self.drag((64 + 276, 100), (900, 400)))
        self.assertEqual({name: [round(value, 9) for value in values] for name, values in views["Loss"].items()}, {"x": [50, 100], "y": [1, 2.12]})

    def test_a_click_selects_nothing(self):
        charts, views = self.zoomed(*self.drag((200, 100), (202, 100)))
        self.assertEqual((charts[-1], views), (charts[0], None))

    def test_a_drag_with_the_shift_key_moves_the_range(self):
        state = {"Loss": {"x": [25, 50], "y": [1, 2]}}
        charts, views = self.zoomed(*self.drag((200, 112), (200 + 276, 62), shift=True), state=state)
        self.assertEqual({name: [round(value, 9) for value in values] for name, values in views["Loss"].items()}, {"x": [12.5, 37.5], "y": [0.75, 1.75]})
        self.assertEqual(charts[0][2], ["25", "30", "35", "40", "45", "50"])  # a reload keeps the range
        self.assertEqual(charts[-1][2], ["15", "20", "25", "30", "35"])

    def test_roc_curves_zoom_too(self):
        title = "ROC curves: each class against the others"
        picture, _, x, y = self.zoomed(*self.drag((52, 12), (52 + 138, 150), title=title), title=title)[0][-1]
        self.assertEqual((x, y), (["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"], ["0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]))
        self.assertEqual(picture["class"], "chart natural zoomed")

    def test_the_legend_shows_the_point_at_the_pointer(self):
        charts, _ = self.zoomed(["Loss", "pointermove", {"clientX": 64 + 0.501 * 552, "clientY": 50}], ["Loss", "pointerleave", {}])
        text = lambda chart: (text_of(nodes(chart[1], tag="figcaption")[0]), text_of(nodes(chart[1], tag="li")[0]))
        self.assertEqual([text(one) for one in charts], [("Loss", "a 3"), ("Loss, step 50", "a 2"), ("Loss", "a 3")])

    def test_a_classification_has_tables_a_confusion_matrix_and_curves(self):
        classes = copy.deepcopy(self.run_of_page["classes"])
        classes.update(classes=103, labels=["cat", "dog", "<owl>"], examples=1, accuracy=None, confusion=[[1, 0, 0], [0, 1, 0], [0, 3, 1]],
                       rows=[[4, 1, 1, 0.25, 0.4, 0.75], [1, 0, None, 0, None, None], [0, 0, None, None, None, None]],
                       curves=[[0, 0.75, [[0, 0], [0.5, 1], [1, 1]]]], calibration=[[0.95, 0.5, 3], [0.6, 1, 1]], calibration_error=0.375)
        root = self.section(self.drawing(classes=classes), "Classes")
        self.assertEqual(text_of(nodes(root, tag="p")[0]), "1 example, accuracy -")
        self.assertEqual(cells(nodes(root, tag="table")[0])[1:],
                         [["cat", "4", "1", "100.0 %", "25.0 %", "40.0 %", "0.7500"], ["dog", "1", "0", "-", "0.0 %", "-", "-"],
                          ["<owl>", "0", "0", "-", "-", "-", "-"], ["and 100 other classes"]])
        matrix = nodes(root, **{"aria-label": "confusion matrix"})[0]
        self.assertEqual(len(nodes(matrix, tag="rect")), 9)
        self.assertIn("<owl> as dog: 3", hints(matrix))
        headings = [one for one in nodes(matrix, tag="text") if "transform" in one]
        self.assertEqual([text_of(one) for one in headings], ["cat", "dog", "<owl>"])
        self.assertEqual(headings[1]["transform"], f"rotate(-90 {headings[1]['x']} {headings[1]['y']})")
        self.assertEqual([one["fill-opacity"] for one in nodes(matrix, tag="rect")][6:8], ["0.05", "0.4625"])
        roc = self.chart(root, "ROC curves: each class against the others")
        self.assertEqual([text_of(one) for one in nodes(roc[1], tag="li")], ["cat 0.7500"])
        self.assertEqual(nodes(roc[0], tag="polyline")[0]["points"], "0.0,276.0 138.0,0.0 276.0,0.0")
        self.assertEqual(hints(self.chart(root, "Calibration: frequency of correct predictions")[0])[1:],
                         ["3 examples, probability 0.95, frequency 0.5", "1 example, probability 0.6, frequency 1"])
        dots = nodes(self.chart(root, "Calibration: frequency of correct predictions")[0], tag="circle")
        self.assertEqual([round(float(one["r"]), 3) for one in dots], [round(2 + 10 * math.sqrt(3), 3), 12])
        unnamed = self.section(self.drawing(classes={**classes, "labels": []}), "Classes")
        texts = [one for one in nodes(nodes(unnamed, **{"aria-label": "confusion matrix"})[0], tag="text") if "transform" not in one]
        self.assertEqual([text_of(one) for one in texts][:2], ["0", "0"])
        many = self.section(self.drawing(classes={**classes, "classes": 3, "curves": [], "confusion": [], "calibration": []}), "Classes")
        self.assertEqual((len(nodes(many, tag="tr")), nodes(many, role="img"), "area" in text_of(many)), (4, [], False))

    def test_a_binary_loss_has_a_row_and_a_curve_for_each_output(self):
        row = [3, 2, 1, 2 / 3, 0.8, 1]
        outputs = {"outputs": 2, "examples": 4, "accuracy": 0.625, "rows": [row, row], "curves": [[0, 1, [[0, 1], [1, 1]]], [1, 1, [[0, 1], [1, 1]]]],
                   "calibration": [[0.5, 0.5, 4]], "calibration_error": 0}
        root = self.section(self.drawing(classes=outputs), "Classes")
        self.assertEqual(cells(nodes(root, tag="table")[0])[:2], [["output", "positive", "predicted", "precision", "recall", "F1", "area under ROC"],
                                                                  ["0", "3", "2", "100.0 %", "66.7 %", "80.0 %", "1.0000"]])
        self.assertEqual([one["aria-label"] for one in nodes(root, role="img")], ["ROC curves of the outputs"])
        one = self.section(self.drawing(classes={**outputs, "outputs": 1, "rows": [row], "curves": outputs["curves"][:1]}), "Classes")
        self.assertEqual([image["aria-label"] for image in nodes(one, role="img")],
                         ["ROC curves of the outputs", "Calibration: frequency of positive examples"])
        few = self.section(self.drawing(classes={**outputs, "outputs": 9, "rows": 9 * [row], "curves": 8 * outputs["curves"][:1]}), "Classes")
        self.assertEqual(nodes(few, role="img")[0]["aria-label"], "ROC curves of the 8 smallest areas")

    def test_the_phases_of_a_step_have_a_bar_and_a_table_of_ranks(self):
        ranks = [[0, 0, 0.004, 0.006, 0.01, 0, 0], [0, 0, 0.002, 0.006, 0.012, 0, 0], [0, 0, 0.009, 0.006, 0.005, 0, 0]]
        root = self.section(self.drawing(phases=[0.001, 0, 0.003, 0.005, 0.001, 0.002, 0], phases_of_ranks=ranks, separate_backward=True),
                            "Phases of a step")
        bar, table = (cells(one) for one in nodes(root, tag="table"))
        self.assertEqual(bar, [["", "ms a step", "share"], ["wait for data", "1", "8.3 %"], ["forward", "3", "25.0 %"], ["backward", "5", "41.7 %"],
                               ["exchange", "1", "8.3 %"], ["update", "2", "16.7 %"]])
        boxes = nodes(root, tag="rect")
        self.assertEqual([(round(float(one["x"])), round(float(one["width"]))) for one in boxes[:3]], [(0, 53), (53, 160), (213, 267)])
        self.assertEqual(hints(root)[1], "forward: 25.0 %")
        self.assertEqual(table[1:], [["forward", "5", "2", "1", "9", "2"], ["backward", "6", "6", "0", "6", "0"],
                                     ["exchange", "9", "5", "2", "12", "1"], ["all", "20", "20", "0", "20", "0"]])
        self.assertIn("forward and backward", text_of(self.section(self.drawing(separate_backward=False), "Phases of a step")))

    def test_the_network_has_a_box_for_each_layer_and_an_arrow_for_each_read(self):
        root = self.section(self.draw()["drawings"][0], "Network")
        layers = self.run_of_page["network"]["layers"]
        self.assertEqual(len(nodes(root, **{"class": "layer"})), len(layers))
        self.assertEqual(len(nodes(root, **{"class": "edge"})), sum(len(reads) for *_, reads in layers))
        self.assertEqual([text_of(one["children"][1]) for one in nodes(root, tag="g")], [name for name, *_ in layers])
        self.assertEqual(hints(root), [text for _, _, _, text, _ in layers])
        lines = [re.fullmatch(r"M(\S+) \S+ C(\S+) \S+ \S+ \S+ (\S+) \S+", one["d"]).groups() for one in nodes(root, **{"class": "edge"})]
        self.assertEqual(sorted(round(float(bend) - float(begin), 3) for begin, bend, _ in lines), [0] * 5 + [170.667])  # beside the relu
        rows = [float(one["y"]) for one in nodes(root, **{"class": "layer"})]
        self.assertEqual(len(set(rows)), len(layers))  # this network is a chain with a shortcut


if __name__ == "__main__":
    unittest.main()
