"""What differs between two runs: settings, code, packages, host, environment. From what each wrote down at its start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prl_tui.i18n import nt, t
from prl_tui.lists import listed
from prl_tui.runs import smoke, snapshot, store
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.state import ALIVE

if TYPE_CHECKING:
    from prl_tui.runs.overview import Overview

PARTS = ("settings", "code", "packages", "host", "environment")
_SOURCE_CODE = (".py", ".sh", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".cu", ".cuh", ".cpp", ".cc", ".c", ".h")
"""Untracked files that count: a run's own outputs often lie in the repository too."""
_EACH_TIME = (
    "PWD", "OLDPWD", "SHLVL", "TERM", "COLORTERM", "COLUMNS", "LINES", "SSH_", "TMUX", "STY", "WINDOW", "XDG_SESSION",
    "XDG_RUNTIME", "DBUS_", "DISPLAY", "WINDOWID", "VTE_", "INVOCATION_ID", "JOURNAL_STREAM", "PYTEST_", "HOSTNAME",
    "SLURM_", "COLUMNS", "LESS", "PET_LOG_DIR", "MASTER_PORT", "FAKE_NVML_STATE", "PRL_TUI_",
)  # fmt: skip
"""How variables begin that are others in each session, whatever runs there."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is not the same."""

    key: str
    before: str | None
    """None where it was not there."""
    after: str | None

    def words(self) -> str:
        """`num_generations 3 → 2`."""
        return f"{self.key} {_shown(self.before)} → {_shown(self.after)}"


@dataclass(frozen=True, slots=True)
class Changes:
    """All that differs between two runs."""

    before: str
    """The earlier run's id."""
    after: str
    parts: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)
    """Each of `PARTS` that could be compared."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """The others, and why they could not."""

    @property
    def count(self) -> int:
        """How many things differ."""
        return sum(map(len, self.parts.values()))

    def short(self, most: int = 3) -> str:
        """One line: `since run 7f3a1c: num_generations 3 → 2, trl 0.17 → 0.18, 4 more`."""
        if not self.count:
            told = t("nothing changed since run {id}", id=self.before)
            if not self.unknown:
                return told
            names = listed(part_word(part) for part in PARTS if part in self.unknown)
            return t("{told}; not known: {parts}", told=told, parts=names)
        return t("since run {id}: {changes}", id=self.before, changes=self.brief(most))

    def brief(self, most: int = 2) -> str:
        """What changed alone: `num_generations 3 → 2, 4 more`; "" for nothing."""
        found = [change.words() for part in PARTS for change in self.parts.get(part, ())]
        more = len(found) - most
        if more > 0:
            found = [*found[:most], nt("{n} more", "{n} more", more)]
        return listed(found)


def part_word(part: str) -> str:
    """A part's name for a person."""
    return {
        "settings": t("settings"),
        "code": t("code"),
        "packages": t("packages"),
        "host": t("host"),
        "environment": t("environment"),
    }[part]


def between(before: RunFolder, after: RunFolder) -> Changes:
    """What differs between two runs. Never raises; what was not written down is `unknown`."""
    parts: dict[str, tuple[Change, ...]] = {}
    unknown: dict[str, str] = {}
    infos = [_record(folder.info()) for folder in (before, after)]
    if all(infos):
        parts["settings"] = _settings(infos[0], infos[1])
    else:
        unknown["settings"] = t("a run's record cannot be read")
    shots = [_record(snapshot.read(folder)) for folder in (before, after)]
    for part, compare in _COMPARE.items():
        missing = [folder.id for folder, shot in zip((before, after), shots, strict=True) if not _has(shot, part)]
        if missing:
            unknown[part] = t("run {id} has no record of it", id=missing[0])
        else:
            parts[part] = compare(shots[0], shots[1])
    return Changes(before.id, after.id, parts, unknown)


def previous(root: Path, folder: RunFolder) -> RunFolder | None:
    """The newest earlier run of the same recipe, a smoke test only before another one; None without one."""
    mine = _record(folder.info())
    recipe = mine.get("recipe")
    runs = store.list_runs(root)
    at = next((n for n, one in enumerate(runs) if one.id == folder.id), len(runs))
    for one in runs[at + 1 :]:
        record = _record(one.info())
        if recipe and record.get("recipe") == recipe and (smoke.KEY in mine or smoke.KEY not in record):
            return one
    return None


def since_last(root: Path, folder: RunFolder) -> Changes | None:
    """What changed since the last run of the same recipe; None for its first."""
    before = previous(root, folder)
    return between(before, folder) if before is not None else None


class Memory:
    """What changed in each run of a list since the recipe's run before it; each pair is compared once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Changes] = {}

    def of(self, runs: Sequence[Overview]) -> dict[str, Changes]:
        """By id; `runs` are newest first. A recipe's first run of them has none."""
        found: dict[str, Changes] = {}
        last: dict[tuple[str, bool], RunFolder] = {}
        for one in reversed(runs):
            if not one.recipe:
                continue
            before = last.get((one.recipe, one.smoke_test))
            if before is not None:
                found[one.id] = self._between(before, one)
            last[one.recipe, True] = one.folder
            if not one.smoke_test:
                last[one.recipe, False] = one.folder
        self._known = {key: one for key, one in self._known.items() if key[1] in found}
        return found

    def _between(self, before: RunFolder, one: Overview) -> Changes:
        key = before.id, one.id
        known = self._known.get(key)
        if known is None:
            known = between(before, one.folder)
            if not known.unknown or one.status.state not in ALIVE:  # a young run is still being written down
                self._known[key] = known
        return known


def lines(found: Changes) -> list[str]:
    """Each part with what differs in it; those that are the same, and those that are not known, in a line each."""
    told = []
    for part in PARTS:
        changed = found.parts.get(part, ())
        if changed:
            told.append(part_word(part))
            told += [f"  {change.words()}" for change in changed]
    same = [part_word(part) for part in PARTS if part in found.parts and not found.parts[part]]
    if same:
        told.append(t("the same: {parts}", parts=listed(same)))
    told += [
        t("not known: {part}: {reason}", part=part_word(part), reason=reason) for part, reason in found.unknown.items()
    ]
    return told


def as_data(changes: Changes) -> dict[str, Any]:
    """The contract of `compare --json`."""
    return {
        "before": changes.before,
        "after": changes.after,
        **{
            part: [{"key": one.key, "before": one.before, "after": one.after} for one in changes.parts[part]]
            if part in changes.parts
            else None
            for part in PARTS
        },
        "unknown": dict(changes.unknown),
    }


def _record(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _has(shot: Mapping[str, Any], part: str) -> bool:
    found = shot.get(part)
    return isinstance(found, (dict, list)) and not (part == "packages" and _record(found).get("problem"))


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    own = [Change(key, _text(before.get(key)), _text(after.get(key))) for key in ("recipe", "preset", "cwd")]
    changed = tuple(one for one in own if one.before != one.after)
    values = _different(_record(before.get("values")), _record(after.get("values")))
    if not before.get("recipe") and not after.get("recipe"):  # runs of no recipe: the command is all that is known
        values += _different({"argv": before.get("argv")}, {"argv": after.get("argv")})
    return changed + values


def _code(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    old, new = (_by_root(shot.get("code")) for shot in (before, after))
    found: list[Change] = []
    for root in dict.fromkeys([*old, *new]):
        found += _repository(root, _record(old.get(root)), _record(new.get(root)))
    files = [_record(shot.get("program")) for shot in (before, after)]
    outside = [{k: v for k, v in one.items() if not any(Path(k).is_relative_to(root) for root in new)} for one in files]
    return (*found, *_different(outside[0], outside[1]))


def _by_root(code: object) -> dict[str, Any]:
    return {str(one.get("root")): one for one in code if isinstance(one, dict)} if isinstance(code, list) else {}


def _repository(root: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    name = Path(root).name or root
    both = (
        Change(t("{repository}: commit", repository=name), _commit(old), _commit(new)),
        Change(t("{repository}: uncommitted changes", repository=name), _dirty(old), _dirty(new)),
    )
    found = [one for one in both if one.before != one.after]  # no checkout has no changes, as a clean one
    loose = [
        {f"{name}/{file}": text for file, text in _record(one.get("untracked")).items() if file.endswith(_SOURCE_CODE)}
        for one in (old, new)
    ]
    return [*found, *_different(loose[0], loose[1])]


def _commit(one: Mapping[str, Any]) -> str | None:
    return str(one["commit"])[:12] if one.get("commit") else None


def _dirty(one: Mapping[str, Any]) -> str | None:
    """`train.py, data.py (3f2a…)`: the hash tells two states of the same files apart."""
    files = [str(file) for file in one.get("dirty") or ()]
    if not files:
        return None
    more = f" +{len(files) - 3}" if len(files) > 3 else ""
    return f"{', '.join(files[:3])}{more} ({str(one.get('diff_sha256'))[:6]})"


def _packages(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    old, new = _record(before.get("packages")), _record(after.get("packages"))
    own = _different(*({key: one.get(key) for key in ("interpreter", "python")} for one in (old, new)))
    return own + _different(_record(old.get("versions")), _record(new.get("versions")))


def _host(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    keys = ("name", "kernel", "machine", "cpus", "memory", "user")
    old, new = ({key: _record(one.get("host")).get(key) for key in keys} for one in (before, after))
    cards = [_record(one.get("gpus")) for one in (before, after)]
    if all(cards):  # the names of the cards come last, and not at all from a driver that hangs
        for one, card in zip((old, new), cards, strict=True):
            one |= {"driver": card.get("driver"), "cuda": card.get("cuda"), "GPUs": _cards(card)}
    return _different(old, new)


def _cards(gpus: Mapping[str, Any]) -> str | None:
    names = [str(one.get("name")) for one in gpus.get("list") or () if isinstance(one, dict)]
    return ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) or None


def _environment(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    old, new = _record(before.get("environment")), _record(after.get("environment"))
    lasting = [{k: v for k, v in one.items() if not k.startswith(_EACH_TIME)} for one in (old, new)]
    return _different(lasting[0], lasting[1])


_COMPARE = {"code": _code, "packages": _packages, "host": _host, "environment": _environment}


def _different(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    keys = dict.fromkeys([*old, *new])
    both = ((key, _text(old.get(key)), _text(new.get(key))) for key in keys)
    return tuple(Change(key, before, after) for key, before, after in both if before != after)


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return None if value is None else str(value)


def _shown(value: str | None) -> str:
    if value is None:
        return "–"
    return value if len(value) <= 60 else f"{value[:59]}…"
