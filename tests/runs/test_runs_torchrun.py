"""Real torchrun (judged with torch 2.13, gloo, two ranks): per-rank logs, stop, and the agent's death."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from prl_tui.runs import launcher, overview, stop
from prl_tui.runs.launcher import Job
from prl_tui.runs.state import status
from tests.runs.helpers import PROGRAMS, ended, exit_record, is_living, supervisor_of, until

pytestmark = [pytest.mark.slow, pytest.mark.torch]
pytest.importorskip("torch")

SLOW = 90.0


@pytest.fixture
def gloo(root, pids):
    """A training run of two ranks; returns its folder and the ranks' pids once both have made a step."""

    def start():
        words = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")
        job = Job((*words, str(PROGRAMS / "gloo.py"), str(pids)), per_rank_logs=True)
        folder = launcher.start(root, job)
        until(lambda: "rank 1 step 1 " in folder.output.read_text(), "the first steps", SLOW)
        return folder, [int((pids / f"rank{rank}").read_text()) for rank in range(2)]

    return start


def test_every_rank_has_its_own_log_and_output_log_has_all_with_their_rank(gloo):
    folder, ranks = gloo()
    (attempt,) = folder.ranks.glob("*/attempt_0")
    for rank in range(2):
        out, err = ((attempt / str(rank) / f"{name}.log").read_text() for name in ("stdout", "stderr"))
        assert f"rank {rank} step 0 total 2\n" in out
        assert f"rank {rank} on stderr\n" in err
        for line in (f"[default{rank}]:rank {rank} step 0 total 2\n", f"[default{rank}]:rank {rank} on stderr\n"):
            until(lambda line=line: line in folder.output.read_text(), f"output.log to have {line!r}")
    stop.stop(folder, stop.Grace(20, 40))
    assert stop.wait(folder, SLOW)
    assert not any(map(is_living, ranks))
    seen = status(folder)
    assert (seen.state, seen.stopped_by_person) == ("stopped", True)
    assert exit_record(folder).stop_stage == "interrupt"
    assert "KeyboardInterrupt" in folder.output.read_text()
    assert overview.overview(folder).view.errors == (), "how the ranks ended is no failure of theirs"
    assert exit_record(folder).killed == 0


def test_ranks_whose_agent_was_killed_are_ended_at_once(gloo):
    folder, ranks = gloo()
    os.kill(status(folder).pid, signal.SIGKILL)
    seen = ended(folder, SLOW)
    assert (seen.state, seen.exit_code) == ("failed", 137)
    assert not any(map(is_living, ranks))


def test_ranks_without_agent_and_supervisor_are_ended_by_stop(gloo):
    folder, ranks = gloo()
    supervisor = supervisor_of(folder)
    agent = status(folder).pid
    os.kill(supervisor, signal.SIGSTOP)  # so that it cannot end them itself
    os.kill(agent, signal.SIGKILL)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not is_living(supervisor), "the supervisor's death")
    assert stop.stop(folder, stop.Grace(0.5, 10)).code == "swept"
    assert not any(map(is_living, ranks))
