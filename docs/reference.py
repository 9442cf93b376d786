# SPDX-License-Identifier: Apache-2.0
"""Writes the reference from the contracts of the public headers:

    reference.py ROOT FOLDER

Reads the `///` comments in front of aggregates, classes and functions, the fields with types, defaults and `///<` comments, and
the documented public members of classes. An entry without a contract is an error, FILE:LINE. Headers keep the project's format:
one declaration per line, members indented by two columns, blank lines between entries.
"""
import dataclasses
import itertools
import pathlib
import re
import sys
import textwrap

SECTIONS = "Shapes|Units|Parameters|Order|Before|After|Moves|Errors|Exact|Cost|Source"

PAGES = {
    "runs": "Functions that a program calls: `trainer`, `load_trained`, and the members of their result.",
    "data": "Data sets, their views, tables, pipelines of transforms and series. `dataset` holds any of them.",
    "text": "Tokenizers and token streams, generation of texts, vectors of words and documents. Headers: `cohort/text/`, `cohort/text/generate_tokens.hpp`, `cohort/text/word2vec.hpp` and `cohort/text/doc2vec.hpp`.",
    "models": "Import and export of networks and parameters in the files of other libraries.",
    "networks": "How a program writes a network: as a function from a `builder` to the outputs, which runs at compile time (`network`) or "
                "at run time (`graph::build`). `x | layer` appends a [layer](layers.md), a [loss](losses.md) or a block (a function from "
                "tensor to tensor) to the tensor x. `a + b` and `a * b` are the layers `add` and `multiply`.",
    "layers": "Layers, in alphabetical order. Every layer also has `.name`, after the fields below: the layer's name in files, messages "
              "and settings. `.settings` of layers with parameters: see [layer_settings](settings.md#layer_settings).",
    "losses": "Layers that end a branch of the network. The training minimises the sum of all losses. Every loss also has `.name`, after "
              "the fields below.",
    "optimizers": "Values of `optimizer_settings::rule`, `bias_rule` and of `layer_override`. A rate is a number or a "
                "[schedule](schedules.md). g is the mean gradient with its penalties, w −= u; m̂ and v̂ are bias-corrected.",
    "schedules": "Values of an optimizer's rate and momentum.",
    "values": "Values of fields of the [settings](settings.md): initialisers, constraints, clipping, the parts of strategies, and all "
              "enumerations.",
    "settings": "Aggregates whose fields are set by name: `{.batch = 64, .epochs = 5}`.",
    "listeners": "Objects whose addresses are in `fit_settings::listeners`. A listener of your own derives from `listener`.",
    "metrics": "Evaluators compare outputs with targets (`training::evaluate`); a `metric` is a number that rates a run.",
    "strategies": "How ranks reach the same parameters: the third argument of `trainer`.",
    "backends": "Tensor backends: the template argument of `trainer` and `load_trained`.",
    "errors": "Exceptions, all derived from `error`.",
    "extensions": "Declarations that layers and strategies of your own use. The guide explains [a layer](../../docs/guide/own_layer.md) and "
                  "[a strategy](../../docs/guide/own_strategy.md).",
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
    plain: list  # declarations of functions without a comment
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
                   r"(?P<type>[\w:]+(?:<.*>)?(?: const)?[&*]*(?: const[&*]*)?)\s+[*&]?(?P<name>\w+)(?P<array>\[\w+\])?"
                   r"(?P<default>\s*=\s*.+|\{.*\})?;")
SEVERAL = re.compile(r"([\w:]+)((?: \w+(?: = [^,(){};]+|\{\}),)+ \w+(?: = [^,(){};]+|\{\}));")
NESTED = re.compile(r"struct (\w+) \{(.*)\};")


def public_part(lines, is_class):
    """The members up to `private:`; of a class from `public:` on."""
    access = [number for number, line in enumerate(lines) if re.match(r" (private|protected):", line)]
    lines = lines[:access[0]] if access else lines
    return lines[lines.index(" public:") + 1:] if " public:" in lines else [] if is_class else lines


def read_members(name, body):
    fields, functions, plain, end = [], [], [], 0
    for number, text, note, after in statements(body):
        above = comment_above(body, number, 2)
        follows = number > 0 and number == end
        end = after
        if nested := NESTED.fullmatch(text):
            inner = read_members(nested[1], [line.removeprefix("  ") for line in body[number + 1:after - 1]])[0]
            fields += [dataclasses.replace(one, name=f"{nested[1]}::{one.name}") for one in inner]
            continue
        for one in [f"{several[1]}{part};" for part in several[2].split(",")] if (several := SEVERAL.fullmatch(text)) else [text]:
            match = FIELD.fullmatch(one)
            if match and match["name"] != "operator" and "(" not in re.sub("<.*>", "", one).split("=")[0].split("{")[0]:
                default = (match["default"] or "").strip()
                default = default[1:].strip() if default.startswith("=") else default
                fields.append(member(one, above, note, match["name"], match["type"] + (match["array"] or ""), default))
        if fields and fields[-1].declaration in (text, one):
            continue
        if above and "(" in text and "= delete" not in text:
            functions.append(member(signature(text), above))
        elif follows and functions and "(" in text and "= delete" not in text:  # continues the group below a comment
            functions[-1].declaration += "\n" + signature(text)
        elif re.match(rf"(?:explicit )?{name}\((?!\)|{name} const&)", text) and "= delete" not in text:
            functions.append(member(signature(text), []))
        else:
            end = 0
            if re.match(r"(?!using |friend |static_assert|struct |class |enum |requires|explicit |~)[\w:]", text) and "(" in text and "= delete" not in text:
                plain.append(signature(text))
    return fields, functions, plain


def balanced(text, opening, closing):
    """The length of the text's part up to the bracket that closes its first one."""
    depth, first = 0, text.find(opening)
    for place, char in enumerate(text):
        depth += (char == opening) - (char == closing)
        if depth == 0 and place >= first >= 0:
            return place + 1
    return len(text)


def without_requirement(text):
    """A declaration without the requires-clause in front of it."""
    while match := re.match(r"requires\b\s*(?=[\w!(])|(?:&&|\|\|) ", text):
        text = text[match.end():]
        if text.startswith("requires"):  # requires requires(…) { … }
            text = text.removeprefix("requires")
            text = text[balanced(text, "(", ")"):].lstrip() if text.startswith("(") else text
            text = text[balanced(text, "{", "}"):].lstrip()
        elif text.startswith("("):
            text = text[balanced(text, "(", ")"):].lstrip()
        else:
            name = re.match(r"!?[\w:]+", text)
            text = text[name.end():]
            text = text[balanced(text, "<", ">"):].lstrip() if text.startswith("<") else text.lstrip()
    return text


def template_arguments(template, call):
    """`<B, More...>`: the parameters that a call states, because its arguments do not determine them."""
    stated = []
    for one in re.split(r",\s*(?![^<]*>)", template):
        name = re.match(r".*?(\.\.\.)?\s*(\w+)(\s*=.*)?$", one.strip())
        if not re.search(rf"\b{name[2]}\b", call):
            stated.append(name[2] + ("..." if name[1] else "") + (name[3] or ""))
    return f"<{', '.join(stated)}>" if stated else ""


def signature(text):
    """A declaration without body, initialisers and parts that only the compiler needs."""
    stated = ""
    if text.startswith("template <"):
        end = balanced(text, "<", ">")
        template, text = text[len("template <"):end - 1], without_requirement(text[end:].lstrip())
        call = re.search(r"\w+(\()", text)
        stated = template_arguments(template, text[call.start(1):][:balanced(text[call.start(1):], "(", ")")]) if call else ""
    text = re.sub(r"(?<=\w)(?=\()", stated, without_requirement(text), count=1)
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and (char == ";" or text.startswith((" {", " : "), place)):
            text = text[:place]
            break
    text = re.sub(r"^(?:(?:explicit|virtual|constexpr|inline|friend) )+|(?: override| final)$", "", text).strip()
    return re.sub(r"(?<=\))(| const) ?&$", r"\1", text)  # for temporaries, the member is deleted


LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')


def declarations(path):
    """The lines directly in public namespaces: (all lines, number of the line, its namespaces)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    scopes, depth = [], 0  # scopes: names and depth of each open namespace
    for number, line in enumerate(lines):
        code = LITERAL.sub("", line).partition("//")[0]
        if opened := re.match(r"(?:inline )?namespace ([\w:]+) \{$", line):
            scopes.append((opened.group(1).split("::"), depth))
        elif scopes and depth == scopes[-1][1] + 1:
            scope = [part for names, _ in scopes for part in names]
            if scope[0] == "cohort" and "detail" not in scope:
                yield lines, number, scope
        depth += code.count("{") - code.count("}")
        while scopes and depth <= scopes[-1][1]:
            scopes.pop()


def entities(path, header):
    """Aggregates, classes and aliases of namespace cohort and its public inner namespaces."""
    for lines, number, scope in declarations(path):
        line = lines[number]
        inner = "::".join(scope[1:])
        alias = re.match(r"using (\w+) = (?:pointwise<|std::(?:function|variant|vector)<|detail::(\w+)<)(.*)>;$", line)
        opened = re.match(r"(?:struct|class) (\w+)(?: final)?(?: : (.*?))? \{(\};)?$", line)
        if not alias and not opened:
            continue
        name = (alias or opened).group(1)
        last = number + 1
        if opened and not opened.group(3):
            while lines[last] != "};":
                last += 1
        members = public_part(lines[number + 1:last], line.startswith("class")) if opened else []
        if alias and alias.group(2):  # a template of namespace detail with one parameter, written above its aliases
            first = lines.index(f"struct {alias.group(2)} {{")
            members = [re.sub(r"\bByte\b", alias.group(3), re.sub(rf"\b{alias.group(2)}\b", name, one))
                       for one in lines[first + 1:lines.index("};", first)]]
        fields, functions, plain = read_members(name, members)
        if alias and " = std::" in line:
            functions = [member(line.rstrip(";"), [])]
        contract = comment_above(lines, number, 0)
        inherited = [one for one in re.findall(r"^  using (\w+)::(\w+);$", "\n".join(members), re.MULTILINE) if one[0] != one[1]]
        if contract and inherited:
            contract += ["", f"Has members of {inherited[0][0]}: " + ", ".join(f"`{one}`" for _, one in inherited) + "."]
        yield entity(f"{inner}::{name}" if inner else name, str(path), number + 1, header, (opened and opened.group(2)) or "",
                     contract, fields, functions, plain,
                     "\n".join(lines[number + 1:last]) if opened else "kind_name")


def constants(path, header):
    """The constants of public namespaces that have a contract."""
    for lines, number, scope in declarations(path):
        if constant := re.match(r"inline constexpr [\w:]+ (\w+)(?:\{| = )", lines[number]):
            if contract := comment_above(lines, number, 0):
                value = [member(lines[number].removeprefix("inline ").rstrip(";"), [])] if " = " in constant.group() else []
                yield entity("::".join([*scope[1:], constant.group(1)]), str(path), number + 1, header, "", contract, [], value, [], "")


def enumerations(path, header):
    """The enumerations of public namespaces."""
    for lines, number, scope in declarations(path):
        if not (opened := re.match(r"enum class (\w+)", lines[number])):
            continue
        last = number
        while not lines[last].partition("//")[0].rstrip().endswith("};"):
            last += 1
        text = "\n".join(line.replace("///<", "//") for line in lines[number:last + 1])
        yield entity("::".join([*scope[1:], opened.group(1)]), str(path), number + 1, header, "", comment_above(lines, number, 0), [],
                     [member(re.sub(r" : [\w:]+ \{", " {", text), [])], [], text)


NO_FUNCTION = re.compile(r"(?:struct|class|enum|using|template|requires|namespace|static_assert|friend|extern|return)\b|#|//|\}| ")


def free_functions(path, header):
    """The functions of public namespaces that have a contract, overloads that share it as one entry."""
    public = {number: scope for _, number, scope in declarations(path)}
    lines = path.read_text(encoding="utf-8").splitlines()
    found, last = [], -1  # last: line of the latest function's end
    for number, scope in public.items():
        if not lines[number].strip() or NO_FUNCTION.match(lines[number]) or number <= last:
            continue
        last, text = number, lines[number].strip()
        while not re.search(r"[;{]\s*$|\}$", lines[last].partition("//")[0]) and last + 1 < len(lines):
            last += 1
            text += " " + lines[last].strip()
        if concept := re.match(r"concept \w+", text):
            text = concept.group() + ";"
        name = re.match(r"concept (\w+)", text) or re.search(r"(\w+)\(", text)
        above = number
        while lines[above - 1].strip() and not lines[above - 1].startswith("///"):
            above -= 1
        if templates := [k for k in range(above, number) if lines[k].startswith("template <")]:
            text = " ".join(line.strip() for line in lines[templates[-1]:number]) + " " + text
        contract = comment_above(lines, above, 0)
        if not name or not contract or "operator" in text or text.startswith("inline constexpr"):
            continue
        if found and found[-1].line == above:
            found[-1].functions[0].declaration += "\n" + signature(text)
            continue
        inner = "::".join([*scope[1:], name.group(1)])
        found.append(entity(inner, str(path), above, header, "", [], [], [member(signature(text), contract)], [], ""))
    return found


VALUES = ("init::", "constraint::", "normalise::", "threshold::", "residual::", "outer::")
ALSO_SETTINGS = ("table_examples", "layer_override", "reduce_on_plateau", "dynamic_batching", "recomputation")


RUNS = re.compile(r"cohort/((?:training|prediction)/(trainer|load|load_parameters|training|predictions|fit_history|settings|listener|features|training_loop|find_learning_rate|"
                  r"checkpoints|dynamic_batcher|pending_predictions|stateful_predictions|tune|run_memory)|checkpoint/(model_file|matching_layers)|"
                  r"communicator/(launch|preflight|preflight_report)|documents/(run|data|ranks)|configuration/run_document|execution/sink|mpi|tcp)\.hpp")
TEXT = re.compile(r"cohort/(text/\w+|io/file_reader|io/file_writer)\.hpp")
MODELS = re.compile(r"cohort/(interchange/\w+|caffe/\w+|io/npy|keras|npz)\.hpp")
NETWORKS = re.compile(r"cohort/graph/(builder|graph|network|summary|with_state)\.hpp")
BACKENDS = re.compile(r"cohort/(backend/(priority|reference)|onednn/backend|cudnn)\.hpp")
ERRORS = re.compile(r"cohort/error/exceptions\.hpp")
DATA = re.compile(r"cohort/(audio/\w+|records/\w+|transform/\w+|data/(?!fingerprint|sharding|transform)\w+|image/(image|image_folder|image_records|file_batches|decode|resize|"
                  r"augmented|mixed|pack_files|cifar10)|zlib|mnist|xtensor|tensor/(shape|view))\.hpp")
EXTENSIONS = re.compile(r"cohort/(strategy/(strategy|merge_statistics)|communicator/(communicator|rank_progress)|plan/(replica|batch_statistics|gradient_parts|parameter_set|"
                        r"parameter_table|bucket|gradient_check)|layer/(layer|parameter|field|host_kernel|channel_map)|optimizer/(optimizer|own_optimizer|rate_schedule)|"
                        r"error/(finding|source)|random/stream)\.hpp")
OMITTED = {"add_examples", "memory_of_workers", "text_of", "timing_autotuner", "augmentation_draw", "mixing_draw", "drawn", "class_weighted",
           "field_info", "field_name", "field_type", "finding", "fixed_text", "has_host_kernels", "host_kernel", "initial_parameters",
           "make_buckets", "parameter_rule", "step_constants", "static_network", "with_backend", "read_matching"}
# Of these classes, the members that a program calls.
CALLED = {"builder": {"input", "masked_input", "padded_input"}, "tensor": {"dims"}, "graph": {"build", "parameter_count"}, "error": {"why"},
          "tensor_view": {"as", "bytes", "rows", "tensor_view"}, "mutable_tensor_view": set(), "file_reader": set(), "file_writer": {"write", "commit"}}
# Headers that programs include in place of others.
INCLUDED = {"cohort/onednn/backend.hpp": "cohort/onednn.hpp"}


def page_of_header(header):
    """The page of the other types and functions of a header."""
    pages = {"text": TEXT, "models": MODELS, "networks": NETWORKS, "runs": RUNS, "data": DATA, "backends": BACKENDS, "errors": ERRORS, "extensions": EXTENSIONS}
    return next((page for page, headers in pages.items() if headers.match(header)), None)


def page_of(one):
    """The page of an entity; None if the reference omits the entity."""
    base = re.sub(r"\b(public|private|virtual) ", "", one.bases)
    folder = one.header.split("/")[1]
    if one.name.startswith("schedule::"):
        return "schedules"
    if one.name.startswith(VALUES) or one.name in ("padding", "extent2"):
        return "values"
    if folder == "layer" and re.search(r"kind_name|constexpr Tensor operator\(\)", one.body) and "::" not in one.name:
        return "losses" if "layer_role::loss" in one.body else "layers" if one.name not in ("pointwise", "input_layer") else None
    if one.header == "cohort/optimizer/optimizers.hpp":
        return "optimizers"
    if "on(communicator&" in one.body and folder == "strategy":
        return "strategies"
    if re.search(r"_(settings|options)$", one.name) or one.name in ALSO_SETTINGS:
        return "settings"
    if re.search(r"\blistener\b", base) or one.name == "listener":
        return "listeners"
    if re.search(r"\bevaluator\b", base) or one.name in ("metric", "evaluator", "confusion_matrix"):
        return "metrics"
    return None if one.name in OMITTED else page_of_header(one.header)


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


HIDDEN = {"at", "name"}  # of layers


def field_rows(one):
    layers = page_of(one) in ("layers", "losses")
    rows = []
    for f in one.fields:
        if f.name in HIDDEN and layers and not f.note:
            continue
        required = re.match(r"required<(\w+)", f.type)
        kind = required.group(1) if required else f.type.replace("detail::clause", "std::string")
        default = "required" if required else f"`{f.default}`" if f.default else "—"
        words = escaped(" ".join([*f.text, f.note]).strip())
        rows.append([f"`{f.name}`", f"`{kind}`", default.replace("||", "\\|\\|"), words])
    return rows


def called(one, name):
    """Whether programs use this member of a class."""
    page = page_of(one)
    return name in CALLED[one.name] if one.name in CALLED else page not in ("layers", "losses", "backends")


NO_CALL = re.compile(r"detail::|\boperator |operator=|~|&&\) noexcept|= default|\.\.\.[^ ]* [IU]\b|^> ")  # members that a program does not call


def included_by(root, header):
    """The header and all headers of the library that it includes."""
    found, pending = set(), [header]
    while pending:
        if (one := pending.pop()) not in found:
            found.add(one)
            pending += re.findall(r"^#include <(cohort/[^>]+\.hpp)>", (root / "include" / one).read_text(encoding="utf-8"), re.MULTILINE)
    return found


def entry_text(same, extra):
    """Entries of the same name: a class, or overloads. `extra`: the headers of core that cohort.hpp does not include."""
    out, header = [f"## {same[0].name}", ""], ""
    for one in same:
        if one.header != header:
            header = one.header
            omitted = ", which `cohort.hpp` does not include" if header in extra else ""
            out += [f"`#include <{INCLUDED.get(header, header)}>`{omitted}", ""]
        out += [contract_text(one.contract), ""]
        if rows := field_rows(one):
            columns = 4 if any(row[3] for row in rows) else 3
            table = [["field", "type", "default", "meaning"], ["---"] * 4, *rows]
            out += ["| " + " | ".join(row[:columns]) + " |" for row in table] + [""]
        for function in one.functions:
            calls = function.declaration.split("\n")
            if called(one, re.search(r"(\w+)(?:<.*>)?\(|$", calls[0])[1]) and not NO_CALL.search(calls[0]):
                shown = [one for one in calls if not NO_CALL.search(one)]
                out += ["```cpp", *shown, "```", "", contract_text(function.text), ""]
        if plain := [text for text in one.plain if page_of(one) in ("runs", "data", "extensions") and not NO_CALL.search(text)
                     and one.name not in CALLED]:
            out += ["```cpp", *plain, "```", ""]
    return "\n".join(out)


def public_headers(root):
    for folder in (root / "include", *sorted(root.glob("backends/*/include"))):
        for path in sorted(folder.rglob("*.hpp")):
            if not {"detail", "impl"} & set(path.relative_to(folder).parts):
                yield path, path.relative_to(folder).as_posix()


def reference(root):
    """Page → its entries."""
    found = {page: [] for page in PAGES}
    problems, enums = [], []
    for path, header in public_headers(root):
        for one in entities(path, header):
            if not (page := page_of(one)) or one.contract and one.name in OMITTED:
                continue
            if not one.contract:
                problems.append(f"{path.relative_to(root)}:{one.line}: {one.name} has no contract: put a /// comment in front of it")
            found[page].append(one)
        enums += enumerations(path, header)
        for one in constants(path, header):
            if page := "metrics" if one.name.startswith("metrics::") else page_of(one):
                found[page].append(one)
        for one in free_functions(path, header):
            makes_metric = one.functions[0].declaration.startswith("metric ")
            if page := "metrics" if makes_metric else page_of(one):
                found[page].append(one)
    types = {f.type.removeprefix("cohort::") for all_of_it in found.values() for one in all_of_it for f in one.fields}
    for one in enums:
        if one.name.split("::")[-1] in types and one.contract:
            found["values"].append(one)
        elif (page := page_of(one)) in ("extensions", "text") and one.contract:
            found[page].append(one)
    if problems:
        raise missing_contract("\n".join(problems))
    return {page: sorted(all_of_it, key=lambda one: one.name) for page, all_of_it in found.items()}


def write(root, folder):
    pages = reference(root)
    usual = included_by(root, "cohort/cohort.hpp")
    core = {path.relative_to(root / "include").as_posix() for path in (root / "include").rglob("*.hpp")}
    folder.mkdir(parents=True, exist_ok=True)
    index = ["# Reference", "", "Generated from the headers' contracts.", "", "| page | entries |", "|---|---|"]
    for page, found in pages.items():
        texts = [entry_text(list(same), core - usual) for _, same in itertools.groupby(found, key=lambda one: one.name)]
        names = dict.fromkeys(one.name for one in found)
        links = ", ".join(f"[{name}]({page}.md#{name.lower().replace('::', '')})" for name in names)
        index.append(f"| [{page}]({page}.md) | {links} |")
        body = [f"# {page.capitalize()}", "", PAGES[page], "", *texts]
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
