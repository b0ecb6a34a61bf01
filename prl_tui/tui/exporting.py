"""The app's export: a file name whose ending says the format, an existing file shown as a diff first."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui import atomic
from prl_tui.core import words
from prl_tui.export.formats import SUFFIX, fitting, of_file
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.tui.cells import safe, safe_lines
from prl_tui.tui.screens.dialogs import AskText, Help, Question

if TYPE_CHECKING:
    from prl_tui.export.model import Export
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session


def ask(app: PrlApp, session: Session) -> None:
    """Ask for the file and write it; a config with errors is not exported."""
    report = session.verdict.report
    if not report.ok:
        app.tell(
            t("Not exported: {verdict}. The command line's --allow-errors would.", verdict=words.verdict(report)),
            "error",
        )
        return
    config = session.config
    name = safe(f"{config.recipe.name}-{config.preset or 'own'}.sh").replace("/", "-")
    endings = ", ".join(f"{SUFFIX[name]} {name}" for name in fitting(session.verdict.plan))
    hint = t(
        "The ending says the format: {endings}. A name alone is put into {folder}", endings=endings, folder=Path.cwd()
    )

    def answered(text: str | None) -> None:
        if text and text.strip():
            _write(app, session, paths.expanded(text.strip()))

    app.push_screen(AskText(t("Export to which file?"), name, hint), answered)


def _write(app: PrlApp, session: Session, path: Path) -> None:
    found = of_file(path.name)
    if found is None:
        endings = ", ".join(SUFFIX.values())
        app.tell(t("{path}: the ending says the format; {endings} would work.", path=path, endings=endings), "error")
        return
    if refusal := found.refused(session.verdict.plan):
        app.tell(f"{path}: {refusal}", "error")
        return
    exported = found(session.verdict.plan)
    try:
        old = path.read_text("utf-8", errors="replace") if path.exists() else None
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
        atomic.write_text(path, exported.text, 0o755 if exported.executable else 0o644)
    except OSError as error:
        app.tell(t("{path} cannot be written: {reason}.", path=path, reason=error.strerror or error), "error")
        return
    wrote = t("wrote {path}", path=path.absolute())
    if exported.losses:  # to be read, so it stays
        app.push_screen(Help(safe_lines("\n".join([wrote, *(f"! {loss}" for loss in exported.losses)]))))
    else:
        app.tell(wrote)
