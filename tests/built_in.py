"""The built-in recipes, read once for all tests: sixty modules read them each, seconds of every worker's start."""

from __future__ import annotations

from prl_tui.core import catalog

CATALOG = catalog.load()
RECIPES = CATALOG.recipes
