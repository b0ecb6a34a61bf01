"""SOURCE on a command line to a run config: a TOML file, RECIPE/PRESET, RECIPE alone, or a run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from prl_tui.cli.exits import CommandError, Exit
from prl_tui.core import catalog as catalogs
from prl_tui.core import stacks
from prl_tui.core.catalog import Catalog
from prl_tui.core.config import RunConfig, Source, find_key, from_environment, resolve
from prl_tui.core.values import cut
from prl_tui.i18n import t
from prl_tui.machine import paths


def catalog(only: str | None = None, quiet: bool = False) -> Catalog:
    """The built-in recipes and a person's own; what was skipped is said on stderr."""
    from prl_tui.cli import project

    found = catalogs.load(project.folders(ask=not quiet), only, paths.cache_dir() / "recipes")
    if not quiet:
        for problem in found.problems:
            print(t("skipped: {problem}", problem=problem.message), file=sys.stderr)
    return found


def load(args: argparse.Namespace) -> RunConfig:
    """The run config that `args` names, with --use-env, --set and --unset laid over it."""
    config = _base(args.source)
    if getattr(args, "use_env", False):
        config = from_environment(config, os.environ)
    return change(config, args.set or [], args.unset or [])


def stack(args: argparse.Namespace) -> str:
    """The generation of the engine that --stack names, or ""; CommandError for one that there is not."""
    name: str = args.stack or ""
    if name and name not in stacks.STACKS:
        raise CommandError(t("--stack: {reason}.", reason=stacks.unknown(name)))
    return name


def change(config: RunConfig, sets: list[str], unsets: list[str]) -> RunConfig:
    """The config with KEY=VALUE texts laid over it; CommandError for a key that it does not have."""
    changes: dict[str, object] = {}
    strange: list[str] = []
    for text in sets:
        name, equals, value = text.partition("=")
        if not equals:
            from prl_tui.core import secrets

            shown = secrets.hidden_text(text)
            raise CommandError(t("--set {text}: KEY=VALUE is needed, for example num_generations=4.", text=shown))
        changes[_key(config, name.strip(), "--set", strange)] = value
    for name in unsets:
        key = _key(config, name.strip(), "--unset", strange)
        if key in config.settings and changes.get(key) is not None:
            raise CommandError(t("--set and --unset both name {key}; keep one of them.", key=key))
        changes[key] = None
    if strange:
        from prl_tui.core import mistakes

        first, *more = mistakes.few(strange)
        raise CommandError(first, more=more)
    return config.with_values(changes, Source.SET)


def _key(config: RunConfig, name: str, option: str, strange: list[str]) -> str:
    """The field of that name; for one that is not there a sentence goes into `strange`."""
    if not name:
        raise CommandError(t("{option}: the name of the field is empty; {example} would work.",
                             option=option, example="num_generations=4" if option == "--set" else "seed"))  # fmt: skip
    key = find_key(config.recipe, name)
    if key is None:
        from prl_tui.core import config_file

        told = t("{place}: {words}", place=f"{option} {cut(name)}", words=config_file.no_field(config, name))
        strange.append(told)
        return name
    return key


def _base(source: str) -> RunConfig:
    name, slash, preset = source.partition("/")
    if not source.strip():
        raise CommandError(t("SOURCE is empty; prl-grpo/standard-4gpu would work."))
    found = catalog(only=name) if _plain(name) else catalog()
    recipe = found.find(name)
    if recipe is not None and (preset in recipe.presets or not (slash or paths.is_file(source))):
        return resolve(recipe, preset)
    from prl_tui.core import config_file

    if source.endswith(".toml") or _exists(source):
        try:
            config = config_file.read(Path(source), catalog(quiet=True), paths.config_dir())
        except ValueError as error:
            first, *more = getattr(error, "sentences", (str(error),))
            raise CommandError(first, more=more) from None
        if config_file.edited(Path(source)):
            print(t("{path} was changed by hand after its export.", path=source), file=sys.stderr)
        return config
    if recipe is not None:
        raise CommandError(config_file.no_preset(preset, name, list(recipe.presets), catalog(quiet=True)))
    run = _from_run(source)
    if run is not None:
        return run
    raise CommandError(_nothing(source, name))


def _exists(source: str) -> bool:
    """Something lies at that path, even where we may not look at it."""
    try:
        return os.path.lexists(source)
    except ValueError:  # a NUL
        return False


def _plain(name: str) -> bool:
    return 0 < len(name) <= 100 and all(c.isalnum() or c in "-_." for c in name) and not name.startswith(".")


def _from_run(source: str) -> RunConfig | None:
    """The config of a run, by id, unique prefix or `last`."""
    from prl_tui.runs import plans, store
    from prl_tui.runs.folder import RunFolder, explain
    from prl_tui.runs.records import Broken

    folder = store.find(paths.runs_dir(), source)
    info = folder.info() if isinstance(folder, RunFolder) else None
    if isinstance(folder, RunFolder) and isinstance(info, Broken):
        raise CommandError(t("run {id}: {words}", id=folder.id, words=f"{explain(info)}."))
    if not isinstance(info, dict):
        return None
    recipe = catalog(quiet=True).find(str(info.get("recipe")))
    if recipe is None:
        return None
    preset = info.get("preset")
    base = resolve(recipe, preset if isinstance(preset, str) and preset in recipe.presets else "")
    return plans.config_of(info, base)


def _nothing(source: str, name: str) -> str:
    from prl_tui.core import secrets

    source, name = secrets.hidden_text(source), secrets.hidden_text(name)
    shown = source if len(source) <= 80 else source[:77] + "…"
    if os.sep in source and not _plain(name):
        return t("{source}: there is no such file, recipe or run.", source=shown)
    from prl_tui.core import config_file

    found = catalog(quiet=True)
    reason = config_file.no_source(source, found) if _plain(name) else config_file.no_recipe(shown, found)
    return t("{source} is neither a file, a recipe nor a run: {reason}", source=shown, reason=reason)


NO_RUN = Exit.NO_RUN
