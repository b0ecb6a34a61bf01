"""The app's "save as preset": the changed values, in a file of the person's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.i18n import nt, t
from prl_tui.lists import listed
from prl_tui.machine import paths, presets
from prl_tui.tui.screens.dialogs import AskText, Question

if TYPE_CHECKING:
    from prl_tui.core.config import RunConfig
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session

TOLD = 3
"""Values that a notice tells one by one, at most."""


def ask(app: PrlApp, session: Session) -> None:
    """Ask for a name and write the preset."""
    nothing = presets.nothing_to_save(session.config)
    if nothing:
        app.tell(nothing, "warning")
        return
    _ask(app, session.config, presets.own(session.config))


def _ask(app: PrlApp, config: RunConfig, text: str, problem: str = "") -> None:
    """A name that cannot be saved stays in the dialog, with the reason; `problem`: it has one already."""
    usual = _usual(config)
    others: list[presets.Target] = []
    """The preset that is there, where it is another one and differs."""
    done: list[presets.Target] = []

    def accept(name: str) -> str:
        try:
            found = presets.target(usual, config, name)
            if found.asks:
                others.append(found)
            else:
                done.append(presets.save(usual, config, name))
        except ValueError as error:
            return str(error)
        return ""

    def answered(name: str | None) -> None:
        if done and name:
            _choose(app, config.recipe.name, name.strip(), done[-1])
        elif others and name:
            _replace(app, config, name.strip(), others[-1])

    question = t("Save these values as which preset of {recipe}?", recipe=config.recipe.name)
    place = config.recipe.place_of(text)
    if place and place != str(usual):
        hint = t("{name} stays in {place}; a new name goes to {path}", name=text, place=place, path=usual)
    else:
        hint = str(usual)
    app.push_screen(AskText(question, text, hint, accept, problem), answered)


def _usual(config: RunConfig) -> Path:
    return paths.config_dir() / "presets" / f"{config.recipe.name}.toml"


def _replace(app: PrlApp, config: RunConfig, name: str, there: presets.Target) -> None:
    """Show what would be lost, and ask."""

    def answered(yes: bool | None) -> None:
        if not yes:
            return
        try:
            done = presets.save(_usual(config), config, name)
        except ValueError as error:
            _ask(app, config, name, str(error))
        else:
            _choose(app, config.recipe.name, name, done)

    n = len(there.changes)
    question = nt("The preset {name} exists in {path}, and {n} value differs. Replace it?",
                  "The preset {name} exists in {path}, and {n} values differ. Replace it?",
                  n, name=name, path=there.path)  # fmt: skip
    details = "\n".join(map(str, there.changes))
    app.push_screen(Question(question, t("replace"), t("keep it"), details), answered)


def _choose(app: PrlApp, recipe: str, name: str, done: presets.Target) -> None:
    """Open the saved preset, and say where it is and what it replaced."""
    app.reload_presets(recipe, name)
    told = t("saved {recipe}/{name} in {path}", recipe=recipe, name=name, path=done.path)
    if done.changes:
        told += "\n" + t("replaced: {changes}", changes=_few(done.changes))
    app.tell(told)


def _few(changes: tuple[presets.Change, ...]) -> str:
    """The first changes, and how many more there are."""
    words = [str(change) for change in changes[:TOLD]]
    more = len(changes) - TOLD
    return listed([*words, nt("{n} more", "{n} more", more)] if more > 0 else words)
