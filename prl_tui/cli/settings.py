"""recipes, presets, check, export: what needs no run."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.cli import sources
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.streams import needs_stdout, print_json, write_exact
from prl_tui.core import assess, checks, wordlist
from prl_tui.core.batch import Batch
from prl_tui.core.config import RunConfig, Source, nearest, resolve
from prl_tui.core.findings import Facts, Report
from prl_tui.core.recipe import Recipe
from prl_tui.core.value import replace
from prl_tui.core.values import show
from prl_tui.i18n import pad, t, visible
from prl_tui.lists import listed

if TYPE_CHECKING:
    from prl_tui.export.model import Format


def recipes(args: argparse.Namespace) -> int:
    """`prl-tui recipes`: the training programs, one a line."""
    if args.trust:
        from prl_tui.machine import paths, trust

        not_kept = trust.remember(paths.project_dir(paths.here()), args.trust == "yes")
        if not_kept:
            raise CommandError(not_kept, Exit.IMPOSSIBLE)
    found = sources.catalog()
    if args.json:
        listed = [_recipe_data(recipe) for recipe in found.recipes.values()]
        problems = [{"path": str(problem.path), "message": problem.message} for problem in found.problems]
        print_json({"recipes": listed, "problems": problems})
        return Exit.OK
    width = max((len(name) for name in found.recipes), default=0)
    for recipe in found.recipes.values():
        print(f"{recipe.name:<{width}}  {visible(str(recipe.data.title))}")
    return Exit.OK


def _recipe_data(recipe: Recipe) -> dict[str, object]:
    return {
        "name": recipe.name,
        "title": str(recipe.data.title),
        "help": str(recipe.data.help),
        "stack": recipe.data.stack,
        "launchers": list(recipe.data.program),
        "presets": list(recipe.presets),
        "origin": recipe.origin or "built-in",
    }


def presets(args: argparse.Namespace) -> int:
    """`prl-tui presets [RECIPE]`: every preset with its batch columns; one recipe's fields too."""
    found = sources.catalog()
    if args.name is not None and found.find(args.name.partition("/")[0]) is None:
        from prl_tui.core.config_file import no_source

        raise CommandError(no_source(args.name, found))
    chosen = [r for r in found.recipes.values() if args.name in (None, r.name) or args.name.startswith(f"{r.name}/")]
    rows = [_preset_row(recipe, name) for recipe in chosen for name in recipe.presets]
    if args.name and "/" in args.name:
        rows = [row for row in rows if row["preset"] == args.name]
        if not rows:
            from prl_tui.core.config_file import no_preset

            raise CommandError(no_preset(args.name.partition("/")[2], chosen[0].name, list(chosen[0].presets), found))
    if args.json:
        data: dict[str, object] = {"presets": rows}
        if args.name:
            config = resolve(chosen[0], args.name.partition("/")[2])
            data["fields"] = [_field_data(config, key) for key in chosen[0].by_key]
        print_json(data)
        return Exit.OK
    _print_presets(rows)
    if args.name:
        print()
        from prl_tui.cli import field_rows

        print("\n".join(field_rows.lines(resolve(chosen[0], args.name.partition("/")[2]))))
    return Exit.OK


def _with_files_here(config: RunConfig) -> Batch | None:
    if not config.recipe.data.write:
        return None
    from prl_tui.machine import given_files, paths

    return given_files.batch(config, paths.here())


def _preset_row(recipe: Recipe, name: str) -> dict[str, object]:
    config = resolve(recipe, name)
    batch = _with_files_here(config) or checks.check(config).batch
    return {
        "preset": f"{recipe.name}/{name}",
        "title": str(recipe.presets[name].title),
        "gpus": assess.gpus(config),
        "processes": config.number("nproc_per_node"),
        "per_device": batch.per_device,
        "generations": config.number("num_generations") if "num_generations" in recipe.by_key else None,
        "global_batch": batch.global_batch,
    }


def _print_presets(rows: list[dict[str, object]]) -> None:
    width = max((len(str(row["preset"])) for row in rows), default=0)
    columns = (
        (t("GPU"), "gpus"), (t("batch"), "per_device"), (t("gen"), "generations"), (t("all"), "global_batch"),
    )  # fmt: skip
    print(" " * width + "".join(pad(title, 7, right=True) for title, _ in columns))
    for row in rows:
        cells = "".join(f"{'–' if row[key] is None else row[key]:>7}" for _, key in columns)
        print(f"{row['preset']!s:<{width}}{cells}   {visible(str(row['title']))}")


def _field_data(config: RunConfig, key: str) -> dict[str, object]:
    field = config.recipe.by_key[key]
    return {
        "key": key,
        "type": field.type,
        "group": field.group,
        "label": str(field.label),
        "help": wordlist.about(field),
        "unit": str(field.unit),
        "default": field.default,
        "value": config.value(key),
        "min": field.min,
        "max": field.max,
        "multiple": field.multiple,
        "choices": list(field.choices),
        "flag": field.flag,
        "env": field.env,
        "variable": field.override,
    }


def check(args: argparse.Namespace) -> int:
    """`prl-tui check SOURCE`: the verdict; exit 1 when there is an error."""
    if args.probe and not args.here:
        raise CommandError(t("--probe tries the environment of this box: --here is needed with it."))
    report = verdict(sources.load(args), args)
    if args.probe:
        from prl_tui.cli import probing

        first = next((finding for finding in report.findings if finding.severity == "error"), None)
        if first is not None:
            print(t("not probed: {reason}", reason=visible(first.message)), file=sys.stderr)
        report = probing.probed(report)
    if args.json:
        from prl_tui.core import report_json

        print_json(report_json.as_data(report))
    else:
        print("\n".join(lines(report)))
    failed = not report.ok or (args.strict and report.count("warning"))
    return Exit.FINDINGS if failed else Exit.OK


def verdict(config: RunConfig, args: argparse.Namespace) -> Report:
    """The check that the options ask for."""
    stack = sources.stack(args)
    given = _given(config)
    rows = args.rows if args.rows is not None else _count_rows(_effective(config, given))
    if args.here:
        from prl_tui.cli import box

        return checks.check(config, box.facts_here(config, args.rows, args.use_env), stack)
    inherited = {}
    if args.use_env:
        from prl_tui.machine import facts

        inherited = facts.inherited(os.environ, overrides=True)
    facts_known = Facts(node_gpus=args.gpus, rows=rows, inherited=inherited, given=given, found=_found(config))
    return checks.check(config, facts_known, stack)


def _found(config: RunConfig) -> dict[str, tuple[str, ...]]:
    """What the config's patterns match here; nothing where the data lies elsewhere."""
    if not any(field.glob for field in config.recipe.fields):
        return {}
    from prl_tui.machine import facts, paths

    return {key: names for key, names in facts.matches(config, facts.base_of(config, paths.here())).items() if names}


def _effective(config: RunConfig, given: tuple[object, ...]) -> RunConfig:
    """The config with what its own file says."""
    if not given:
        return config
    from prl_tui.core.given import effective

    return effective(config, Facts(given=given))


def _given(config: RunConfig) -> tuple[object, ...]:
    """The person's own config files, where they lie here."""
    if not config.recipe.data.write:
        return ()
    from prl_tui.machine import facts, given_files, paths

    return given_files.look(config, facts.base_of(config, paths.here()))


def _count_rows(config: RunConfig) -> int | None:
    """The rows of the training data, where its files lie here."""
    from prl_tui.machine import paths

    keys = [key for key in config.recipe.data.batch.rows if key in config.settings]
    base = paths.expanded(str(config.value("workdir") or "")) if "workdir" in config.settings else Path()
    values = (config.value(key) for key in keys)
    names = [str(name) for value in values for name in (value if isinstance(value, tuple) else (value or "",))]
    if not any(paths.is_file(base / name) or "*" in name for name in names):
        return None
    from prl_tui.machine import rows

    return rows.training(config, paths.here())


def lines(report: Report) -> list[str]:
    """A verdict as text."""
    from prl_tui.core import words

    config = report.config
    name = f"{config.recipe.name}/{config.preset}" if config.preset else config.recipe.name
    out = [f"{name} · {report.stack.said}", *words.arithmetic(report)]
    if report.environment:
        out.insert(1, report.environment)
    if words.length(report):
        out += [line for line in (words.length(report), words.on_the_way(report)) if line]
    out += words.findings(report)
    out.append(words.verdict(report))
    return out


def export(args: argparse.Namespace) -> int:
    """`prl-tui export SOURCE --format FORMAT`: the text on stdout, or a file."""
    from prl_tui.core import plan as plans

    chosen = _format(args)
    told = _told(args, chosen)
    report = verdict(sources.load(args), args)
    if not report.ok:
        print("\n".join(lines(report)), file=sys.stderr)
        if not args.allow_errors:
            print(t("Nothing was exported. --allow-errors exports all the same."), file=sys.stderr)
            return Exit.FINDINGS
    plan = plans.build(_for_stack(report.config, args.stack))
    if args.supervised:
        chosen, told = _supervised(args, report.config)
    if refusal := chosen.refused(plan):
        raise CommandError(t("{place}: {words}", place=f"--format {args.format}", words=refusal))
    if args.output is None or args.output == "-":
        needs_stdout()
    exported = chosen(plan, **told)
    lost = [*exported.losses, *_stack_lost(report.config, args)]
    warned = _warnings(report)
    for told_once in (*warned, *lost):
        print(visible(f"! {told_once}"), file=sys.stderr)
    if args.json:
        print_json({"format": args.format, "text": exported.text, "executable": exported.executable, "losses": lost,
                    "warnings": warned})  # fmt: skip
        if args.output is None or args.output == "-":
            return Exit.OK
    elif args.output is None or args.output == "-":
        write_exact(exported.text.encode())
        return Exit.OK
    from prl_tui.cli.writing import write

    if not args.output:
        raise CommandError(t("-o is empty; the name of a file is needed, for example {example}.", example="job.sh"))
    return write(Path(args.output), exported.text, exported.executable, args.overwrite)


def _warnings(report: Report) -> list[str]:
    """What `check` warns of, a sentence each; nothing where the whole verdict has been told already."""
    return [one.message for one in report.findings if one.severity == "warning"] if report.ok else []


def _supervised(args: argparse.Namespace, config: RunConfig) -> tuple[Format, dict[str, str]]:
    """The script that prl-tui itself runs, and what it is told of the engine where the config has no field for that."""
    from prl_tui.export import supervised

    if args.format != "bash":
        raise CommandError(t("--supervised: only the format bash has it, not {format}.", format=args.format))
    return supervised.FORMAT, {"stack": args.stack or "" if "stack" not in config.settings else ""}


def _format(args: argparse.Namespace) -> Format:
    from prl_tui.export.formats import FORMATS

    names = listed(FORMATS)
    if args.format is None:
        raise CommandError(t("--format is needed, one of: {names}.", names=names))
    if args.format not in FORMATS:
        near = nearest(args.format, list(FORMATS)) or names
        raise CommandError(t("--format {name} is not known; {known} would work.", name=args.format, known=near))
    return FORMATS[args.format]


_TOLD = {
    "image": ("--image", re.compile(r"[^\s\x00-\x20]{1,500}"), "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"),
    "gpu_type": ("--gpu-type", re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII), "H100"),
}
"""Option, what its value may be, and one that works."""


def _told(args: argparse.Namespace, chosen: Format) -> dict[str, str]:
    """What the options say of the platform, where the format has a place for it."""
    from prl_tui.core import secrets
    from prl_tui.export.formats import FORMATS

    found = {}
    for name, (option, shape, works) in _TOLD.items():
        value = getattr(args, name)
        if value is None:
            continue
        if name not in chosen.asks:
            others = listed(one.name for one in FORMATS.values() if name in one.asks)
            raise CommandError(t("{option}: the format {format} has no place for it; {others} would have.",
                                 option=option, format=chosen.name, others=others))  # fmt: skip
        if not shape.fullmatch(value):
            raise CommandError(t("{option} {value}: this cannot be one; {works} would work.",
                                 option=option, value=value, works=works))  # fmt: skip
        if secrets.looks_secret(value):
            raise CommandError(t("{option} holds a secret, which no file keeps.", option=option))
        found[name] = value
    return found


def _for_stack(config: RunConfig, stack: str | None) -> RunConfig:
    """The config whose file checks by the stack that this command checked by."""
    if not stack:
        return config
    if "stack" in config.settings:
        return config.with_values({"stack": stack}, Source.SET)
    return replace(config, recipe=config.recipe.on_stack(stack))


def _stack_lost(config: RunConfig, args: argparse.Namespace) -> Iterator[str]:
    """What is said where the file has no place for the stack that was named."""
    if args.stack and args.format == "toml" and "stack" not in config.settings:
        yield t(
            "--stack {name} is not in this file, since {recipe} has no such field: give it with the file again.",
            name=args.stack, recipe=config.recipe.name,
        )  # fmt: skip


__all__ = ["check", "export", "lines", "presets", "recipes", "show", "verdict"]
