"""The app's export: a file's name is asked for, an existing file shown as a diff first."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui import atomic
from prl_tui.export.formats import SUFFIX, of_file
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.tui.cells import safe
from prl_tui.tui.screens.dialogs import AskText, Question

if TYPE_CHECKING:
    from prl_tui.export.model import Export
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session


def save(app: PrlApp, session: Session, name: str, exported: Export) -> None:
    """Ask for a file and write an export of the format `name` to it."""
    config = session.config
    suggested = safe(f"{config.recipe.name}-{config.preset or 'own'}{SUFFIX[name]}").replace("/", "-")

    def answered(text: str | None) -> None:
        if text and text.strip():
            _write(app, paths.expanded(text.strip()), name, exported)

    question = t("Save {format} as which file?", format=name)
    app.push_screen(AskText(question, suggested, t("A name alone is put into {folder}", folder=paths.here())), answered)


def _write(app: PrlApp, path: Path, name: str, exported: Export) -> None:
    said = of_file(path.name)
    if said is not None and said.name != name:
        app.tell(
            t("{path}: this ending is that of {other}; choose {other} in the list, or {suffix} for {format}.",
              path=path, other=said.name, suffix=SUFFIX[name], format=name),
            "error",
        )  # fmt: skip
        return
    if path.exists() and not path.is_file():  # a pipe would be waited for
        app.tell(t("{path} is no file that can be replaced: choose another name.", path=path), "error")
        return
    try:
        old = path.read_bytes().decode("utf-8", "replace") if path.exists() else None
    except OSError as error:
        app.tell(t("{path} cannot be read: {reason}.", path=path, reason=error.strerror or error), "error")
        return
    if old is None or old == exported.text:
        _put(app, path, exported)
        return
    changes = "".join(difflib.unified_diff(old.splitlines(True), exported.text.splitlines(True), str(path), t("new")))

    def answered(yes: bool | None) -> None:
        if yes:
            _put(app, path, exported)

    question = t("{path} exists and differs. Replace it?", path=path)
    app.push_screen(Question(question, t("replace"), t("keep it"), changes[:20000]), answered)


def _put(app: PrlApp, path: Path, exported: Export) -> None:
    try:
        real = Path(os.path.realpath(path))  # the file behind a link, so that the link stays
        atomic.write_text(real, exported.text, 0o755 if exported.executable else 0o644)
    except OSError as error:
        app.tell(t("{path} cannot be written: {reason}.", path=path, reason=error.strerror or error), "error")
        return
    app.tell(t("wrote {path}", path=path.absolute()))
