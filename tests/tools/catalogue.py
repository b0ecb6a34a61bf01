#!/usr/bin/env python3
"""The Chinese catalogue of the program's own sentences: `catalogue.py update`, `catalogue.py check`.

`update` reads every sentence that the code hands to `t()`, `nt()` or `mark()`, merges them into the .po file (a
translation stays with its sentence, a sentence that is gone goes), and compiles the .mo file. `check` changes
nothing and exits 1 when that would change something, or when a translation is missing or cannot be right.
After a change of a sentence: `update`, fill in what it lists, `update` again. Needs babel (the test extra).
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "prl_tui"
PO = PACKAGE / "locale" / "zh_CN" / "LC_MESSAGES" / "prl_tui.po"

HEADER = (
    "Project-Id-Version: prl-tui\n"
    "Language: zh_CN\n"
    "MIME-Version: 1.0\n"
    "Content-Type: text/plain; charset=UTF-8\n"
    "Content-Transfer-Encoding: 8bit\n"
)
"""No dates and no tool versions: the same sentences give the same bytes."""

TAKES = {"t": 1, "nt": 2, "mark": 1}
"""The functions of prl_tui.i18n that take sentences, and how many each takes."""

HANDED_ON = {("demo/flags.py", "explanation")}
"""A parameter that gets a sentence which its caller has marked."""


# --- the code's sentences -----------------------------------------------------------------------------------------


@dataclass
class Module:
    """One file: which names of prl_tui.i18n it uses, and which of its names hold marked sentences."""

    path: str
    tree: ast.Module
    functions: dict[str, str] = field(default_factory=dict)
    """The name here → its name in prl_tui.i18n."""
    marked: set[str] = field(default_factory=set)


@dataclass
class Sentences:
    """What was found: each sentence with the files that have it, and what is wrong in the code."""

    files: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def extract(package: Path = PACKAGE) -> Sentences:
    """Every sentence in a package's files, and a problem for each call whose sentence is not a literal."""
    found = Sentences()
    modules = [_module(path, package) for path in sorted(package.rglob("*.py")) if path.name != "i18n.py"]
    known = {module.path: module.marked for module in modules}
    for module in modules:
        imported = _imported_marks(module, known)
        calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        for node in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            if function := _function(node, module):
                _read_call(found, module, node, function, module.marked | imported)
    return found


def _module(path: Path, package: Path) -> Module:
    module = Module(path.relative_to(package).as_posix(), ast.parse(path.read_text("utf-8"), str(path)))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "prl_tui.i18n":
            module.functions.update({alias.asname or alias.name: alias.name for alias in node.names})
    for node in ast.walk(module.tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_marked(node.value, module):
            module.marked.update(target.id for target in targets if isinstance(target, ast.Name))
    return module


def _function(node: ast.Call, module: Module) -> str:
    """`t`, `nt` or `mark` when the call is one of them, else ""."""
    called = node.func
    if isinstance(called, ast.Name):
        name = module.functions.get(called.id, "")
    elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "i18n":
        name = called.attr
    else:
        name = ""
    return name if name in TAKES else ""


def _is_marked(node: ast.expr, module: Module) -> bool:
    """A mark(), or a dict, list or tuple of nothing else."""
    if isinstance(node, ast.Call):
        return _function(node, module) == "mark"
    parts = node.values if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return bool(parts) and all(_is_marked(part, module) for part in parts)


def _imported_marks(module: Module, known: Mapping[str, set[str]]) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            there = known.get("/".join(node.module.split(".")[1:]) + ".py", set())
            names |= {alias.asname or alias.name for alias in node.names if alias.name in there}
    return names


def _read_call(found: Sentences, module: Module, node: ast.Call, function: str, marked: set[str]) -> None:
    where = f"prl_tui/{module.path}:{node.lineno}"
    arguments = node.args[: TAKES[function]]
    if len(arguments) < TAKES[function]:
        found.problems.append(f"{where}: {function}() without its sentence")
    for argument in arguments:
        sentences = list(_literals(argument))
        if sentences:
            for sentence in sentences:
                _add(found, module, where, node, function, sentence)
        elif function == "mark" or not _refers_to(argument, marked, module.path):
            found.problems.append(
                f"{where}: the sentence of {function}() is neither a literal nor a constant made by mark(): "
                f"{ast.unparse(argument)}"
            )


def _literals(node: ast.expr) -> Iterator[str]:
    """The literal, or both of `a if test else b`; nothing unless all are literals."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
    elif isinstance(node, ast.IfExp):
        both = [*_literals(node.body), *_literals(node.orelse)]
        yield from both if len(both) == 2 else []


def _refers_to(node: ast.expr, marked: set[str], path: str) -> bool:
    """A marked name, an entry of one (`NAME[key]`, `NAME.get(key)`), or a choice between two."""
    if isinstance(node, ast.IfExp):
        return _refers_to(node.body, marked, path) and _refers_to(node.orelse, marked, path)
    if isinstance(node, ast.Subscript):
        return _refers_to(node.value, marked, path)
    return isinstance(node, ast.Name) and (node.id in marked or (path, node.id) in HANDED_ON)


def _add(found: Sentences, module: Module, where: str, node: ast.Call, function: str, sentence: str) -> None:
    files = found.files.setdefault(sentence, [])
    if f"prl_tui/{module.path}" not in files:
        files.append(f"prl_tui/{module.path}")
    values = {keyword.arg for keyword in node.keywords} | ({"n"} if function == "nt" else set())
    if function != "mark" and values and None not in values and (lacking := needed(sentence) - values):
        found.problems.append(f"{where}: no value for {', '.join(sorted(map(str, lacking)))} in: {sentence}")


# --- what a translation must keep ---------------------------------------------------------------------------------


def placeholders(sentence: str) -> set[str]:
    """The names in braces; a sentence with stray braces has its own mark, so that it equals only itself.

    `{n:step|steps}` is a word and no value: a translation need not have it.
    """
    try:
        return {
            name for _, name, spec, _ in Formatter().parse(sentence) if name is not None and "|" not in (spec or "")
        }
    except ValueError:
        return {f"not a format: {sentence}"}


def needed(sentence: str) -> set[str]:
    """The names that a sentence must be given values for."""
    return placeholders(sentence.replace("|", ""))


def _found_by(pattern: str) -> Callable[[str], set[str]]:
    return lambda sentence: set(re.findall(pattern, sentence))


KEPT: dict[str, Callable[[str], set[str]]] = {
    "placeholders": placeholders,
    "variables": _found_by(r"\$\w+"),
    "commands": _found_by(r"`[^`]*`"),
    "options": _found_by(r"(?<![\w-])--[a-z][\w-]*"),
    "variable names": _found_by(r"\b[A-Z]+_[A-Z_]+\b"),
    "leading line break": _found_by(r"\A\n"),
}


def mistakes(sentence: str, translation: str, files: list[str]) -> Iterator[str]:
    """What makes a translation unusable in the place of its sentence."""
    if not translation.strip():
        yield "has no translation"
        return
    for what, read in KEPT.items():
        if read(sentence) != read(translation):
            yield f"has other {what} than its translation: {translation}"
    if any(file.startswith("prl_tui/export/bash") for file in files):
        yield from _shell_mistakes(sentence, translation)


def _shell_mistakes(sentence: str, translation: str) -> Iterator[str]:
    """These sentences stand inside quotes in a script: "…" with variables, '…' of printf."""
    added = set("\"'`\\%!") & (set(translation) - set(sentence))
    if added:
        yield f"has {' '.join(sorted(added))} in its translation, which stands in a shell's quotes: {translation}"
    if re.search(r"\$\w+[^\x00-\x7f]", translation):
        yield f"has a variable that touches a character which some locales read as part of its name: {translation}"


# --- the .po and .mo files ----------------------------------------------------------------------------------------


@dataclass
class Book:
    """The .po file: its comment block and its translations."""

    head: list[str] = field(default_factory=list)
    translations: dict[str, str] = field(default_factory=dict)


def read_po(path: Path = PO) -> Book:
    """The .po file, or an empty book."""
    from babel.messages import pofile

    if not path.exists():
        return Book()
    text = path.read_text("utf-8")
    head = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        head.append(line)
    catalogue = pofile.read_po(io.StringIO(text), locale="zh_CN", abort_invalid=True)
    return Book(head, {str(message.id): str(message.string) for message in catalogue if message.id})


def po_text(head: list[str], sentences: Mapping[str, list[str]], translations: Mapping[str, str]) -> str:
    """The .po file with exactly these sentences, in the order of the code's files."""
    from babel.messages import pofile
    from babel.messages.catalog import Catalog

    catalogue = Catalog(locale="zh_CN", fuzzy=False)
    for sentence, files in sentences.items():
        message = catalogue.add(sentence, translations.get(sentence, ""), locations=[(file, 1) for file in files])
        message.flags.clear()
    body = io.BytesIO()
    pofile.write_po(body, catalogue, width=0, omit_header=True, include_lineno=False)
    lines = [*head, 'msgid ""', 'msgstr ""', *(f'"{line}\\n"' for line in HEADER.splitlines())]
    return "\n".join(lines) + "\n\n" + body.getvalue().decode("utf-8").strip("\n") + "\n"


def mo_bytes(translations: Mapping[str, str]) -> bytes:
    """The compiled catalogue: sentences sorted by their bytes, no hash table."""
    pairs = sorted((key.encode(), value.encode()) for key, value in {"": HEADER, **translations}.items() if value)
    start = 28 + 16 * len(pairs)
    keys, values = b"", b""
    key_table, value_table = [], []
    for key, _ in pairs:
        key_table.append((len(key), start + len(keys)))
        keys += key + b"\0"
    for _, value in pairs:
        value_table.append((len(value), start + len(keys) + len(values)))
        values += value + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    tables = b"".join(struct.pack("<2I", *entry) for entry in (*key_table, *value_table))
    return head + tables + keys + values


# --- commands -----------------------------------------------------------------------------------------------------


def problems(found: Sentences, book: Book, compiled: bytes | None) -> list[str]:
    """One line for each thing that is wrong."""
    said = list(found.problems)
    for sentence, files in found.files.items():
        if sentence not in book.translations:
            said.append(f"{files[0]}: not in the catalogue: {sentence!r}")
            continue
        for mistake in mistakes(sentence, book.translations[sentence], files):
            said.append(f"{files[0]}: {sentence!r} {mistake}")
    gone = [sentence for sentence in book.translations if sentence not in found.files]
    said += [f"{PO.name}: no longer in the code: {sentence!r}" for sentence in gone]
    if compiled != mo_bytes(book.translations):
        said.append(f"{PO.with_suffix('.mo').name} is not {PO.name} compiled")
    return said


def check(path: Path = PO) -> int:
    """Say what is wrong; 1 if anything is."""
    return _judge(extract(), path)


def update(path: Path = PO) -> int:
    """Merge and compile; 1 while something is left for a person."""
    found, book = extract(), read_po(path)
    for sentence, old in book.translations.items():
        if sentence not in found.files:
            print(f"dropped: {sentence!r} ({old})")
    kept = {sentence: book.translations.get(sentence, "") for sentence in found.files}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(po_text(book.head, found.files, kept), "utf-8")
    path.with_suffix(".mo").write_bytes(mo_bytes(kept))
    return _judge(found, path)


def _judge(found: Sentences, path: Path) -> int:
    mo = path.with_suffix(".mo")
    said = problems(found, read_po(path), mo.read_bytes() if mo.exists() else None)
    for line in said:
        print(line)
    if said:
        print(f"{len(said)} problems; `python tests/tools/catalogue.py update` merges and compiles")
    else:
        print(f"{len(found.files)} sentences, all translated")
    return 1 if said else 0


def main() -> int:
    """`update` or `check`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["update", "check"])
    return {"update": update, "check": check}[parser.parse_args().command]()


if __name__ == "__main__":
    sys.exit(main())
