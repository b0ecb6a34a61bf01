"""From a run back to the form: its settings, or those of the full run that a smoke test stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prl_tui.core.config import RunConfig, resolve
from prl_tui.i18n import t
from prl_tui.runs import plans, smoke

if TYPE_CHECKING:
    from prl_tui.runs.overview import Overview
    from prl_tui.runs.records import Broken
    from prl_tui.tui.app import PrlApp


def open_in_form(app: PrlApp, one: Overview) -> None:
    """The run's own settings."""

    def then(info: dict[str, object] | Broken | None) -> None:
        config = _config(app, one, info)
        if config is not None:
            app.session.load(config, one.folder.path)
            app.action_go("configure")

    _read(app, one, then)


def promote(app: PrlApp, one: Overview) -> None:
    """The full run's settings in the form, ready for a launch; only a passed smoke test has them."""
    if one.smoke is None:
        app.tell(t("This run is no smoke test that has ended."))
        return
    if not one.smoke.passed:
        app.tell(one.smoke.words(), "warning")
        return

    def then(info: dict[str, object] | Broken | None) -> None:
        config = _config(app, one, info)
        full = smoke.promoted(info, config) if config is not None else None
        if full is not None:
            app.session.load(full, one.folder.path)
            app.action_go("configure")
            app.tell(t("The full run, with nothing else changed: l launches it."))

    _read(app, one, then)


def _read(app: PrlApp, one: Overview, then: Callable[[dict[str, object] | Broken | None], None]) -> None:
    """The run's record, beside the screen; it counts for nothing where somebody went elsewhere meanwhile."""
    asked = app.screen

    def known(info: dict[str, object] | Broken | None) -> None:
        if app.screen is asked:
            then(info)

    awaited = t("Looking at run {id} …", id=one.id)
    app.beside.do(f"settings {one.id}", one.folder.info, known, awaited=awaited, holds_keys=True)


def _config(app: PrlApp, one: Overview, info: dict[str, object] | Broken | None) -> RunConfig | None:
    recipe = app.catalog.find(one.recipe) if one.recipe else None
    if recipe is None or not isinstance(info, dict):
        app.tell(t("This run's recipe is not known here."), "warning")
        return None
    return plans.config_of(info, resolve(recipe, one.preset if one.preset in recipe.presets else ""))
