"""Every action by name, as the palette lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.widget import Widget

from prl_tui.i18n import t

if TYPE_CHECKING:
    from textual.screen import Screen

    from prl_tui.tui.app import PrlApp

NOT_LISTED = ("app.", "screen.", "scroll_", "page_")
"""Beginnings of actions that are no commands of a place: the framework's own, and the places, which come first."""


def of(app: PrlApp, screen: Screen[object]) -> Iterable[SystemCommand]:
    """The places, what can be done on a screen now, every preset, and what can be done everywhere."""
    for place, title in (
        ("configure", t("go: configure")),
        ("runs", t("go: runs")),
        ("watch", t("go: watch the last run")),
    ):
        yield SystemCommand(title, "", lambda place=place: app.action_go(place))
    seen: set[str] = set()
    for node in (screen.focused, screen):
        if isinstance(node, Widget):
            yield from _actions(app, node, seen)
    yield from presets(app, screen)
    yield SystemCommand(t("doctor"), t("what is wrong with this box and the environment"), app.action_doctor)
    yield SystemCommand(t("quit"), t("runs go on"), app.action_ask_leave)


def presets(app: PrlApp, screen: Screen[object]) -> Iterable[SystemCommand]:
    """Every preset, found by typing a part of its name; the configure screen opens with it."""
    for recipe in app.catalog.recipes.values():
        for preset in recipe.presets:
            yield SystemCommand(
                _title(recipe.name, preset),
                "",  # the name alone fills the line
                lambda r=recipe.name, p=preset: _choose(app, screen, r, p),
            )


def _title(recipe: str, preset: str) -> str:
    return t("preset {name}", name=f"{recipe}/{preset}")


def further(app: PrlApp) -> Mapping[str, str]:
    """Action → words that find it beside its name: of a preset its title and its recipe's heading, in every language."""
    return {
        _title(recipe.name, name): f"{recipe.data.title.en} {recipe.data.title.zh} {preset.title.en} {preset.title.zh}"
        for recipe in app.catalog.recipes.values()
        for name, preset in recipe.presets.items()
    }


def _actions(app: PrlApp, node: Widget, seen: set[str]) -> Iterable[SystemCommand]:
    """Of a widget's keys those that can do something now, each description once."""
    for bindings in node._bindings.key_to_bindings.values():
        for one in bindings:
            if not app._check_action_state(one.action, node):
                continue  # its key only says why it cannot be done
            if one.description and one.description not in seen and not one.action.startswith(NOT_LISTED):
                seen.add(one.description)
                yield SystemCommand(one.description, one.tooltip or "", lambda a=one.action: _do(app, a, node))


def _do(app: PrlApp, action: str, node: Widget) -> None:
    app.call_later(app.run_action, action, node)


def _choose(app: PrlApp, screen: Screen[object], recipe: str, preset: str) -> None:
    from prl_tui.tui.screens.configure import ConfigureScreen

    if isinstance(screen, ConfigureScreen):
        screen.presets.choose(recipe, preset)
    else:
        app.session.choose(recipe, preset)
        app.action_go("configure")
