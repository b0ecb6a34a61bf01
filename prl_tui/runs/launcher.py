"""Starts a run: makes its folder, hands the order to a supervisor, and says at once why a program cannot start."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from prl_tui import atomic, reasons
from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.machine import paths, session_end
from prl_tui.runs import claims, lock, records, spawn, store
from prl_tui.runs.ahead import Ahead
from prl_tui.runs.folder import RunFolder, last_word
from prl_tui.runs.foreground import Answer, Caught, Stay
from prl_tui.runs.place import here
from prl_tui.runs.stop import Grace, stop

__all__ = ["Answer", "Inside", "Job", "LaunchError", "OwnFile", "begin", "create", "run_foreground", "start"]


class LaunchError(Exception):
    """The run could not be started; the text is a sentence for a person."""

    def __init__(self, sentence: str, folder: RunFolder | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.folder = folder
        """The run's folder, when there is one already: it holds the exit record."""


class Inside(Value):
    """A word of a command that is a path in the run's own folder, which is known once there is one."""

    path: str


class OwnFile(Value):
    """A file that the run's folder gets before the start, under `files/`."""

    name: str
    text: Callable[[str], str]
    """The text, given the absolute path of the folder in which it lies."""


class Job(Value):
    """What to run. Values of `env` and words of `argv` reach the program, but no file except through `info`."""

    argv: tuple[str | Inside, ...]
    env: tuple[tuple[str, str], ...] = ()
    """Added to the environment that this process has."""
    cwd: Path | None = None
    """None: where this process is."""
    per_rank_logs: bool = False
    """Ask torchrun for one log a rank under `ranks/`, and for all of them in output.log, each line with its rank."""
    files: tuple[OwnFile, ...] = ()
    stop_after: int = 0
    """Steps after which the run is stopped once its log shows them; 0: it ends by itself."""
    gpus: Mapping[str, int] = {}
    """UUID → index of the GPUs that the run reserves; none are where nothing is known of them."""
    port: int | None = None
    """The port at which its processes meet; reserved too."""
    share: bool = False
    """Start although another run has reserved some of its GPUs."""
    recorded: bool = False
    """Write down what the run is made of (`snapshot`) and what its GPUs and host do (`recorder`), beside it."""
    info: Mapping[str, object] = {}
    """Plain data for run.json: recipe, preset, values, sources, outputs, and what else the caller wants to find
    again. Its `argv` and `env`, if given, are written in place of the real ones: that is how secrets stay out."""

    @property
    def workdir(self) -> Path:
        """The folder in which it runs."""
        return self.cwd or paths.here()

    def words(self, folder: RunFolder) -> tuple[str, ...]:
        """The command of a run in `folder`."""
        return tuple(str(folder.path / word.path) if isinstance(word, Inside) else word for word in self.argv)


NEEDED = 64 << 10
"""Bytes that a run's folder must take before the start: its records and the first of its log, in blocks of 4 KiB."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_UNBUFFERED = "PYTHONUNBUFFERED"
_FREES_WITHIN = 2.0
"""Seconds in which a supervisor that has refused is gone, and its lock with it."""


def _unheard(_: str) -> None:
    """Nobody wants to hear it."""


def start(root: Path, job: Job, on_note: Callable[[str], None] = _unheard, ahead: Ahead | None = None) -> RunFolder:
    """Start `job` under its own supervisor in a new folder of `root`. LaunchError when that is impossible.

    `on_note` hears, in a sentence each, what is less safe about the run than usual. `ahead`: a supervisor that was
    started for a run of this root before.
    """
    folder = create(root, job, on_note, "" if ahead is None else ahead.id)
    try:
        return begin(folder, job, on_note, ahead)
    except BaseException:
        _forget(folder)
        if not lock.held(folder.path / records.LOCK):  # else it lives, and its GPUs are its own
            claims.release(root, folder)
        raise


def _forget(folder: RunFolder) -> None:
    """Nothing of a run is left that never began; one that says what happened stays."""
    if any((folder.path / name).exists() for name in (records.STATE, records.EXIT)):
        return
    until = time.monotonic() + _FREES_WITHIN
    while (held := lock.held(folder.path / records.LOCK)) and time.monotonic() < until:
        time.sleep(0.01)  # no child of this process
    if not held:
        import shutil  # a launch that succeeds does not pay for it

        shutil.rmtree(folder.path, ignore_errors=True)


def create(root: Path, job: Job, on_note: Callable[[str], None] = _unheard, wanted: str = "") -> RunFolder:
    """A new run folder with its run.json, not started yet. LaunchError when it cannot be written.

    `wanted`: the run's id, where that is free.
    """
    _check(job)
    try:
        folder = store.make_folder(root, wanted)
        try:
            _write_files(folder, job)
            records.write_record(folder.path / records.RUN, _information(folder, job))
            _find_room(folder)
            taken = claims.reserve(root, folder, _source(job), job.gpus, job.port, job.share, on_note)
        except OSError:
            _forget(folder)
            raise
    except OSError as problem:
        raise LaunchError(_unwritable(root, problem)) from problem
    if taken is not None:
        _forget(folder)
        raise LaunchError(taken.sentence)
    return folder


def _source(job: Job) -> str:
    """`recipe/preset`, the recipe, or the program."""
    recipe, preset = job.info.get("recipe"), job.info.get("preset")
    return f"{recipe}/{preset}" if recipe and preset else str(recipe or Path(str(job.argv[0])).name)


def begin(
    folder: RunFolder, job: Job, on_note: Callable[[str], None] = _unheard, ahead: Ahead | None = None
) -> RunFolder:
    """Start `job` in the folder made for it. LaunchError when it cannot start, or has been started before."""
    _check(job)
    try:
        folder = RunFolder(folder.path.resolve())
        answer, moved = _supervise(folder, job, on_note, ahead)
    except OSError as problem:
        raise LaunchError(_unwritable(folder.path.parent, problem), folder) from problem
    if isinstance(answer, spawn.Refusal):
        raise LaunchError(_sentence(answer, folder), folder)
    if job.stop_after:
        _watch(folder, job.stop_after, _scope(folder, "watcher") if moved else ())
    return folder


def _scope(folder: RunFolder, part: str) -> tuple[str, ...]:
    return session_end.scope(f"prl-tui-{folder.id}-{part}")


def _supervise(
    folder: RunFolder, job: Job, on_note: Callable[[str], None], ahead: Ahead | None
) -> tuple[spawn.Answer | spawn.Refusal, bool]:
    """The supervisor's answer, and whether it was moved out of a session that a logout ends."""
    words, environment = job.words(folder), _environment(folder, job)
    logout = session_end.at_logout()
    scope = _scope(folder, "run") if logout.needs_scope else ()
    answer = spawn.supervisor(folder, words, environment, job.workdir, scope, recorded=job.recorded, ahead=ahead)
    moved = bool(scope)
    if scope and isinstance(answer, spawn.Refusal) and answer.code in {"silent", "no-python"}:
        moved = False
        reason = answer.text or t("no answer")
        on_note(t("The run ends when you log out: a scope of its own was refused ({reason}).", reason=reason))
        answer = spawn.supervisor(folder, words, environment, job.workdir, recorded=job.recorded)
    elif logout.needs_scope and not scope:
        on_note(t("The run ends when you log out (KillUserProcesses=yes), and there is no systemd-run to keep it."))
    elif logout.needs_linger:
        on_note(t("The run ends with your last session: {fix}", fix=logout.linger_fix))
    return answer, moved


def _watch(folder: RunFolder, steps: int, scope: tuple[str, ...]) -> None:
    """Have the run stopped after so many steps; one that nobody would stop is ended at once."""
    try:
        spawn.watcher(folder, steps, scope)
    except OSError as problem:
        stop(folder, by="launch")
        raise LaunchError(
            t("The run cannot be watched, so it was stopped: {reason}", reason=reasons.of(problem)), folder
        ) from problem


def run_foreground(
    root: Path,
    job: Job,
    *,
    grace: Grace | None = None,
    on_start: Callable[[RunFolder], None] | None = None,
    on_output: Callable[[bytes], None] | None = None,
    on_interrupt: Callable[[RunFolder], Answer] | None = None,
    on_stop: Callable[[int], None] | None = None,
    on_note: Callable[[str], None] = _unheard,
    ahead: Ahead | None = None,
) -> tuple[RunFolder, int | None]:
    """Start `job` and stay until it ends; returns its exit code, 128 + n for signal n.

    None instead of a code: the person detached. A supervisor that vanished counts as killed, 137; the run may live
    on then, and a stop ends it. `on_output` gets what the launcher writes. `on_interrupt` decides what Ctrl-C means,
    without it a stop; the second one hurries. TERM is passed on as TERM at once, since a platform that sends it
    counts the seconds. `on_stop` hears each signal that leads to a stop. LaunchError as in `start`.
    """
    caught = Caught()
    with caught.instead_of_default():
        folder = start(root, job, on_note, ahead)
        if on_start:
            on_start(folder)
        code = Stay(folder, caught, grace or Grace(), on_output, on_interrupt, on_stop).until_end()
        said = last_word(folder) if code is not None else None
        if said is not None and not (folder.path / records.EXIT).exists():
            told = t("The end of the run is not written down in {path}: {reason}", path=folder.path, reason=said[1])
            on_note(told)
        return folder, code


def _check(job: Job) -> None:
    json.dumps(dict(job.info))  # TypeError for what is no plain data, before anything is made
    if not job.argv:
        raise LaunchError(t("There is nothing to run: the command is empty"))
    if not paths.is_dir(job.workdir):
        raise LaunchError(t("The working directory {path} is missing", path=job.workdir))
    words = [word for word in job.argv if isinstance(word, str)]
    if any("\0" in word for word in (*words, *(part for pair in job.env for part in pair))):
        raise LaunchError(t("The command or its environment has a zero byte inside, which no program can take"))


def _find_room(folder: RunFolder) -> None:
    """OSError where the disk, or a person's share of it, has no room for a run's records."""
    place = folder.path / "room"
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.posix_fallocate(descriptor, 0, NEEDED)
        except OSError as problem:
            if problem.errno in _FULL:
                raise OSError(problem.errno, problem.strerror, str(place)) from None
        finally:
            os.close(descriptor)  # a network disk may say it only now
    finally:
        place.unlink(missing_ok=True)


def _write_files(folder: RunFolder, job: Job) -> None:
    """The job's own files, whole and on the disk before anything starts."""
    if not job.files:
        return
    place = folder.path.resolve() / records.FILES
    place.mkdir(mode=0o700)
    for file in job.files:
        atomic.write_text(place / file.name, file.text(str(place)), 0o600)


def _information(folder: RunFolder, job: Job) -> dict[str, object]:
    given = {"recipe": None, "preset": None, "values": {}, "sources": {}, "outputs": [], **job.info}
    return {
        "argv": list(job.words(RunFolder(folder.path.resolve()))),
        "env": dict(job.env),
        "cwd": str(job.workdir.absolute()),
        "per_rank_logs": job.per_rank_logs,
        "gpus": dict(job.gpus),
        **given,
        **here(),
        "schema": records.SCHEMA,
        "id": folder.id,
        "created": time.time(),
        "place": store.next_place(folder),
    }


def _environment(folder: RunFolder, job: Job) -> dict[str, str]:
    """What is added to the inherited environment. A log folder that the job chose itself stays."""
    added = dict(job.env)
    if job.per_rank_logs:
        folder.ranks.mkdir(mode=0o700, exist_ok=True)
        added = {"PET_LOG_DIR": str(folder.ranks), "PET_REDIRECTS": "3", "PET_TEE": "3", **added}
        if not os.environ.get(_UNBUFFERED):
            # torchrun's threads share its stdout: up to CPython 3.11.9 and 3.12.3 (gh-119506) its buffer gets bytes of
            # the heap in then. Ranks' lines come at once too.
            added.setdefault(_UNBUFFERED, "1")
    return added


def _no_room(path: Path, reason: str) -> str:
    if _lacks_inodes(path):
        return t(
            "{path} has no room for a run: {reason}. No inodes are left there, one for each file: delete files that nobody "
            "needs, or set XDG_STATE_HOME to a folder on another disk",
            path=path,
            reason=reason,
        )
    return t(
        "{path} has no room for a run: {reason}. {n} KiB are needed there: make room, or set XDG_STATE_HOME to a folder "
        "on another disk",
        path=path,
        reason=reason,
        n=NEEDED >> 10,
    )


def _lacks_inodes(path: Path) -> bool:
    """Whether the disk takes no further file; False where it does not count them (btrfs)."""
    while not paths.exists(path) and path != path.parent:
        path = path.parent
    try:
        found = os.statvfs(path)
    except OSError:
        return False
    return found.f_files > 0 and found.f_favail == 0


def _unwritable(path: Path, problem: OSError) -> str:
    if problem.errno in _FULL:
        return _no_room(path, reasons.of(problem))
    return t("{path} cannot be written: {reason}", path=problem.filename or path, reason=reasons.of(problem))


def _sentence(refusal: spawn.Refusal, folder: RunFolder) -> str:
    sentences = {
        "no-program": t("There is no program {program}", program=refusal.file),
        "no-interpreter": t(
            "{program} is there, but the interpreter that its first line names is not", program=refusal.file
        ),
        "not-executable": t(
            "{program} cannot be started: {reason}", program=refusal.file, reason=reasons.told(refusal.text)
        ),
        "no-cwd": t("The working directory {path} is missing", path=refusal.file),
        "locked": t("This run is alive already"),
        "used": t("This run has been started before; start a new one"),
        "no-room": _no_room(folder.path.parent, reasons.told(refusal.text)),
        "unwritable": t("{path} cannot be written: {reason}", path=refusal.file, reason=reasons.told(refusal.text)),
        "no-linux": t("Runs can be started on Linux only"),
        "no-python": t(
            "Python cannot be started again ({program}): {reason}",
            program=refusal.file,
            reason=reasons.told(refusal.text),
        ),
    }
    return sentences.get(refusal.code) or t("The supervisor did not start: {reason}", reason=reasons.told(refusal.text))
