# SPDX-License-Identifier: Apache-2.0
"""Writes the reference from the contracts of the public headers:

    reference.py ROOT FOLDER

Reads the `///` comments in front of aggregates and classes, their fields with types, defaults and `///<` comments, and the
documented public members of classes. An entry without a contract is an error, FILE:LINE. Headers keep the project's format: one
declaration per line, members indented by two columns.
"""
import dataclasses
import pathlib
import re
import sys
import textwrap

SECTIONS = "Shapes|Units|Order|Before|After|Moves|Errors|Exact|Source"

PAGES = {
    "layers": "Layers, in alphabetical order. Every layer also has `.name`: the layer's name in files, messages and settings.",
    "losses": "Layers that end a branch of the network. The training minimises the sum of all losses.",
    "updaters": "Values of `training_settings::updater`, `bias_updater` and of `layer_override`. A rate is a number or a "
                "[schedule](schedules.md). g is the mean gradient with its penalties, w −= u; m̂ and v̂ are bias-corrected.",
    "schedules": "Values of an updater's rate and momentum.",
    "values": "Values of fields of the [settings](settings.md): initialisers, constraints, clipping, and the parts of strategies.",
    "settings": "Aggregates whose fields are set by name: `{.batch = 64, .epochs = 5}`.",
    "listeners": "Objects whose addresses are in `fit_settings::listeners`. One of your own derives from `listener`.",
    "metrics": "Evaluators compare outputs with targets (`training::evaluate`); a `metric` is a number that rates a run.",
    "strategies": "How ranks reach the same parameters: the third argument of `trainer`.",
}


class missing_contract(Exception):
    pass


@dataclasses.dataclass
class member:
    declaration: str
    text: list
    note: str = ""
    name: str = ""
    type: str = ""
    default: str = ""


@dataclasses.dataclass
class entity:
    name: str
    file: str
    line: int
    header: str
    bases: str
    contract: list
    fields: list
    functions: list
    body: str


def comment_above(lines, number, indent):
    """The `///` lines that end above line `number`, without marks."""
    found = []
    mark = " " * indent + "///"
    while number > 0:
        text = lines[number - 1]
        if text.startswith(mark) and not text.startswith(mark + "<"):
            found.insert(0, text[len(mark):].removeprefix(" ").rstrip())
        elif not text.strip().startswith(("template", "requires")) or found:
            break
        number -= 1
    return found


def statements(body):
    """Members at the depth of the class: (first line's number, text on one line, its `///<` comment, the next line's number)."""
    number = 0
    while number < len(body):
        line = body[number]
        if not re.match(r"  \S", line) or line.startswith(("  //", "  }")):
            number += 1
            continue
        first, text, note, depth = number, "", "", 0
        while number < len(body):
            code, _, comment = body[number].partition("//")
            if comment.startswith("/<"):
                note = (note + " " + comment[2:].strip()).strip()
            elif not comment and not code.strip():
                break
            text = (text + " " + code.strip()).strip()
            depth += code.count("{") - code.count("}")
            number += 1
            if depth <= 0 and text.endswith((";", "}", ":")):
                break
        yield first, text, note, number


FIELD = re.compile(r"(?!using |static |friend |enum |struct |class |virtual |explicit |template|return )"
                   r"(?P<type>(?:[\w:]+(?:<.*>)?(?: const)?[&*]*)(?: const)?)\s+[*&]?(?P<name>\w+)(?P<array>\[\w+\])?"
                   r"(?P<default>\s*=\s*.+|\{.*\})?;")


def public_part(lines, is_class):
    """The members up to `private:`; of a class from `public:` on."""
    access = [number for number, line in enumerate(lines) if re.match(r" (private|protected):", line)]
    lines = lines[:access[0]] if access else lines
    return lines[lines.index(" public:") + 1:] if " public:" in lines else [] if is_class else lines


def read_members(name, body):
    fields, functions, end = [], [], 0
    for number, text, note, after in statements(body):
        above = comment_above(body, number, 2)
        follows = number > 0 and number == end
        end = after
        match = FIELD.fullmatch(text)
        if match and match["name"] != "operator" and "(" not in text.split("=")[0].split("{")[0]:
            default = (match["default"] or "").strip()
            default = default[1:].strip() if default.startswith("=") else default
            fields.append(member(text, above, note, match["name"], match["type"] + (match["array"] or ""), default))
        elif above and "(" in text:
            functions.append(member(signature(text), above))
        elif follows and functions and "(" in text and "= delete" not in text:  # of the group that the comment is about
            functions[-1].declaration += "\n" + signature(text)
        elif re.match(rf"(?:explicit )?{name}\((?!\)|{name} const&)", text) and "= delete" not in text:
            functions.append(member(signature(text), []))
        else:
            end = 0
    return fields, functions


def signature(text):
    """A declaration without body, initialisers and what only the compiler needs."""
    text = re.sub(r"^(?:template <.*?> )?(?:requires.*?\) )?", "", text)
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and (char == ";" or text.startswith((" {", " : "), place)):
            text = text[:place]
            break
    return re.sub(r"^(?:explicit|virtual|constexpr|static) |(?: override| final)$", "", text).strip()


def entities(path, header):
    """Aggregates, classes and aliases of namespace cohort and its public inner namespaces."""
    lines = path.read_text(encoding="utf-8").splitlines()
    names = []
    for number, line in enumerate(lines):
        if opened := re.match(r"(?:inline )?namespace ([\w:]+) \{$", line):
            names.append(opened.group(1))
            continue
        if re.match(r"\}  // namespace", line) and names:
            names.pop()
            continue
        scope = [part for one in names for part in one.split("::")]
        if not scope or scope[0] != "cohort" or {"detail", "formula"} & set(scope):
            continue
        inner = "::".join(scope[1:])
        alias = re.match(r"using (\w+) = pointwise<.*>;$", line)
        opened = re.match(r"(?:struct|class) (\w+)(?: final)?(?: : (.*?))? \{(\};)?$", line)
        if not alias and not opened:
            continue
        name = (alias or opened).group(1)
        last = number + 1
        if opened and not opened.group(3):
            while lines[last] != "};":
                last += 1
        fields, functions = read_members(name, public_part(lines[number + 1:last], line.startswith("class"))) if opened else ([], [])
        yield entity(f"{inner}::{name}" if inner else name, str(path), number + 1, header, (opened and opened.group(2)) or "",
                     comment_above(lines, number, 0), fields, functions,
                     "\n".join(lines[number + 1:last]) if opened else "kind_name")


VALUES = ("init::", "constraint::", "normalise::", "threshold::", "residual::", "outer::")
ALSO_SETTINGS = ("layer_override", "reduce_on_plateau", "dynamic_batching", "recomputation")


def page_of(one):
    """The page of an entity; None for one that the reference leaves out."""
    base = re.sub(r"\b(public|private|virtual) ", "", one.bases)
    folder = one.header.split("/")[1]
    if one.name.startswith("schedule::"):
        return "schedules"
    if one.name.startswith(VALUES):
        return "values"
    if folder == "layer" and re.search(r"kind_name|constexpr Tensor operator\(\)", one.body) and "::" not in one.name:
        return "losses" if "layer_role::loss" in one.body else "layers" if one.name not in ("pointwise", "input_layer") else None
    if one.header == "cohort/optimizer/updaters.hpp":
        return "updaters"
    if "on(communicator&" in one.body and folder == "strategy":
        return "strategies"
    if re.search(r"_(settings|options)$", one.name) or one.name in ALSO_SETTINGS:
        return "settings"
    if re.search(r"\blistener\b", base) or one.name == "listener":
        return "listeners"
    if re.search(r"\bevaluator\b", base) or one.name in ("metric", "evaluator"):
        return "metrics"
    return None


def escaped(text):
    """Prose for Markdown; `code` stays."""
    return "".join(part if k % 2 else re.sub(r"([*_<>|\[\]])", r"\\\1", part)
                   for k, part in enumerate(re.split(r"(`[^`]*`)", text)))


def sections(contract):
    """Paragraphs (name of the section or "", lines). A line may hold several: `Returns a.  Order: b.`"""
    found = [("", [])]
    for line in re.sub(rf"(?<=\S)\s{{2,}}({SECTIONS})(?::\s+|\s{{2,}})", r"\n\1  ", "\n".join(contract)).split("\n"):
        if match := re.match(rf"({SECTIONS})\s{{2,}}(.*)", line):
            found.append((match.group(1), [match.group(2)]))
        elif not line:
            found.append(("", []))
        elif found[-1][0]:
            found[-1][1].append(line.strip())
        else:
            found[-1][1].append(line)
    return [(name, lines) for name, lines in found if lines]


def contract_text(contract):
    out = []
    for name, lines in sections(contract):
        if name:
            out.append(f"- **{name}:** {escaped(' '.join(lines))}")
        elif any(re.search(r"\S\s{2,}\S", line) or line.startswith(" ") for line in lines):
            out += ["", "```text", *textwrap.dedent("\n".join(lines)).splitlines(), "```", ""]
        else:
            out += ["", escaped(" ".join(lines)), ""]
    return "\n".join(out).strip()


HIDDEN = {"at", "name", "settings"}  # of layers


def field_rows(one):
    layers = page_of(one) in ("layers", "losses")
    rows = []
    for f in one.fields:
        if f.name in HIDDEN and layers and not f.note:
            continue
        required = re.match(r"required<(\w+)", f.type)
        kind = required.group(1) if required else f.type
        default = "required" if required else f"`{f.default}`" if f.default else "—"
        words = escaped(" ".join([*f.text, f.note]).strip())
        rows.append([f"`{f.name}`", f"`{kind}`", default.replace("||", "\\|\\|"), words])
    return rows


def entry_text(one):
    out = [f"## {one.name}", "", f"`#include <{one.header}>`", "", contract_text(one.contract), ""]
    if rows := field_rows(one):
        columns = 4 if any(row[3] for row in rows) else 3
        table = [["field", "type", "default", "meaning"], ["---"] * 4, *rows]
        out += ["| " + " | ".join(row[:columns]) + " |" for row in table] + [""]
    for function in one.functions:
        out += ["```cpp", function.declaration, "```", "", contract_text(function.text), ""]
    return "\n".join(out)


def public_headers(root):
    for folder in (root / "include", *sorted(root.glob("backends/*/include"))):
        for path in sorted(folder.rglob("*.hpp")):
            if not {"detail", "impl"} & set(path.relative_to(folder).parts):
                yield path, path.relative_to(folder).as_posix()


def reference(root):
    """Page → its entries."""
    found = {page: [] for page in PAGES}
    problems = []
    for path, header in public_headers(root):
        for one in entities(path, header):
            if not (page := page_of(one)):
                continue
            if not one.contract:
                problems.append(f"{path.relative_to(root)}:{one.line}: {one.name} has no contract: put a /// comment in front of it")
            found[page].append(one)
    if problems:
        raise missing_contract("\n".join(problems))
    return {page: sorted(all_of_it, key=lambda one: one.name) for page, all_of_it in found.items()}


def functions_of_metrics(root):
    """The functions of trainer/metric.hpp that make metrics."""
    path = root / "include/cohort/trainer/metric.hpp"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    out = []
    for number, line in enumerate(lines):
        if match := re.match(r"metric (\w+)\(.*\);$", line):
            out.append((match.group(1), "\n".join([f"## {match.group(1)}", "", "`#include <cohort/trainer/metric.hpp>`", "",
                                                     "```cpp", line.rstrip(";"), "```", "", contract_text(comment_above(lines, number, 0)), ""])))
    return out


def write(root, folder):
    pages = reference(root)
    folder.mkdir(parents=True, exist_ok=True)
    index = ["# Reference", "", "Made from the headers' contracts by docs/build.sh.", "", "| page | entries |", "|---|---|"]
    for page, found in pages.items():
        texts = [(one.name, entry_text(one)) for one in found]
        if page == "metrics":
            texts = sorted(texts + functions_of_metrics(root))
        links = ", ".join(f"[{name}]({page}.md#{name.lower().replace('::', '')})" for name, _ in texts)
        index.append(f"| [{page}]({page}.md) | {links} |")
        body = [f"# {page.capitalize()}", "", PAGES[page], "", *(text for _, text in texts)]
        (folder / f"{page}.md").write_text(re.sub(r"\n{3,}", "\n\n", "\n".join(body)).rstrip() + "\n", encoding="utf-8")
    (folder / "README.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    return sum(len(found) for found in pages.values())


def main():
    root, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    try:
        count = write(root, folder)
    except missing_contract as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{count} entries in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
