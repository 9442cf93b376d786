# SPDX-License-Identifier: Apache-2.0
"""Trains and applies models with Cohort on a Spark cluster: one rank for each partition, in a barrier stage.

    import cohort_spark

    trained = cohort_spark.train(frame, document)        # the document of a run, with data.table
    print(trained.metrics)
    scores = cohort_spark.predict(other, document, trained.model, key="id")  # a data frame

Each task writes its partition to a file of its own host, then starts the program in that folder. The program trains on local
files, so its document contains `training: {sharding: local}`. `run` starts any program on any RDD. The program must be installed
on all hosts. Requires PySpark 3.4."""
import collections
import copy
import csv
import ctypes
import dataclasses
import datetime
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LOST = 75  # exit status: ranks were lost, the same command may be started again
LINES = 100  # last lines of the output that errors contain
PR_SET_PDEATHSIG = 1
METRICS = ("accuracy", "top_accuracy", "rmse", "mae", "r2", "loss")


@dataclasses.dataclass
class Result:
    outputs: dict  # outputs of rank 0: names of files and their bytes
    starts: int    # number of times that the program was started


@dataclasses.dataclass
class Trained:
    model: bytes  # the model file, with the preparation of the table
    report: dict  # the numbers of output.report
    starts: int   # number of times that the program was started

    @property
    def metrics(self):
        """The results on the test set, and the training loss."""
        return {name: self.report[name] for name in METRICS if name in self.report}


class RankFailed(RuntimeError):
    """A rank has ended with another status than 0 or 75, or ranks were lost too often."""


def write_csv(rows, folder):
    """Writes rows (sequences of numbers or texts without commas) to part.csv."""
    with open(folder / "part.csv", "w", encoding="utf-8") as file:
        for row in rows:
            file.write(",".join(map(str, row)) + "\n")


def write_idx(rows, folder):
    """Writes rows (image, label) of 8-bit numbers, with images of equal extents, to images.idx and labels.idx. An image is a
    nested list, or an array with shape and tobytes()."""
    count, images, labels = 0, bytearray(), bytearray()
    extents = None
    for image, label in rows:
        shape = tuple(image.shape) if hasattr(image, "shape") else _extents(image)
        if extents not in (None, shape):
            raise ValueError(f"cohort_spark: example {count}: expected an image of extents {extents}, got {shape}")
        extents = shape
        images += image.tobytes() if hasattr(image, "tobytes") else bytes(_flat(image))
        labels.append(label)
        count += 1
    for name, dims, data in (("images.idx", (count, *(extents or (0, 0))), images), ("labels.idx", (count,), labels)):
        head = bytes((0, 0, 8, len(dims))) + b"".join(extent.to_bytes(4, "big") for extent in dims)
        (folder / name).write_bytes(head + data)


def _extents(nested):
    return (len(nested), *_extents(nested[0])) if isinstance(nested, (list, tuple)) else ()


def _flat(nested):
    return [one for part in nested for one in _flat(part)] if isinstance(nested, (list, tuple)) else [nested]


def run(rdd, command, *, write=write_csv, outputs=(), environment=None, restarts=5, restart_flags=(), grace=30, on_line=None):
    """Runs `command` as one rank for each partition of `rdd`.

    write          called in each task with its rows and a folder; the folder is the program's current directory
    outputs        names of files that rank 0 writes there, and that are returned to the driver; the rank of a task may change
    environment    further variables of the program. With COHORT_MIN_RANKS, the ranks may change: a task starts a program that a signal
                   has ended again alone, and it joins the others. The data must then be the same for all ranks
    restarts       how often all ranks are started again after ranks were lost (status 75, or a lost executor). Within each of these
                   starts, it is also how often a rank is started again alone
    restart_flags  appended to the command from the second start on
    grace          seconds between SIGTERM and SIGKILL if a task is cancelled
    on_line        called in the driver as on_line(rank, lines) with the last lines of each rank after a failure

    Raises RankFailed with the last lines of the rank's output. The secret of the job travels in Spark's task description: set
    spark.network.crypto.enabled on clusters whose network others can read."""
    context = rdd.context
    ranks = rdd.getNumPartitions()
    slots = context.defaultParallelism
    if ranks > slots:
        raise ValueError(f"cohort_spark: {ranks} partitions need as many slots at once, and the cluster has {slots}: "
                         "call rdd.coalesce, or add executors")
    context.addPyFile(os.path.abspath(__file__))
    delay = 1
    for start in range(restarts + 1):
        flags = list(restart_flags) if start > 0 else []
        task = _Task([*map(str, command), *flags], write, tuple(outputs), dict(environment or {}), secrets.token_hex(32), start,
                     grace, restarts)
        try:
            ended = rdd.barrier().mapPartitions(task).collect()
        except Exception as problem:  # an executor was lost; Spark does not repeat a failed barrier stage
            ended, cause = [], str(problem)
            if "Python" in cause and "Traceback" in cause and "cohort_spark" in cause:
                raise
        failed = [one for one in ended if one.status not in (0, LOST)]
        lost = [one for one in ended if one.status == LOST]
        # A program that was started again too late to join: all other ranks have completed the training.
        is_complete = not lost or (len(lost) == 1 < ranks and lost[0].starts > 1)
        if on_line:
            for one in ended:
                if one.status != 0:
                    on_line(one.rank, one.lines)
        if failed:
            first = failed[0]
            raise RankFailed(f"rank {first.rank} on {first.host} has exited with status {first.status}:\n"
                             + "\n".join(first.lines))
        if len(ended) == ranks and is_complete:
            return Result({name: content for one in ended for name, content in one.outputs.items()}, start + 1)
        if start < restarts:
            time.sleep(delay)
            delay = min(2 * delay, 60)
    lost = [f"rank {one.rank} on {one.host}:\n" + "\n".join(one.lines[-10:]) for one in ended] or [cause]
    raise RankFailed(f"ranks were lost in each of {restarts + 1} starts:\n" + "\n".join(lost))


# ---- tables ----------------------------------------------------------------------------------------------
TABLE, DOCUMENT, MODEL, REPORT = "part.csv", "run.json", "model.safetensors", "report.json"


def train(frame, document, *, model=None, program="cohort", **settings):
    """Trains on the rows of a data frame, one rank for each partition. The preparation of the rows is fitted to all partitions.

    frame     its columns contain numbers, booleans, texts, dates and times; no partition may be empty
    document  the document of a run: a dictionary, or the path of a file in JSON. It contains data.table without the file. With
              output.checkpoints, a folder that all hosts share, a training whose ranks were lost continues there
    model     bytes or path of a model file from which the training starts, in place of the document's network
    program   path of the program cohort on all hosts
    settings  environment, restarts, grace and on_line of `run`

    Returns a Trained. A part of each partition is the test set: data.table.test_fraction."""
    document = _table_document(document, frame)
    document.setdefault("training", {})["sharding"] = "local"
    output = document.setdefault("output", {})
    resume = ["--resume"] if output.get("checkpoints") else []
    output.update(model="trained.safetensors", report=REPORT, onnx="", predictions="")  # ranks have folders of their own
    result = _run_on_table(frame, document, model, [program, "train", DOCUMENT, *_model_flags(model)],
                           ["trained.safetensors", REPORT], restart_flags=resume, **settings)
    return Trained(result.outputs["trained.safetensors"], json.loads(result.outputs[REPORT]), result.starts)


def evaluate(frame, document, model, *, program="cohort", **settings):
    """Evaluates a model on all rows of a data frame, one rank for each partition. Returns the numbers of the report. The arguments
    are those of `train`."""
    document = _table_document(document, frame)
    document.setdefault("training", {})["sharding"] = "local"
    table = document["data"]["table"]
    for field in ("test_fraction", "split_seed", "stratified"):  # of a division, which a test file excludes
        table.pop(field, None)
    table["test_file"] = TABLE
    document.pop("output", None)
    result = _run_on_table(frame, document, model, [program, "evaluate", DOCUMENT, *_model_flags(model), "--report", REPORT],
                           [REPORT], **settings)
    return json.loads(result.outputs[REPORT])


def predict(frame, document, model, *, key, program="cohort", environment=None):
    """Computes the outputs of a model for the rows of a data frame.

    key  the column whose values identify the rows in the result
    The other arguments are those of `train`; the column of the target may be missing.

    Returns a data frame of the key and one column of doubles for each output: named as the class, or LAYER_NUMBER. It is lazy: each
    action computes it again unless it is cached. Rows that the document drops have no row in it."""
    return _apply(frame, document, model, key, [program, "predict", DOCUMENT], environment)


def features(frame, document, model, layers, *, key, program="cohort", environment=None):
    """Computes the outputs of inner layers for the rows of a data frame, as `predict` computes those of the network.

    layers  names of layers, such as ["dense_1"]"""
    return _apply(frame, document, model, key, [program, "features", DOCUMENT, "--layers", ",".join(layers)], environment)


def _model_flags(model):
    return ["--model", MODEL] if model is not None else []


def _bytes_of(model):
    return model if isinstance(model, bytes) or model is None else pathlib.Path(model).read_bytes()


def _table_document(document, frame):
    """A copy of a document that reads the frame's columns from TABLE."""
    if isinstance(document, dict):
        document = copy.deepcopy(document)
    else:
        document = json.loads(pathlib.Path(document).read_text(encoding="utf-8"))
    table = document.get("data", {}).get("table") if isinstance(document.get("data"), dict) else None
    if not isinstance(table, dict):
        raise ValueError(f"cohort_spark: expected a document with data.table, got data: {document.get('data')!r}")
    table["file"] = TABLE
    table.pop("test_file", None)
    kinds = {name: _kind(name, kind) for name, kind in frame.dtypes}
    if "transform" not in table:  # its schema has the types
        form = table.setdefault("format", {})
        for field, kind in (("text_columns", "text"), ("number_columns", "number")):
            form.setdefault(field, [name for name, found in kinds.items() if found == kind])
    return document


def _kind(name, spark_type):
    if spark_type in ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean") or spark_type.startswith("decimal"):
        return "number"
    if spark_type == "string" or spark_type.startswith(("char", "varchar")):
        return "text"
    if spark_type in ("date", "timestamp", "timestamp_ntz"):
        return "time"
    raise ValueError(f"cohort_spark: column {name}: expected numbers, booleans, texts, dates or times, got {spark_type}: select or "
                     "convert the columns")


def _text(value):
    """A value as a field of a table: nothing for a missing value or NaN."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return str(value)


class _TableWriter:
    """Writes a partition, and files that are the same for all tasks."""

    def __init__(self, columns, files):
        self.columns, self.files = columns, files

    def __call__(self, rows, folder):
        for name, content in self.files.items():
            (folder / name).write_bytes(content.value if hasattr(content, "value") else content)
        with open(folder / TABLE, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            for row in rows:
                writer.writerow([_text(value) for value in row])


def _files(frame, document, model):
    files = {DOCUMENT: json.dumps(document).encode()}
    if model is not None:
        files[MODEL] = frame.rdd.context.broadcast(_bytes_of(model))
    return files


def _run_on_table(frame, document, model, command, outputs, **settings):
    return run(frame.rdd, command, write=_TableWriter(frame.columns, _files(frame, document, model)), outputs=outputs, **settings)


def _apply(frame, document, model, key, command, environment):
    if key not in frame.columns:
        raise ValueError(f"cohort_spark: key: expected one of the columns {', '.join(frame.columns)}, got {key!r}")
    from pyspark.sql.types import DoubleType, StructField, StructType

    context = frame.rdd.context
    context.addPyFile(os.path.abspath(__file__))
    document = _table_document(document, frame)
    document.get("training", {}).pop("sharding", None)
    document.pop("output", None)
    task = _ApplyTask(_TableWriter(frame.columns, _files(frame, document, model)), [*command, "--model", MODEL, "--key", key],
                      frame.columns.index(key), dict(environment or {}))
    first = frame.limit(1).collect()
    if not first:
        raise ValueError("cohort_spark: expected a data frame with rows, got none")
    names = _column_names(context.parallelize(first, 1).mapPartitions(task.header).collect()[0])
    if key in names:
        raise ValueError(f"cohort_spark: key: expected another name than those of the outputs ({', '.join(names)}), got {key!r}")
    schema = StructType([frame.schema[key], *(StructField(name, DoubleType(), True) for name in names)])
    return frame.sparkSession.createDataFrame(frame.rdd.mapPartitions(task), schema)


def _column_names(outputs):
    """Names of columns without dots: those of the classes, or LAYER_NUMBER."""
    classes = [name.partition(".")[2] or name for name in outputs]
    are_names = len(set(classes)) == len(classes) and not any(name.replace(".", "").isdigit() for name in classes)
    return [name.replace(".", "_") for name in (classes if are_names else outputs)]


class _ApplyTask:
    """Applies a model to a partition: yields the key and the outputs of each row."""

    def __init__(self, write, command, key, environment):
        self.write, self.command, self.key, self.environment = write, command, key, environment

    def __call__(self, rows):
        rows = list(rows)
        return iter(()) if not rows else self._outputs(rows)

    def header(self, rows):
        return iter([self._table(list(rows))[0][1:]])

    def _outputs(self, rows):
        keys = {_text(row[self.key]).strip(): row[self.key] for row in rows}
        for text, *values in self._table(rows)[1:]:
            yield (keys[text.strip()], *(float(value) if value else None for value in values))

    def _table(self, rows):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cohort-"))
        try:
            self.write(rows, folder)
            done = subprocess.run([*map(str, self.command), "--output", "out.csv"], cwd=folder, env={**os.environ, **self.environment},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
            if done.returncode != 0:
                lines = "\n".join(done.stdout.splitlines()[-LINES:])
                raise RankFailed(f"{self.command[1]} has exited with status {done.returncode}:\n{lines}")
            with open(folder / "out.csv", encoding="utf-8", newline="") as file:
                return list(csv.reader(file))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@dataclasses.dataclass
class _Ended:
    rank: int
    host: str
    status: int
    lines: list
    outputs: dict
    starts: int  # of the program, in this start of all ranks


class _Task:
    """Runs one rank in a task of the stage."""

    def __init__(self, command, write, outputs, environment, secret, start, grace, restarts):
        self.command, self.write, self.outputs, self.environment = command, write, outputs, environment
        self.secret, self.start, self.grace, self.restarts = secret, start, grace, restarts

    def __call__(self, rows):
        from pyspark import BarrierTaskContext  # imported here, because the driver's tests run without Spark

        task = BarrierTaskContext.get()
        rank, addresses = task.partitionId(), [info.address.split(":")[0] for info in task.getTaskInfos()]
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cohort-"))
        try:
            self.write(rows, folder)
            port = _free_port() if rank == 0 else 0
            port = task.allGather(str(port))[0]  # also waits until all partitions are written
            variables = {**os.environ, **self.environment, "COHORT_JOIN": f"{addresses[0]}:{port}", "COHORT_RANK": str(rank),
                         "COHORT_RANKS": str(len(addresses)), "COHORT_LOCAL_RANK": str(addresses[:rank].count(addresses[rank])),
                         "COHORT_RESTARTS": str(self.start)}
            if variables.get("COHORT_ENCRYPTION") != "off" and not variables.get("COHORT_CERTIFICATE"):
                variables["COHORT_SECRET_FILE"] = _secret_file(folder, self.secret)
            may_change = int(variables.get("COHORT_MIN_RANKS", 0)) > 0
            for again in range(self.restarts + 1):
                status, lines = self._program(variables, folder)
                if status >= 0 or not may_change or again == self.restarts:
                    break
                time.sleep(min(2**again, 60))
                for name in self.outputs:  # the rank may be another one
                    (folder / name).unlink(missing_ok=True)
            kept = {}
            if status == 0 and (rank == 0 or may_change):
                kept = {name: (folder / name).read_bytes() for name in self.outputs if not may_change or (folder / name).exists()}
            yield _Ended(rank, addresses[rank], status if status >= 0 else LOST, lines, kept, again + 1)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _program(self, variables, folder):
        libc = ctypes.CDLL(None)
        program = subprocess.Popen(self.command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True,
                                   preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
        lines = collections.deque(maxlen=LINES)
        reader = threading.Thread(target=self._read, args=(program.stdout, lines), daemon=True)
        reader.start()
        try:
            status = program.wait()
        finally:
            if program.poll() is None:  # the task was cancelled
                os.killpg(program.pid, signal.SIGTERM)
                try:
                    program.wait(self.grace)
                except subprocess.TimeoutExpired:
                    os.killpg(program.pid, signal.SIGKILL)
        reader.join(self.grace)
        return status, list(lines)  # negative: a signal has ended the process

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))
            print(line, end="", file=sys.stderr)  # written to the executor's log


def _secret_file(folder, secret):
    path = folder / ".secret"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret)
    return str(path)


def _free_port():
    with socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET) as one:
        one.bind(("", 0))
        return one.getsockname()[1]
