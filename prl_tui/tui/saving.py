"""The app's "save as preset": the changed values, in a file of the person's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.machine import paths, presets
from prl_tui.tui.screens.dialogs import AskText

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session


def ask(app: PrlApp, session: Session) -> None:
    """Ask for a name and write the preset."""
    nothing = presets.nothing_to_save(session.config)
    if nothing:
        app.tell(nothing, "warning")
        return
    recipe = session.config.recipe.name
    path = paths.config_dir() / "presets" / f"{recipe}.toml"

    def accept(name: str) -> str:
        try:
            presets.save(path, session.config, name)
        except ValueError as error:
            return str(error)
        return ""

    def answered(name: str | None) -> None:
        if not name or not name.strip():
            return
        app.reload_presets(recipe, name.strip())
        app.tell(t("saved {recipe}/{name} in {path}", recipe=recipe, name=name.strip(), path=path))

    question = t("Save these values as which preset of {recipe}?", recipe=recipe)
    app.push_screen(AskText(question, "", str(path), accept), answered)
