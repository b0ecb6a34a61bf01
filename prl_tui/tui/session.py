"""What the configure screen works on: a run config, its verdict, and a way back. Knows no widget."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.value import replace

if TYPE_CHECKING:
    from prl_tui.core.catalog import Catalog
    from prl_tui.core.findings import Facts, Finding, Fix, Report
    from prl_tui.core.plan import LaunchPlan
    from prl_tui.core.recipe import Recipe
    from prl_tui.core.stacks import Stack
    from prl_tui.tui.launching import Probe

DEPTH = 200
"""Changes that can be undone."""

NOT_OF_THE_CONFIG: Mapping[str, Any] = {
    "node_gpus": None, "node_uuids": None, "gpus": None, "port_owner": None, "missing_files": (), "missing_values": {}, "cut_paths": {},
    "found": {}, "no_folder": "", "odd_paths": {},
    "environment": "", "no_environment": "", "silent_environment": "", "no_launcher": "",
}  # fmt: skip
"""What of this box stands against a launch here, and says nothing about the config."""


def _checked(config: RunConfig, facts: Facts | None = None) -> Report:
    """The check; where it fails itself, an error that says so: what a person has typed outlives one verdict."""
    from prl_tui.core import checks  # the first frame shows no verdict, and waits for none of the rules
    from prl_tui.core.findings import Facts, Finding

    try:
        return checks.check(config, facts or Facts())
    except Exception as fault:
        from prl_tui.machine import crash

        told = crash.record(fault)
        return replace(checks.check(config.baseline()), config=config, findings=(Finding("fault", "error", "", told),))


class Verdict:
    """A config with what the checks say of it, for any platform and for this box."""

    def __init__(
        self, config: RunConfig, facts: Facts | None, probed: tuple[Finding, ...] = (), looking: bool = False
    ) -> None:
        self.config = config
        self.facts = facts
        """What this box is like; None while that is not known yet."""
        self.probed = probed
        """What the probe in the training environment found."""
        self.looking = looking
        """Whether this box is still being looked at: more may stand against a launch than is known."""

    @cached_property
    def report(self) -> Report:
        """The config alone, since it may be bound for a platform; with its data and engine as far as they are known."""
        if self.facts is None:
            return _checked(self.config)
        return _checked(self.config, replace(self.facts, **NOT_OF_THE_CONFIG))

    @property
    def here(self) -> tuple[Finding, ...]:
        """What stands against a launch on this box, beyond the config's own findings; the probe's too."""
        return (*self.on_box, *self.probed)

    @cached_property
    def on_box(self) -> tuple[Finding, ...]:
        """What this box says, without a probe."""
        if self.facts is None:
            return ()
        known = {(finding.code, finding.message) for finding in self.report.findings}
        found = _checked(self.config, self.facts).findings
        return tuple(finding for finding in found if (finding.code, finding.message) not in known)

    @property
    def absent(self) -> list[str]:
        """Packages of the engine that the training environment here lacks: a warning, and a launch's probe fails by it."""
        from prl_tui.core import engine

        return engine.absent(self.config, self.facts) if self.facts is not None else []

    @cached_property
    def plan(self) -> LaunchPlan:
        """What will run."""
        from prl_tui.core import plan as plans

        return plans.build(self.config)

    @property
    def first_fix(self) -> Fix | None:
        """The fix that one key applies."""
        if self.report.first_fix is not None:
            return self.report.first_fix
        return next((finding.fixes[0] for finding in self.here if finding.fixes), None)

    @property
    def can_launch(self) -> bool:
        """No error, neither of the config nor of this box."""
        return self.report.ok and not any(finding.severity == "error" for finding in self.here)


class Session:
    """The config that a person edits. Each change makes a new config; the old ones can be had back."""

    def __init__(self, catalog: Catalog, config: RunConfig) -> None:
        self.catalog = catalog
        self.config = config
        self._facts: tuple[Recipe, Facts] | None = None
        self._probe: Probe | None = None
        self._back: list[tuple[RunConfig, str]] = []
        self._forth: list[tuple[RunConfig, RunConfig]] = []
        """What was undone, the last one last, each behind the config from which it can be had again."""
        self._verdict: Verdict | None = None
        self.looking = False
        """Whether the facts are not yet those of the config as it is now."""
        self._kept: dict[Path, RunConfig] = {}
        """What a run's folder and an exported file have."""

    @classmethod
    def begin(cls, catalog: Catalog, recipe: str = "", preset: str = "") -> Session:
        """A session on a preset: the one named, else the first recipe's own."""
        chosen = catalog.find(recipe) or next(iter(catalog.recipes.values()))
        return cls(catalog, resolve(chosen, preset or chosen.data.default_preset or next(iter(chosen.presets), "")))

    @property
    def facts(self) -> Facts | None:
        """What this box knows of the recipe; what it knew of another recipe's files and fields says nothing."""
        return self._facts[1] if self._facts is not None and self._facts[0] is self.config.recipe else None

    @facts.setter
    def facts(self, facts: Facts) -> None:
        self._facts = (self.config.recipe, facts)

    @property
    def stack(self) -> Stack:
        """The generation of the engine whose rules hold, without the verdict."""
        from prl_tui.core import stacks

        return stacks.of(self.config, probed=self.facts.stack if self.facts is not None else "")

    @property
    def verdict(self) -> Verdict:
        """The verdict on the config as it is now."""
        was = self._verdict
        if was is None or was.config is not self.config or was.facts is not self.facts or was.looking != self.looking:
            probe = self.probe
            found = (probe.findings if probe else None) or ()
            was = self._verdict = Verdict(self.config, self.facts, found, self.looking)
        return was

    @property
    def probe(self) -> Probe | None:
        """The probe of the config as it is now; one of another config says nothing."""
        return self._probe if self._probe is not None and self._probe.config is self.config else None

    def begin_probe(self, probe: Probe) -> None:
        """A probe runs; its findings take the place of an earlier one's. One of another config ends."""
        if self._probe is not None:
            self._probe.cancelled.set()
        self._probe, self._verdict = probe, None

    def probe_ended(self) -> None:
        """Its findings belong to the verdict from now on."""
        self._verdict = None

    def choose(self, recipe: str, preset: str) -> None:
        """Start from a preset."""
        self._put(resolve(self.catalog.recipes[recipe], preset), "")

    @property
    def unkept(self) -> tuple[str, ...]:
        """The fields that differ from the preset where no run and no exported file has the config: else lost."""
        if any(_means_the_same(self.config, kept) for kept in self._kept.values()):
            return ()
        return self.config.changed()

    def keep(self, config: RunConfig, place: Path) -> None:
        """A run's folder or an exported file has this config from now on."""
        self._kept[place] = config

    def forget(self, place: Path) -> None:
        """A run's folder is gone."""
        self._kept.pop(place, None)

    def set_text(self, key: str, text: str) -> None:
        """What a person types into a field; an empty text unsets it. Typing on in one field is one step back.

        A text that says what stood there before leaves it as it was, with where it came from.
        """
        raw = None if text == "" else text
        if not self._has(key):
            return
        before = self._back[-1][0] if self._types_on(key) else self.config
        typed = self.config.with_values({key: raw}, Source.FORM)
        self._put(before if _says_the_same(typed, before, key) else typed, key)

    def _has(self, *keys: str) -> bool:
        """Whether these are fields: a key or a click may come late, from the form of the recipe before."""
        return all(key in self.config.settings for key in keys)

    def reset(self, key: str) -> None:
        """The preset's value again."""
        if not self._has(key):
            return
        settings = {**self.config.settings, key: self.config.baseline().settings[key]}
        self._put(RunConfig(self.config.recipe, self.config.preset, settings), "")

    def apply(self, changes: Mapping[str, Any]) -> None:
        """A fix."""
        if self._has(*changes):
            self._put(self.config.with_values(changes, Source.FIX), "")

    def load(self, config: RunConfig, place: Path | None = None) -> None:
        """Another config altogether; `place`: the run's folder that has it."""
        self._put(config, "")
        if place is not None:
            self.keep(config, place)

    def cancel_typing(self, key: str) -> None:
        """What was there before the typing in a field began, as if nobody had typed."""
        if self._back and self._back[-1][1] == key:
            self.config, _ = self._back.pop()

    def undo(self) -> bool:
        """One change back; False when there is none."""
        if not self._back:
            return False
        undone = self.config
        if not self._can_redo:
            self._forth.clear()
        self.config, _ = self._back.pop()
        self._forth.append((self.config, undone))
        return True

    @property
    def _can_redo(self) -> bool:
        """No change came after the last undo; typing that was given up is none."""
        return bool(self._forth) and self._forth[-1][0] is self.config

    def redo(self) -> bool:
        """What was undone last, again; False when there is nothing of it."""
        if not self._can_redo:
            return False
        self._back.append((self.config, ""))
        _, self.config = self._forth.pop()
        return True

    def _types_on(self, key: str) -> bool:
        """The last step is the typing in this field, and goes on."""
        return bool(key and self._back and self._back[-1][1] == key)

    def _put(self, config: RunConfig, key: str) -> None:
        """Take a config; one step back leads to the one before, where they differ at all."""
        if self._types_on(key):
            self.config = config
        elif not _same(config, self.config):
            self._back.append((self.config, key))
            del self._back[:-DEPTH]
            self.config = config

    def finish_typing(self) -> None:
        """The next change of the same field is a step of its own; typing that came to nothing was none."""
        if not self._back or not self._back[-1][1]:
            return
        before, _ = self._back.pop()
        if before is not self.config:
            self._back.append((before, ""))


def _says_the_same(one: RunConfig, other: RunConfig, key: str) -> bool:
    """A field is alike in two configs for whoever reads it, wherever each value came from."""
    now, then = one.settings[key], other.settings[key]
    return (now.value, now.problem) == (then.value, then.problem) and one.text(key) == other.text(key)


def _means_the_same(one: RunConfig, other: RunConfig) -> bool:
    """No field says something else in one than in the other, wherever the values came from."""
    return one.recipe is other.recipe and not any(one.differs(key, other) for key in one.settings)


def _same(one: RunConfig, other: RunConfig) -> bool:
    """Nothing tells two configs apart, the origins of their values included."""
    return one is other or (
        one.recipe is other.recipe and one.preset == other.preset and one.settings == other.settings
    )
