"""A run starts at once or says why not, and its end is written down."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

from prl_tui.machine import session_end
from prl_tui.runs import ahead, claims, launcher, spawn, store
from prl_tui.runs.launcher import Job, LaunchError
from prl_tui.runs.records import MARKER
from prl_tui.runs.state import status
from tests.runs.helpers import PROGRAMS, ended, exit_record, is_living, marked, supervisor_of, until


def test_a_program_that_ends_with_0_is_finished(python):
    folder = python("-c", "print('hello')")
    seen = ended(folder)
    assert (seen.state, seen.exit_code, seen.detail) == ("finished", 0, "")
    assert folder.output.read_text() == "hello\n"
    assert seen.started <= seen.ended


def test_a_program_that_ends_with_7_failed_with_7(python):
    seen = ended(python("-c", "raise SystemExit(7)"))
    assert (seen.state, seen.exit_code, seen.stopped_by_person) == ("failed", 7, False)


def test_a_program_that_a_signal_ends_has_the_shells_code_for_it(python):
    folder = python("-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    seen = ended(folder)
    assert (seen.state, seen.exit_code) == ("failed", 137)
    assert "SIGKILL" in seen.detail
    assert exit_record(folder).signal == 9


def test_an_exit_error_after_training_was_done_is_told_apart(python):
    folder = python("-c", "raise SystemExit(1)")
    ended(folder)
    assert status(folder, training_done=True).state == "finished-with-exit-error"
    assert status(folder, training_done=lambda: True).state == "finished-with-exit-error"
    assert status(folder, training_done=False).state == "failed"


def test_a_run_is_starting_until_something_was_logged(python):
    folder = python("-c", "import time; time.sleep(600)")
    assert status(folder).state == "starting"
    assert status(folder, logged=True).state == "running"
    os.kill(status(folder).pid, signal.SIGKILL)
    ended(folder)


def test_stdout_and_stderr_share_the_log_in_order(python):
    folder = python("-u", "-c", "import sys; print(1); print(2, file=sys.stderr); print(3)")
    ended(folder)
    assert folder.output.read_text() == "1\n2\n3\n"


def test_the_program_gets_its_environment_folder_and_no_terminal(python, tmp_path, monkeypatch):
    monkeypatch.setenv("PRL_TEST_INHERITED", "from outside")
    monkeypatch.setenv("PYTHONSTARTUP", "untouched by -I of the supervisor")
    code = (
        "import os, sys, json;"
        "names = ('PRL_TEST_INHERITED', 'PRL_TEST_GIVEN', 'PRL_RUN_DIR', 'PYTHONSTARTUP');"
        "print(json.dumps([os.getcwd(), sys.stdin.read(), os.getsid(0) == os.getpid(),"
        " *(os.environ.get(name) for name in names)]))"
    )
    folder = python("-c", code, env=(("PRL_TEST_GIVEN", "新 value"),), cwd=tmp_path)
    ended(folder)
    assert json.loads(folder.output.read_text()) == [
        str(tmp_path),
        "",
        True,
        "from outside",
        "新 value",
        str(folder.path),
        "untouched by -I of the supervisor",
    ]


def test_ignored_signals_of_the_caller_are_not_handed_down(root):
    # a background job of a shell without job control has INT ignored; a training run must still hear it
    code = "import signal; print([signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)])"
    script = (
        "import signal, sys;"
        "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]);"
        "from pathlib import Path; from prl_tui.runs import launcher;"
        f"launcher.start(Path({str(root)!r}), launcher.Job((sys.executable, '-c', {code!r})))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    folder = store.find(root, "last")
    ended(folder)
    assert folder.output.read_text() == "[False, False]\n"


def test_run_json_says_what_was_known_before_the_start(python, root, tmp_path):
    info = {"recipe": "prl-grpo", "preset": "quick", "values": {"seed": 5}, "note": "自", "env": {"TOKEN": "***"}}
    folder = python("-c", "pass", env=(("TOKEN", "secret-value"),), cwd=tmp_path, info=info)
    ended(folder)
    known = folder.info()
    assert known["argv"] == [sys.executable, "-c", "pass"]
    assert {key: known[key] for key in info} == info
    assert (known["id"], known["cwd"], known["schema"]) == (folder.id, str(tmp_path), 1)
    assert all(known[key] for key in ("host", "boot_id", "pid_namespace", "created"))
    everything = b"".join(path.read_bytes() for path in folder.path.iterdir() if path.is_file())
    assert b"secret-value" not in everything


def test_only_the_owner_may_read_a_run(python):
    folder = python("-c", "print(1)")
    ended(folder)
    assert [oct(path.stat().st_mode & 0o077) for path in (folder.path, folder.output, folder.path / "run.json")] == [
        "0o0"
    ] * 3


def test_an_argument_that_is_not_utf8_arrives_byte_for_byte(root):
    word = os.fsdecode(b"caf\xe9")
    folder = launcher.start(root, Job((sys.executable, "-c", "import os, sys; print(os.fsencode(sys.argv[1]))", word)))
    ended(folder)
    assert folder.output.read_text() == "b'caf\\xe9'\n"
    assert folder.info()["argv"][-1] == word


def test_no_such_program_is_said_at_once_and_recorded_as_127(root):
    with pytest.raises(LaunchError, match="There is no program nosuchprogram") as caught:
        launcher.start(root, Job(("nosuchprogram", "--x")))
    seen = status(caught.value.folder)
    assert (seen.state, seen.exit_code) == ("failed", 127)
    assert "nosuchprogram" in seen.detail


def test_a_program_without_the_right_to_run_is_recorded_as_126(root, tmp_path):
    program = tmp_path / "script.sh"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(LaunchError, match="cannot be started: Permission denied") as caught:
        launcher.start(root, Job((str(program),)))
    assert status(caught.value.folder).exit_code == 126


def test_a_missing_interpreter_is_not_called_a_missing_program(root, tmp_path):
    program = tmp_path / "script"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    with pytest.raises(LaunchError, match="the interpreter that its first line names is not"):
        launcher.start(root, Job((str(program),)))


def test_the_program_is_looked_up_in_the_path_of_the_job(root, tmp_path):
    program = tmp_path / "bin" / "only-here"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    folder = launcher.start(root, Job(("only-here",), env=(("PATH", f"{program.parent}:{os.environ['PATH']}"),)))
    ended(folder)
    assert folder.output.read_text() == "found\n"


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job(()), "the command is empty"),
        (Job(("true",), cwd=Path("/no/such/folder")), "The working directory /no/such/folder is missing"),
        (Job(("true", "a\0b")), "zero byte"),
        (Job(("true",), env=(("A", "b\0c"),)), "zero byte"),
    ],
)
def test_what_cannot_run_leaves_no_folder(root, job, words):
    with pytest.raises(LaunchError, match=re.escape(words)):
        launcher.start(root, job)
    assert not root.exists()


def test_a_root_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LaunchError, match="cannot be written: Not a directory"):
        launcher.start(tmp_path / "file" / "runs", Job(("true",)))


def test_a_python_that_is_gone_is_a_sentence(root, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(LaunchError, match="Python cannot be started again"):
        launcher.start(root, Job(("true",)))


def test_a_supervisor_that_dies_before_its_answer_is_quoted(root, monkeypatch, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('no luck')\n")
    monkeypatch.setattr(ahead, "PROGRAM", broken)
    with pytest.raises(LaunchError, match="The supervisor did not start: RuntimeError: no luck"):
        launcher.start(root, Job(("true",)))


def test_a_second_start_in_one_folder_is_refused(python):
    folder = python("-c", "import time; time.sleep(600)")
    with pytest.raises(LaunchError, match="alive already"):
        launcher.begin(folder, Job(("true",)))
    by_hand = subprocess.run(
        [sys.executable, "-m", "prl_tui.runs.supervisor", folder.path],
        input=json.dumps({"argv": ["true"], "env": {}, "cwd": "/", "lock": None}),
        capture_output=True,
        text=True,
    )
    assert json.loads(by_hand.stdout)["error"]["code"] == "locked"
    os.kill(status(folder).pid, signal.SIGKILL)
    assert ended(folder).exit_code == 137
    until(lambda: not marked(folder.path), "the supervisor's end")
    with pytest.raises(LaunchError, match="started before"):
        launcher.begin(folder, Job(("true",)))


def test_the_supervisor_runs_as_a_module_too(root):
    folder = launcher.create(root, Job(("true",)))
    answer = subprocess.run(
        [sys.executable, "-m", "prl_tui.runs.supervisor", folder.path],
        input=json.dumps({"argv": ["sh", "-c", "exit 5"], "env": {}, "cwd": "/", "lock": None}),
        capture_output=True,
        text=True,
    )
    assert json.loads(answer.stdout)["pid"]
    assert ended(folder).exit_code == 5


def test_per_rank_logs_are_asked_for_by_torchruns_own_variables(python, root):
    # names judged by torch 2.13: torch.distributed.run reads PET_<option> for --log-dir, --redirects and --tee
    code = "import os; print(*(f'{k}={v}' for k, v in sorted(os.environ.items()) if k.startswith('PET_')))"
    folder = python("-c", code, per_rank_logs=True)
    ended(folder)
    assert folder.output.read_text() == f"PET_LOG_DIR={folder.ranks} PET_REDIRECTS=3 PET_TEE=3\n"
    chosen = python("-c", code, per_rank_logs=True, env=(("PET_LOG_DIR", "/chosen"), ("PET_TEE", "1")))
    ended(chosen)
    assert chosen.output.read_text() == "PET_LOG_DIR=/chosen PET_REDIRECTS=3 PET_TEE=1\n"


def test_torchruns_threads_write_each_byte_that_its_ranks_wrote(python, root, monkeypatch):
    """CPython up to 3.11.9 and 3.12.3 (gh-119506): threads that share a buffered stdout put bytes of the heap into it."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    code = (
        "import sys, threading\n"
        "def write(n):\n"
        "    for i in range(20000): sys.stdout.write(f'[default{n}]:' + 'x' * (i % 900) + '\\n')\n"
        "threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]\n"
        "[one.start() for one in threads], [one.join() for one in threads]\n"
    )
    folder = python("-c", code, per_rank_logs=True)
    ended(folder)
    text = folder.output.read_bytes()
    assert len(text) == 4 * sum(len("[default0]:\n") + i % 900 for i in range(20000))
    assert not text.translate(None, b"[default]:0123x\n")
    code = "import os; print(os.environ.get('PYTHONUNBUFFERED'))"
    chosen = python("-c", code, per_rank_logs=True, env=(("PYTHONUNBUFFERED", "x"),))
    ended(chosen)
    assert chosen.output.read_text() == "x\n"


def test_a_run_survives_the_sigkill_of_its_starter(root, pids):
    starter = subprocess.Popen(
        [sys.executable, PROGRAMS / "starter.py", root, sys.executable, PROGRAMS / "chatter.py", "10", pids / "go"],
        stdout=subprocess.PIPE,
        text=True,
    )
    path = starter.stdout.readline().strip()
    starter.kill()
    starter.communicate()
    folder = store.find(root, Path(path).name)
    assert status(folder).state == "starting"
    (pids / "go").touch()
    assert ended(folder).state == "finished"
    assert folder.output.read_text().endswith("the last line\n")


@pytest.mark.slow
def test_a_run_survives_the_hang_up_of_its_terminal(root, pids):
    words = [
        str(PROGRAMS / "starter.py"),
        str(root),
        sys.executable,
        str(PROGRAMS / "chatter.py"),
        "10",
        str(pids / "go"),
    ]
    starter = pexpect.spawn(sys.executable, words, timeout=20)
    starter.expect(r"/runs/[0-9a-f]{6}")
    starter.delayafterclose = starter.ptyproc.delayafterclose = (
        5  # a busy machine: no SIGINT before the hang-up took it
    )
    starter.ptyproc.delayafterterminate = starter.delayafterterminate = 5
    starter.close(force=True)
    assert starter.signalstatus == signal.SIGHUP
    folder = store.find(root, "last")
    supervisor = supervisor_of(folder)
    os.kill(supervisor, signal.SIGHUP)
    os.kill(status(folder).pid, 0)
    assert is_living(supervisor)
    (pids / "go").touch()
    assert ended(folder).state == "finished"


def test_what_outlives_the_leader_is_ended_and_counted(family):
    folder, members = family("leaving")
    seen = ended(folder)
    assert (seen.state, seen.exit_code) == ("failed", 3)
    assert not any(map(is_living, members.values()))
    assert exit_record(folder).strays == 2
    assert exit_record(folder).killed == 0
    assert "2 processes outlived" in seen.detail


def test_a_failure_of_the_supervisor_ends_the_tree_and_is_recorded(root, pids):
    folder = launcher.create(root, Job(("true",)))
    order = {"argv": [sys.executable, str(PROGRAMS / "family.py"), "polite", str(pids)], "env": {}, "cwd": "/"}
    script = (
        "import sys; from pathlib import Path; from prl_tui.runs import guardian, supervisor\n"
        "def fail(self):\n"
        f"    if (Path({str(pids)!r}) / 'daemon').exists(): raise RuntimeError('foreseen by nobody')\n"
        "    self._next_beat = 0\n"
        "guardian.Guardian._beat = fail; supervisor.main(sys.argv[1:])"
    )
    subprocess.run(
        [sys.executable, "-c", script, folder.path],
        env={**os.environ, MARKER: str(folder.path)},
        input=json.dumps(order).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    seen = ended(folder)
    assert seen.state == "failed"
    assert "RuntimeError: foreseen by nobody" in seen.detail
    assert not any(is_living(int(path.read_text())) for path in pids.iterdir() if path.read_text())


def test_the_supervisor_needs_only_the_standard_library():
    script = "import sys, prl_tui.runs.supervisor as s; print(s.__file__, *sorted(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(Path(launcher.__file__).parents[2])}
    words = subprocess.run(
        [sys.executable, "-S", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    names = {word.partition(".")[0] for word in words.stdout.split()[1:]}
    assert names - set(sys.stdlib_module_names) <= {"prl_tui", "__main__", "_distutils_hack"}
    heavy = {"dataclasses", "inspect", "typing", "socket", "asyncio", "traceback"}
    assert not heavy & set(words.stdout.split())


def test_the_supervisor_is_the_package_that_started_it_whatever_lies_around(root, tmp_path):
    # a copy of the package that only PYTHONPATH knows, and a working directory that shadows the standard library
    home = tmp_path / "site"
    package = Path(launcher.__file__).parents[1]
    for name in (
        "__init__.py",
        "atomic.py",
        "i18n.py",
        "lists.py",
        "reasons.py",
        "regular.py",
        "steady.py",
        "core",
        "machine",
        "runs",
    ):
        target = home / "prl_tui" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(package / name) if name != "runs" else target.mkdir()
    for module in (package / "runs").glob("*.py"):
        (home / "prl_tui" / "runs" / module.name).write_bytes(module.read_bytes())
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("json", "subprocess", "contextlib"):
        (trap / f"{name}.py").write_text("raise RuntimeError('shadowed')\n")
    script = (
        "import sys; sys.path.remove(''); from pathlib import Path; from prl_tui.runs import launcher;"
        f"print(launcher.start(Path({str(root)!r}), launcher.Job(('sleep', '600'))).path)"
    )
    environment = {**os.environ, "PYTHONPATH": str(home)}
    starter = subprocess.run(
        [sys.executable, "-c", script], cwd=trap, env=environment, capture_output=True, text=True, check=True
    )
    folder = store.find(root, Path(starter.stdout.strip()).name)
    command = Path(f"/proc/{supervisor_of(folder)}/cmdline").read_text().split("\0")
    assert command[1:4] == ["-I", "-S", str(home / "prl_tui/runs/supervisor.py")]
    os.kill(status(folder).pid, signal.SIGKILL)
    assert ended(folder).exit_code == 137


# --- where a logout ends what a session started -----------------------------------------------------------------------


KILLED = session_end.Logout("ada", True, False, True)
WRAPPER = """#!/bin/sh
echo "$*" >>"$0.log"
{answer}
while [ "$1" != -- ]; do shift; done; shift
exec "$@"
"""


@pytest.fixture
def logout(tmp_path, monkeypatch):
    """A box whose logind ends sessions (a value), and a double of systemd-run in front of PATH."""

    def make(answer="", found=KILLED):
        program = tmp_path / "programs" / "systemd-run"
        program.parent.mkdir()
        program.write_text(WRAPPER.format(answer=answer))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        monkeypatch.setattr(session_end, "at_logout", lambda: found)
        return program.with_name("systemd-run.log")

    return make


def test_a_run_gets_a_scope_of_its_own_where_a_logout_would_end_it(root, logout):
    log, told = logout(), []
    folder = launcher.start(root, Job((sys.executable, "-c", "print('hello')")), told.append)
    assert ended(folder).state == "finished"
    assert log.read_text().startswith(f"--user --scope --quiet --collect --unit=prl-tui-{folder.id}-run -- ")
    assert told == ["The run ends with your last session: `loginctl enable-linger ada` lets runs go on."]


def test_a_run_starts_all_the_same_where_its_scope_is_refused_and_says_what_that_means(root, logout):
    log, told = logout("echo 'Failed to connect to bus: No medium found' >&2; exit 1"), []
    folder = launcher.start(root, Job((sys.executable, "-c", "print('hello')")), told.append)
    assert ended(folder).state == "finished"
    assert len(log.read_text().splitlines()) == 1
    assert told == [
        "The run ends when you log out: a scope of its own was refused (Failed to connect to bus: No medium found)."
    ]


def test_no_scope_is_made_where_no_logout_ends_anything(root, logout):
    log, told = logout(found=session_end.Logout("ada", False, False, True)), []
    assert ended(launcher.start(root, Job((sys.executable, "-c", "pass")), told.append)).state == "finished"
    assert not log.exists()
    assert told == []


@pytest.mark.parametrize(
    "answer",
    [
        "sleep 30",
        "exec >&-; sleep 30",
        "sleep 30 & wait",
        "echo '[1]'; exit 0",
        'echo \'{"pid": "x"}\'; exit 3',
        "kill -9 $$",
    ],
    ids=["hangs", "closes-stdout-and-hangs", "hangs-in-a-child", "foreign-answer", "odd-answer", "is-killed"],
)
def test_a_scope_that_never_comes_costs_a_moment_and_one_start(root, logout, monkeypatch, answer):
    """What an attacker's doubles of systemd-run did; each once blocked, started twice or left a traceback."""
    monkeypatch.setattr(spawn, "_SCOPE_WITHIN", 0.7)
    logout(answer)
    told = []
    # more than a pipe holds: nothing that does not read may block the start
    job = Job(
        (sys.executable, "-c", "print('hello')"), env=(("A", "x" * 100_000), ("B", "y" * 100_000)), gpus={"GPU-a": 0}
    )
    begun = time.monotonic()
    folder = launcher.start(root, job, told.append)
    assert time.monotonic() - begun < 10
    assert ended(folder).state == "finished"
    assert [one.id for one in store.list_runs(root)] == [folder.id]
    assert len(told) == 1
    assert told[0].startswith("The run ends when you log out: a scope of its own was refused (")
    until(lambda: not marked(root), "the end of all of it")


def test_a_wrapper_that_says_something_first_is_heard_out(root, logout):
    logout("echo hello; echo '{}'")
    told = []
    folder = launcher.start(root, Job((sys.executable, "-c", "print('hello')")), told.append)
    assert ended(folder).state == "finished"
    assert "linger" in told[0]
    assert "refused" not in told[0]


def test_a_systemd_run_that_cannot_be_executed_refuses_no_launch(root, logout):
    log = logout()
    log.with_name("systemd-run").write_bytes(b"\x7fELF nothing")
    told = []
    assert ended(launcher.start(root, Job((sys.executable, "-c", "pass")), told.append)).state == "finished"
    assert "Exec format error" in told[0]


def test_a_watcher_whose_scope_is_refused_stops_its_run_all_the_same(root, logout):
    log = logout('case "$*" in *-watcher*) echo no >&2; exit 1;; esac')
    steps = "import time\nfor n in range(1, 4000): print({'loss': 1.0, 'global_step/max_steps': f'{n}/4000'}, flush=True); time.sleep(0.1)"
    job = Job((sys.executable, "-uc", steps), stop_after=2, recorded=True, info={"activation": {"kind": "this"}})
    folder = launcher.start(root, job)
    until(lambda: exit_record(folder) is not None, "the stop after two steps")
    assert len(log.read_text().splitlines()) == 2


@pytest.mark.slow
def test_a_recorder_needs_no_scope_of_its_own(root, logout):
    """It is its supervisor's child, and lies in that one's."""
    log = logout()
    job = Job(
        (sys.executable, "-c", "import time; time.sleep(600)"), recorded=True, info={"activation": {"kind": "this"}}
    )
    folder = launcher.start(root, job)
    until((folder.path / "snapshot.json").exists, "what the recorder writes down")
    assert len(log.read_text().splitlines()) == 1
    os.kill(status(folder).pid, signal.SIGKILL)
    ended(folder)


def test_an_interrupt_while_a_scope_is_awaited_leaves_nothing(root, logout, monkeypatch):
    logout("sleep 30")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(spawn, "_listen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        launcher.start(root, Job((sys.executable, "-c", "pass"), gpus={"GPU-a": 0}))
    assert store.list_runs(root) == []
    assert claims.held(root) == []
    until(lambda: not marked(root), "the end of all of it")
