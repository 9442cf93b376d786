# SPDX-License-Identifier: Apache-2.0
"""Checks that the compiler rejects a program with the expected text, or that it accepts the corrected twins of programs.

    run.py HEADERS FILE COMPILER [INCLUDE;INCLUDE;...]
    run.py HEADERS FILE;FILE;... COMPILER [INCLUDE;INCLUDE;...]    the twins, compiled together to save time
    run.py HEADERS precompile COMPILER [INCLUDE;INCLUDE;...]       precompiles <cohort/cohort.hpp> in the folder HEADERS,
                                                                   which makes the other checks faster

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
    command = [compiler, "-std=c++20", *(f"-I{path}" for path in includes), *flags, source]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
    return run.returncode, run.stdout


def precompile(header, compiler, includes):
    os.makedirs(os.path.dirname(header), exist_ok=True)
    with open(header, "w", encoding="utf-8") as file:
        file.write("#include <cohort/cohort.hpp>\n")
    status, output = compiled(header, compiler, includes, "-x", "c++-header", "-o", f"{header}.gch")
    return [] if status == 0 else [f"the output was:\n{output}"]


def complaints(source, compiler, includes, precompiled=()):
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

    if "#define" in text:  # a macro before the headers may change them
        precompiled = ()
    status, output = compiled(source, compiler, includes, "-fsyntax-only", *precompiled, "-DMUST_FAIL")
    if status == 0:
        return ["it compiles"]
    found = [f"the output lacks: {text}" for text in expected if text not in output]
    lines = sum(not QUOTATION.match(line) for line in output.splitlines())
    if lines > limit:
        found.append(f"the output has {lines} lines, at most {limit} are wanted")
    if found:
        found.append(f"the output was:\n{output}")
    return found


def complaints_of_twins(sources, compiler, includes, precompiled=()):
    headers, parts = set(), []
    for number, source in enumerate(sources):
        with open(source, encoding="utf-8") as file:
            headers.update(re.findall(r"^#include <.+>$", file.read(), re.MULTILINE))
        parts.append(f'namespace twin_{number} {{\n#include "{os.path.abspath(source)}"\n}}\n')
    with tempfile.TemporaryDirectory() as folder:
        together = os.path.join(folder, "twins.cpp")
        with open(together, "w", encoding="utf-8") as file:
            file.write("\n".join([*sorted(headers), *parts]))
        status, output = compiled(together, compiler, includes, "-fsyntax-only", *precompiled)
    return [f"a corrected twin does not compile:\n{output}"] if status != 0 else []


def main():
    header, sources, compiler = os.path.join(sys.argv[1], "cohort.hpp"), sys.argv[2].split(";"), sys.argv[3]
    includes = [path for path in (sys.argv[4] if len(sys.argv) > 4 else "").split(";") if path]
    precompiled = ["-include", header]
    if sources == ["precompile"]:
        found = precompile(header, compiler, includes)
    elif len(sources) > 1:
        found = complaints_of_twins(sources, compiler, includes, precompiled)
    else:
        found = complaints(sources[0], compiler, includes, precompiled)
    for complaint in found:
        print(f"{sources[0]}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
