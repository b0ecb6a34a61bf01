"""Findings about files that a run needs and this box does not have: which field asks for each, and why."""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core import hub_paths, values
from prl_tui.core.config import RunConfig, fill, template_keys
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.i18n import t


def findings(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """An error for each file that the recipe needs, and for each path that a hub field names."""
    for path in facts.missing_files:
        yield _needed(config, path, facts)
    for key, sentences in facts.odd_paths.items():
        for sentence in sentences:
            yield Finding("file-odd", "error", key, sentence)
    for key, names in facts.missing_values.items():
        whole = facts.cut_paths.get(key)
        fixes: tuple[Fix, ...] = ()
        if whole is not None:
            typed = values.show(config.recipe.by_key[key], whole)
            fixes = (Fix({key: typed}, t("quote it: {value}", value=typed)),)
        for name in names:
            if name not in facts.missing_files:
                yield Finding("file-missing", "error", key, t("{path} does not exist.", path=name), _why(name), fixes)


def addresses(config: RunConfig) -> Iterator[Finding]:
    """An error for each web address where a path or a name on a hub belongs: ms-swift reads `https` as a data set's name."""
    for key in config.recipe.data.hub:
        value = None if config.follows(key) else config.value(key)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str) and hub_paths.is_address(item):
                message = t("{path} is a web address; the path of a file or a name on a hub is needed.", path=item)
                yield Finding("file-address", "error", key, message, _fetched(item))


def no_file(key: str, address: str) -> Finding:
    """A web address where only a file can stand."""
    message = t("{path} is a web address; the path of a file is needed.", path=address)
    return Finding("file-address", "error", key, message, _fetched(address))


def _fetched(address: str) -> str:
    """What to do about a web address."""
    name = address.partition("#")[0].partition("?")[0].rpartition("/")[2] or "data.jsonl"
    return t(
        "The program fetches nothing from there: download it first and give its path, such as {path}.", path=f"./{name}"
    )


def _why(name: str) -> str:
    if name.startswith("/"):
        return ""
    return t("A relative path starts in the working directory.") if not name.startswith("~/") else ""


def _needed(config: RunConfig, path: str, facts: Facts) -> Finding:
    data = config.recipe.data
    message = t("{path} does not exist.", path=path)
    if data.write:
        from prl_tui.core import given, write_instead

        for template, name in given.wanted(config):
            if name == path:
                ways_out = write_instead.ways_out(config, template, facts)
                return Finding("file-missing", "error", template.key, message, "", ways_out)
    asking = [entry for entry in data.files if fill(fill(entry, config), config) == path]
    why = next((str(data.reasons[entry]) for entry in asking if entry in data.reasons), "")
    field = next((key for entry in asking for key in template_keys(entry) if key in config.settings), "")
    return no_file(field, path) if hub_paths.is_address(path) else Finding("file-missing", "error", field, message, why)
