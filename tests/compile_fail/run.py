# SPDX-License-Identifier: Apache-2.0
"""Checks that the compiler rejects a program with the expected text, or that it accepts the corrected twins of programs.

    run.py FILE COMPILER [INCLUDE;INCLUDE;...]
    run.py FILE;FILE;... COMPILER [INCLUDE;INCLUDE;...]    the twins, compiled together to save time

FILE contains `#ifdef MUST_FAIL ... #else ... #endif`: code that must not compile, and the corrected twin. Comments in FILE state
    // expect: TEXT          the compiler's output contains TEXT (any number of these, at least one)
    // expect-gcc: TEXT      the same, for g++ alone: clang++ 14 prints numbers, not the composed text
    // max-lines: N          and has at most N lines (default: 20); where a compiler quotes a source line
                             below a message (g++ 14: the whole network, for a note), the quotation is not counted
"""
import os
import re
import subprocess
import sys
import tempfile

QUOTATION = re.compile(r"^ +(\d+ )?\|")


def compiled(source, compiler, includes, *flags):
    command = [compiler, "-std=c++20", "-fsyntax-only", *(f"-I{path}" for path in includes), *flags, source]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
    return run.returncode, run.stdout


def complaints(source, compiler, includes):
    with open(source, encoding="utf-8") as file:
        text = file.read()
    expected = re.findall(r"^// expect: (.+?)\s*$", text, re.MULTILINE)
    if "clang" not in os.path.basename(compiler):
        expected += re.findall(r"^// expect-gcc: (.+?)\s*$", text, re.MULTILINE)
    limit = re.search(r"^// max-lines: (\d+)\s*$", text, re.MULTILINE)
    limit = int(limit.group(1)) if limit else 20
    if "#ifdef MUST_FAIL" not in text or "#else" not in text:
        return ["it has no `#ifdef MUST_FAIL ... #else ... #endif`"]
    if not expected:
        return ["it has no `// expect: TEXT`"]

    status, output = compiled(source, compiler, includes, "-DMUST_FAIL")
    if status == 0:
        return ["it compiles"]
    found = [f"the output lacks: {text}" for text in expected if text not in output]
    lines = sum(not QUOTATION.match(line) for line in output.splitlines())
    if lines > limit:
        found.append(f"the output has {lines} lines, at most {limit} are wanted")
    if found:
        found.append(f"the output was:\n{output}")
    return found


def complaints_of_twins(sources, compiler, includes):
    headers, parts = set(), []
    for number, source in enumerate(sources):
        with open(source, encoding="utf-8") as file:
            headers.update(re.findall(r"^#include <.+>$", file.read(), re.MULTILINE))
        parts.append(f'namespace twin_{number} {{\n#include "{os.path.abspath(source)}"\n}}\n')
    with tempfile.TemporaryDirectory() as folder:
        together = os.path.join(folder, "twins.cpp")
        with open(together, "w", encoding="utf-8") as file:
            file.write("\n".join([*sorted(headers), *parts]))
        status, output = compiled(together, compiler, includes)
    return [f"a corrected twin does not compile:\n{output}"] if status != 0 else []


def main():
    sources, compiler, includes = sys.argv[1].split(";"), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""
    check, what = (complaints_of_twins, sources) if len(sources) > 1 else (complaints, sources[0])
    found = check(what, compiler, [path for path in includes.split(";") if path])
    for complaint in found:
        print(f"{sources[0]}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
