# SPDX-License-Identifier: Apache-2.0
# label: slow long
"""The kernels' machine code stays within budgets: instructions per element, registers and spilled registers.

Needs NVRTC and nvdisasm (CUDA's tools, or the pip package nvidia-cuda-nvdisasm); without them, and for
architectures that NVRTC does not support, the test is skipped. Needs no GPU. The argument --table prints the
measurements.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ALL_CAPABILITIES = (75, 80, 86, 89, 90, 100, 120)
# The long tests measure all capabilities; other tests measure one with few f64 units and one with many.
CAPABILITIES = ALL_CAPABILITIES if os.environ.get("COHORT_LONG_TESTS") == "1" else (89, 90)

# Kernels that read or write whole images: instructions per element. Of the loops that load from memory, the
# loop with the most instructions `marker` is measured; it processes (number of markers) / `per_element`
# elements. All branches of the loop are counted, for f32 and bf16, so fewer instructions are executed. For
# kernels that walk over channels, the instructions outside the loop are added, once per thread, for the norms
# of ResNet-50. A kernel without a marker has no such loop: one call processes `per_element` elements.
BUDGETS = [
    # kernel, marker, per element, most instructions
    ("run_channel_sums_1_",           r"DADD",    1,           30),
    ("run_channel_sums_8_",           r"DADD",    1,           12),
    ("run_channel_statistics_1_",     r"D(ADD|FMA)", 2,        30),
    ("run_channel_statistics_8_",     r"D(ADD|FMA)", 2,        15),
    ("run_norm_gradient_sums_1_",     r"D(ADD|FMA)", 2,        60),
    ("run_norm_gradient_sums_8_",     r"D(ADD|FMA)", 2,        30),
    ("run_normalise_groups_1_",       r"STG",     2,           40),
    ("run_normalise_groups_8_",       r"STG",     3 / 8,       40),
    ("run_normalise_groups_gradient_1_", r"STG",  2,           70),
    ("run_normalise_groups_gradient_8_", r"STG",  3 / 8,       40),
    ("run_max_pool_8_",               r"LDG",     3 / 8,       40),
    ("run_max_pool_gradient_8_",      r"LDG",     11 / 8,      40),
    ("run_reorder_0_",                None,       8,           40),
    ("run_reorder_1_",                None,       8,           40),
]
# The same for GPUs with few f64 units, whose threads sum in pairs of f32 numbers.
FEW_F64 = (75, 86, 89, 120)
BUDGETS_OF_SPLIT_SUMS = [
    ("run_channel_sums_1_",           r"FADD",    10,          40),
    ("run_channel_sums_8_",           r"FADD",    10,          20),
    ("run_channel_statistics_1_",     r"FADD",    22,          60),
    ("run_channel_statistics_8_",     r"FADD",    22,          40),
    ("run_norm_gradient_sums_1_",     r"FADD",    22,          60),
    ("run_norm_gradient_sums_8_",     r"FADD",    22,          50),
]
# Kernels whose threads sum in this way.
SPLIT_SUMS = ("run_channel_sums_", "run_channel_statistics_", "run_channel_product_sums", "run_norm_gradient_sums_",
              "run_place_gradient_sums")
# Limits for every kernel.
MOST_REGISTERS = 128
# Bytes of stack: a few scalars that the compiler spills, and the memory that sine and cosine of a double need
# to reduce large arguments.
MOST_STACK = 16
STACK = {"run_add_noise": 64}


def budgets_of(capability):
    """The budgets of kernels. On GPUs with few f64 units, budgets of split sums replace others."""
    split = BUDGETS_OF_SPLIT_SUMS if capability in FEW_F64 else []
    return split + [one for one in BUDGETS if one[0] not in [name for name, *_ in split]]


def disassembler():
    """Path of nvdisasm, or None."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folders = [os.environ.get("CUDA_PATH", "") + "/bin", "/usr/local/cuda/bin", cache + "/cohort/cuda-13.0/bin"]
    for site in sys.path:
        folders += glob.glob(site + "/nvidia/*/bin")
    return shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.pathsep.join(folders))


# The norms of ResNet-50: channels, places, number.
NORMS = [(64, 112**2, 1), (64, 56**2, 6), (256, 56**2, 4), (128, 56**2, 1), (128, 28**2, 7), (512, 28**2, 5), (256, 28**2, 1),
         (256, 14**2, 11), (1024, 14**2, 7), (512, 14**2, 1), (512, 7**2, 5), (2048, 7**2, 4)]
WALKS = ("run_channel_sums_", "run_channel_statistics_", "run_norm_gradient_sums_", "run_normalise_groups_")


def threads_per_element(width, batch=256, block=256, most_blocks=2048, steps=16):
    """Threads that walk over all norms, per element, as channel_sums_on_gpu divides them."""
    threads = elements = 0
    for channels, places, number in NORMS:
        count = batch * places
        lanes = 1 if width == 1 else min(channels // width, 8)
        stride = block // lanes
        groups = -(-channels // (lanes * width))
        rows = max(steps * stride, -(-count // max(most_blocks // groups, 1)))
        chunks = -(-count // (-(-rows // stride) * stride))
        threads += number * groups * chunks * block
        elements += number * channels * count
    return threads / elements


class kernel:
    """Instructions of one function, as (address, text), its registers and its bytes of stack."""

    def __init__(self):
        self.instructions, self.registers, self.stack = [], 0, 0
        self.labels = {}

    def loops(self):
        """The bodies of loops."""
        place = {address: i for i, (address, _) in enumerate(self.instructions)}
        for i, (address, text) in enumerate(self.instructions):
            target = re.search(r"\bBRA\b.*`\((\.\w+)\)", text)
            begin = self.labels.get(target.group(1)) if target else None
            if begin is not None and begin <= address:
                yield [text for _, text in self.instructions[place[begin]:i + 1]]

    def count_in_loops(self, marker):
        """Instructions of the loops that load from memory."""
        return sum(len(re.findall(rf"\b({marker})\b", "\n".join(body))) for body in self.loops()
                   if any("LDG" in text for text in body))

    def per_element(self, name, marker, per_element):
        if not marker:
            return len(self.instructions) / per_element
        reading = [body for body in self.loops() if any("LDG" in text for text in body)]
        counts = [(len(re.findall(rf"\b{marker}\b", "\n".join(body))), len(body)) for body in reading]
        marks, length = max(counts, key=lambda one: (one[0], -one[1]), default=(0, 0))
        if not marks:
            return float("inf")
        outside = 0
        if name.startswith(WALKS):
            outside = (len(self.instructions) - length) * threads_per_element(8 if name.endswith("_8_") else 1)
        return length / (marks / per_element) + outside


def kernels_of(text):
    """Reads nvdisasm's output."""
    found, now, waiting = {}, None, []
    attribute = r"EIATTR_{}.*?index@\((\w+)\).*?\.word\s+(0x[0-9a-f]+)"
    for name, count in re.findall(attribute.format("REGCOUNT"), text, re.DOTALL):
        found.setdefault(name, kernel()).registers = int(count, 16)
    for name, size in re.findall(attribute.format("FRAME_SIZE"), text, re.DOTALL):
        found.setdefault(name, kernel()).stack = int(size, 16)
    for line in text.splitlines():
        if section := re.match(r"\.text\.(\w+):", line):
            now, waiting = found[section.group(1)], []
        elif re.match(r"//-+ \.", line):
            now = None
        elif now is None:
            continue
        elif label := re.match(r"(\.L\w+):", line):
            waiting.append(label.group(1))
        elif code := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
            address = int(code.group(1), 16)
            now.labels.update(dict.fromkeys(waiting, address))
            waiting = []
            if code.group(2) != "NOP":
                now.instructions.append((address, code.group(2)))
    return {name: one for name, one in found.items() if one.instructions}


def compiled(capability, tool):
    """The kernels for a compute capability, or the reason why they cannot be measured."""
    if not tool:
        return "nvdisasm is missing; bash cmake/setup.sh --cuda installs it"
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "kernels.cubin")
        made = subprocess.run([os.environ["COHORT_PROGRAM"], str(capability), cubin],
                              capture_output=True, text=True, timeout=300)
        if made.returncode == 77:
            return made.stderr.strip()
        made.check_returncode()
        listing = subprocess.run([tool, cubin], capture_output=True, text=True, check=True, timeout=300)
        return kernels_of(listing.stdout)


class kernel_instructions(unittest.TestCase):
    def test_stay_within_register_stack_and_instruction_budgets(self):
        tool = disassembler()
        for capability in CAPABILITIES:
            with self.subTest(capability=capability):
                kernels = compiled(capability, tool)
                self.assertNotIsInstance(kernels, str)
                self.assertGreater(len(kernels), 100)
                for name, one in kernels.items():
                    self.assertLessEqual(one.registers, MOST_REGISTERS, f"registers of {name}")
                    self.assertLessEqual(one.stack, STACK.get(name, MOST_STACK), f"bytes of stack of {name}")
                for name, marker, per_element, budget in budgets_of(capability):
                    limit = budget if capability < 100 else 1.6 * budget  # these loops are longer there
                    self.assertLessEqual(kernels[name].per_element(name, marker, per_element), limit,
                                         f"instructions per element of {name}")
                split = [name for name in kernels if name.startswith(SPLIT_SUMS)]
                self.assertGreater(len(split), len(SPLIT_SUMS))
                for name in split if capability in FEW_F64 else []:
                    self.assertEqual(kernels[name].count_in_loops(r"D(ADD|FMA|MUL|SETP)|[FI]2F\.F64\.\w+"), 0,
                                     f"f64 in the loop of {name}")


def print_table():
    tool = disassembler()
    measured = {}
    for capability in ALL_CAPABILITIES:
        kernels = compiled(capability, tool)
        if isinstance(kernels, str):
            print(f"sm_{capability}: {kernels}")
        else:
            measured[capability] = kernels
    print(f"{'instructions per element':36}", *(f"sm_{capability:<5}" for capability in measured), "budget")
    for name, *_, budget in BUDGETS:
        rows = ({row[0]: row for row in budgets_of(capability)}[name] for capability in measured)
        figures = (kernels[name].per_element(*row[:3]) for row, kernels in zip(rows, measured.values()))
        print(f"{name:36}", *(f"{figure:8.1f}" for figure in figures), budget)
    for what in ("registers", "stack"):
        most = (max((getattr(one, what), name) for name, one in kernels.items())
                for kernels in measured.values())
        print(f"most {what}:", *(f"{count} ({name})" for count, name in most))


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print_table()
    else:
        unittest.main()
