"""The app's export: a file's name is asked for, an existing file shown as a diff first."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui import atomic, reasons, regular
from prl_tui.export.formats import FORMATS, SUFFIX, of_file
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.tui.cells import safe
from prl_tui.tui.screens.dialogs import AskText, Question

if TYPE_CHECKING:
    from prl_tui.core.config import RunConfig
    from prl_tui.export.model import Export
    from prl_tui.tui.app import PrlApp


def save(app: PrlApp, config: RunConfig, name: str, exported: Export) -> None:
    """Ask for a file and write an export of the format `name` to it."""
    suggested = safe(f"{config.recipe.name}-{config.preset or 'own'}{SUFFIX[name]}").replace("/", "-")
    _ask(app, name, exported, suggested)


def _ask(app: PrlApp, name: str, exported: Export, text: str, problem: str = "") -> None:
    """A name that cannot be written to stays in the dialog, with the reason; `problem`: it has one already."""
    others: list[str] = []
    """The text of the file that is there, where it differs."""

    def accept(given: str) -> str:
        path = paths.expanded(given)
        refused = _refusal(path, name)
        if refused:
            return refused
        try:
            old = _text(path)
        except OSError as error:
            return _unreadable(path, error)
        if old is None or old == exported.text:
            return _put(app, name, path, exported)
        others.append(old)
        return ""

    def answered(given: str | None) -> None:
        if others and given:
            _replace(app, name, exported, given.strip(), others[-1])

    question = t("Save {format} as which file?", format=name)
    hint = t("A name alone is put into {folder}", folder=paths.here())
    app.push_screen(AskText(question, text, hint, accept, problem), answered)


def _refusal(path: Path, name: str) -> str:
    said = of_file(path.name)
    if said is not None and said.name != name:
        return t("{path}: this ending is that of {other}; choose {other} in the list, or {suffix} for {format}.",
                 path=path, other=said.name, suffix=SUFFIX[name], format=name)  # fmt: skip
    if paths.exists(path) and not paths.is_file(path):  # a pipe would be waited for
        return t("{path} is no file that can be replaced: choose another name.", path=path)
    return ""


def _text(path: Path) -> str | None:
    """A file as text; None where there is none. OSError."""
    return regular.read_bytes(path).decode("utf-8", "replace") if paths.exists(path) else None


def _unreadable(path: Path, error: OSError) -> str:
    return t("{path} cannot be read: {reason}.", path=path, reason=reasons.of(error))


def _replace(app: PrlApp, name: str, exported: Export, given: str, old: str, again: bool = False) -> None:
    """Show what would change, and ask; `again`: it is another file than the one that was shown before."""
    path = paths.expanded(given)
    changes = "".join(difflib.unified_diff(old.splitlines(True), exported.text.splitlines(True), str(path), t("new")))

    def answered(yes: bool | None) -> None:
        if not yes:
            return
        try:
            now = _text(path)
        except OSError as error:
            _ask(app, name, exported, given, _unreadable(path, error))
            return
        if now is not None and now not in (old, exported.text):  # somebody else wrote it meanwhile
            _replace(app, name, exported, given, now, again=True)
        elif problem := _put(app, name, path, exported):
            _ask(app, name, exported, given, problem)

    asked = t("{path} exists and differs. Replace it?", path=path)
    question = t("{path} has changed meanwhile. Replace it?", path=path) if again else asked
    app.push_screen(Question(question, t("replace"), t("keep it"), changes[:20000]), answered)


def _put(app: PrlApp, name: str, path: Path, exported: Export) -> str:
    """Write it and say so; why that is impossible, or ""."""
    try:
        atomic.write_behind(path, exported.text, 0o755 if exported.executable else 0o644)
    except OSError as error:
        return t("{path} cannot be written: {reason}.", path=path, reason=reasons.of(error))
    if FORMATS[name].whole:
        app.session.keep(app.session.config, paths.here() / path)
    app.tell(t("wrote {path}", path=paths.here() / path))
    return ""
