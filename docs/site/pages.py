# SPDX-License-Identifier: Apache-2.0
"""Writes the sources of the site:

    pages.py ROOT FOLDER

Copies the Markdown files of the repository to the same paths, so that their links hold; README.md becomes index.md. Adds the
generated reference, one page per linked source file, the figures, and the navigation: a folder's README lists its pages, and
its order is the navigation's. A page that no README lists is an error.
"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import figures  # noqa: E402
import reference  # noqa: E402

SOURCES = ("*.md", "docs/**/*.md", "backends/*/README.md", "benchmarks/**/*.md", "examples/README.md")
# Folders whose README has the folder's pages below it in the navigation.
LISTS = ("docs/guide", "docs", "docs/reference", "benchmarks/results")
NAVIGATION = {
    "Documentation": ["docs/guide/README", "docs/README", "docs/reference/README", "examples/README", "benchmarks/results/README"],
    "Components": ["backends/*/README"],
    "Project": ["ARCHITECTURE", "DECISIONS", "CONTRIBUTING", "CHANGELOG", "benchmarks/README"],
}
TITLES = {"docs/README": "Topics", "examples/README": "Examples", "benchmarks/README": "Benchmark programs"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "bash", ".yaml": "yaml"}
# The forge has no generated pages; there, these links lead to the paragraph about the reference.
GENERATED = {"docs/README.md#reference": "docs/reference/README.md"}
LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)\s#]*)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


class broken_page(Exception):
    pass


def relative(target, page):
    return os.path.relpath(target, os.path.dirname(page) or ".").replace(os.sep, "/")


def outside_code(change, text):
    """The text with `change` applied to everything that is not code."""
    return "".join(part if k % 2 else change(part) for k, part in enumerate(CODE.split(text)))


def prepared(root, page, text, shown):
    """Returns the text with links that are valid in the site; adds linked source files to `shown`."""
    def link(match):
        path, anchor = match.group(1), match.group(2) or ""
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        target, anchor = (GENERATED[target + anchor], "") if target + anchor in GENERATED else (target, anchor)
        if target == page:
            return anchor
        if target == "README.md":
            target = "index.md"
        elif not target.endswith(".md") and (root / target).is_file():
            shown.add(target)
            target += ".md"
        return relative(target, page) + anchor
    return outside_code(lambda part: LINK.sub(link, part), text)


def toctree(entries, caption=""):
    option = f":caption: {caption}\n" if caption else ""
    return "\n```{toctree}\n:hidden:\n" + option + "\n" + "\n".join(entries) + "\n```\n"


def listed(pages, folder):
    """The folder's pages in the order of the tables in its README."""
    readme = f"{folder}/README.md"
    prose = "".join(CODE.split(pages[readme])[::2])
    linked = [match.group(1) for row in re.findall(r"^\|.*", prose, re.MULTILINE) for match in LINK.finditer(row)]
    there = [name for name in dict.fromkeys(linked) if f"{folder}/{name}" in pages and "/" not in name and name != "README.md"]
    missing = {path.name for path in map(pathlib.PurePosixPath, pages) if str(path.parent) == folder} - {*there, "README.md"}
    if missing:
        raise broken_page(f"{readme} has no link in a table to: {', '.join(sorted(missing))}; add a row for each")
    return [name.removesuffix(".md") for name in there]


def navigation(pages):
    text = ""
    for caption, patterns in NAVIGATION.items():
        entries = []
        for pattern in patterns:
            found = [path.removesuffix(".md") for path in sorted(pages) if pathlib.PurePosixPath(path).match(pattern + ".md")
                     and path.count("/") == pattern.count("/")]
            entries += [f"{TITLES[one]} <{one}>" if one in TITLES else f"{one.split('/')[1]} <{one}>" if "*" in pattern else one for one in found]
        text += toctree(entries, caption)
    return text


def site_pages(root, scratch):
    """Path → text of all pages."""
    reference.write(root, scratch)
    pages = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for pattern in SOURCES for path in sorted(root.glob(pattern))}
    pages.update({f"docs/reference/{path.name}": path.read_text(encoding="utf-8") for path in sorted(scratch.glob("*.md"))})
    shown = set()
    pages = {page: prepared(root, page, text, shown) for page, text in pages.items()}
    pages = figures.inserted(pages)
    for folder in LISTS:
        pages[f"{folder}/README.md"] += toctree(listed(pages, folder))
    pages["index.md"] = pages.pop("README.md")
    pages["index.md"] += navigation(pages)
    for source in sorted(shown):
        text = (root / source).read_text(encoding="utf-8")
        language = "cmake" if source.endswith("CMakeLists.txt") else LANGUAGES.get(pathlib.PurePosixPath(source).suffix, "text")
        pages[source + ".md"] = f"---\norphan: true\n---\n# {source}\n\n````{language}\n{text.rstrip()}\n````\n"
    return pages


def main():
    root, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    try:
        pages = site_pages(root, folder / "reference")
    except (broken_page, figures.broken_table, reference.missing_contract) as problem:
        print(problem, file=sys.stderr)
        return 1
    for path in (folder / "reference").glob("*.md"):
        path.unlink()
    (folder / "reference").rmdir()
    for page, text in pages.items():
        path = folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
