"""From the tables of a recipe's TOML file, once their shape is checked, to its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prl_tui.core import templates
from prl_tui.core.recipe import EMPTY, Anchor, Batch, Field, Need, Outputs, Preset, Program, RecipeFile, Smoke, Text


def text_of(table: Mapping[str, Any] | None) -> Text:
    """A sentence in both languages from its table."""
    return Text(**table) if table else EMPTY


def field_of(table: Mapping[str, Any]) -> Field:
    """A field from its table, which has been shape-checked."""
    found = dict(table)
    for name in ("label", "help", "unit"):
        if name in found:
            found[name] = text_of(found[name])
    for name in ("choices", "words", "only_with"):
        if name in found:
            found[name] = tuple(found[name])
    return Field(**found)


def preset_of(table: Mapping[str, Any]) -> Preset:
    """A preset from its table, which has been shape-checked."""
    return Preset(table["values"], text_of(table.get("title")), text_of(table.get("help")))


def need_of(table: Mapping[str, Any]) -> Need:
    """What one field needs because of others, from its table, which has been shape-checked."""
    lists = {name: tuple(table[name]) for name in ("values", "instead") if name in table}
    return Need(**{**table, **lists, "why": text_of(table["why"])})


def outputs_of(table: Mapping[str, Any]) -> Outputs:
    """Output shapes from their table, which has been shape-checked."""
    anchors = tuple(Anchor(**anchor) for anchor in table.get("anchors", ()))
    lists = {name: tuple(table[name]) for name in ("bars", "curves", "metric_lines", "failures") if name in table}
    return Outputs(anchors=anchors, **lists)


def smoke_of(table: Mapping[str, Any]) -> Smoke:
    """What makes a run short, from its table, which has been shape-checked."""
    lists = {name: tuple(table[name]) for name in ("rows", "cut") if name in table}
    return Smoke(**{**table, **lists})


def recipe_file_of(table: Mapping[str, Any]) -> RecipeFile:
    """A recipe file from its table, which has been shape-checked."""
    found = dict(table)
    found["title"], found["help"] = text_of(found["title"]), text_of(found.get("help"))
    found["program"] = {
        launcher: Program(**{**program, "command": tuple(program.get("command", ()))})
        for launcher, program in found["program"].items()
    }
    found["field"] = tuple(field_of(field) for field in found.get("field", ()))
    found["presets"] = {name: preset_of(preset) for name, preset in found.get("presets", {}).items()}
    batch = dict(found.get("batch", {}))
    lists = {name: tuple(batch[name]) for name in ("rows", "validation") if name in batch}
    found["batch"] = Batch(**{**batch, **lists})
    found["outputs"] = outputs_of(found.get("outputs", {}))
    found["needs"] = tuple(need_of(one) for one in found.get("needs", ()))
    found["write"] = tuple(templates.template_of(one) for one in found.get("write", ()))
    found["smoke"] = smoke_of(found.get("smoke", {}))
    found["reasons"] = {entry: text_of(reason) for entry, reason in found.get("reasons", {}).items()}
    for name in ("arguments", "shared", "files", "hub"):
        if name in found:
            found[name] = tuple(found[name])
    return RecipeFile(**found)
