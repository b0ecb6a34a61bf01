"""The doctor: every item with its state and its way out. Files of a box are doubles below a folder; the GPUs are the NVML
stub's; interpreters are real."""

from __future__ import annotations

import json
import os
import socket
import time
import venv
from pathlib import Path

import pytest

from prl_tui import i18n
from prl_tui.core.plan import activation_of
from prl_tui.machine import doctor, doctor_env, session_end
from prl_tui.machine.doctor_item import Item
from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.machine.gpus import Gpu, GpuSnapshot
from prl_tui.machine.host import Space

GIB = 2**30
NO_DRIVER = GpuSnapshot(0.0, fault=GpuFault("no-driver"))
H100 = GpuSnapshot(0.0, (Gpu(0), Gpu(1)), "580.159.04", "13.0")


def only(items) -> Item:
    (item,) = items
    return item


def test_a_name_that_resolves_is_fine_and_one_that_does_not_says_what_to_add() -> None:
    assert only(doctor.hostname("localhost")).state == "ok"
    item = only(doctor.hostname("no-such-host.invalid", within=20))
    assert (item.code, item.state) == ("hostname", "error")
    assert item.fix == "Add the line `127.0.1.1 no-such-host.invalid` to /etc/hosts."


def test_a_name_server_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: time.sleep(30) or [(0, 0, 0, "", ("127.0.0.1", 0))])
    began = time.monotonic()
    assert only(doctor.hostname("slow", within=0.2)).state == "warning"
    assert time.monotonic() - began < 5


def test_a_box_without_a_driver_is_no_broken_box_and_a_broken_driver_is() -> None:
    assert only(doctor.nvml(NO_DRIVER)).state == "warning"
    details = {"library": "580.1", "kernel": "570.2"}
    item = only(doctor.nvml(GpuSnapshot(0.0, fault=GpuFault("version-mismatch", details))))
    assert item.state == "error"
    assert "reboot" in item.fix


def test_a_file_s_name_in_a_way_out_keeps_its_letters() -> None:
    hung = Gpu(0, state="error", missing={"uuid": "reset-required"})
    assert list(doctor.nvml(GpuSnapshot(0.0, (hung,))))[1].fix.startswith("nvidia-smi --gpu-reset")
    denied = list(doctor.nvml(GpuSnapshot(0.0, (Gpu(0, state="denied"),))))[1]
    assert denied.fix == "Ask for access to /dev/nvidia*, or for this GPU in the container."
    assert only(doctor.nvml(GpuSnapshot(0.0, fault=GpuFault("binding-missing")))).fix == "pip install nvidia-ml-py."


@pytest.mark.parametrize(
    ("fault", "value", "fix"),
    [
        (GpuFault("no-driver"), "This box has no NVIDIA driver: libnvidia-ml.so.1 is not found", "install the NVIDIA driver"),
        (GpuFault("no-gpus"), "The NVIDIA driver answers but shows no GPU here", "docker run --gpus all"),
        (GpuFault("reader-ended", {"how": "SIGKILL"}), "ended by itself: SIGKILL", "`prl-tui gpus` again"),
        (GpuFault("other", {"message": "Odd: 7"}), "The NVIDIA driver reports: Odd: 7", "`nvidia-smi` and `dmesg`"),
    ],
)  # fmt: skip
def test_a_fault_that_names_no_way_out_gets_one(fault: GpuFault, value: str, fix: str) -> None:
    """What stood behind its colon, `Libnvidia-ml.so.1 is not found`, counted as the way out."""
    item = only(doctor.nvml(GpuSnapshot(0.0, fault=fault)))
    assert item.value.endswith(value)
    assert fix in item.fix


def test_each_gpu_that_cannot_be_used_is_named() -> None:
    lost = GpuSnapshot(0.0, (Gpu(0), Gpu(1, state="lost")), "580.159.04", "13.0")
    fine, broken = doctor.nvml(lost)
    assert (fine.state, fine.value) == ("ok", "580.159.04, CUDA up to 13.0, 2 GPUs")
    assert (broken.title, broken.state) == ("GPU 1", "error")


@pytest.mark.parametrize(("space", "state"), [
    (Space(64 << 20, 64 << 20), "warning"), (Space(16 * GIB, 15 * GIB), "ok"), (None, "warning"),
])  # fmt: skip
def test_shared_memory_of_a_container_s_default_is_too_little(space: Space | None, state: str) -> None:
    item = doctor.shared_memory(space)
    assert item.state == state
    assert bool(item.fix) == (state != "ok")


@pytest.mark.parametrize(("free", "state"), [(100 << 20, "error"), (5 * GIB, "warning"), (500 * GIB, "ok")])
def test_room_on_a_disk(monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    monkeypatch.setattr(doctor.hosts, "space", lambda _: Space(1000 * GIB, free))
    assert doctor.disk("here", Path("/data")).state == state


def test_a_taken_port_is_named_with_its_owner() -> None:
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen(1)
        item = doctor.master_port(server.getsockname()[1])
        assert item.state == "warning"
        assert f"pid {os.getpid()}" in item.value
        port = server.getsockname()[1]
    assert doctor.master_port(port).state == "ok"


# --- runs after logout ------------------------------------------------------------------------------------------------


@pytest.fixture
def box(tmp_path: Path):
    """A double of a box with systemd and these lines in logind.conf or a drop-in."""

    def make(**files: str) -> Path:
        (tmp_path / "run/systemd/system").mkdir(parents=True)
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


CONF, DROP = "etc/systemd/logind.conf", "etc/systemd/logind.conf.d/20-site.conf"


SESSION = "0::/user.slice/user-1000.slice/session-3.scope\n"
MANAGER = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.scope\n"
SERVICE = "0::/system.slice/slurmstepd.scope/job_7\n"
KILLS = "[Login]\nKillUserProcesses=yes\n"


def after_logout(root: Path, group: str, user: str = "ada"):
    (root / "cgroup").write_text(group)
    return session_end.item(root, user, root / "cgroup")


def linger(root: Path) -> None:
    (root / "var/lib/systemd/linger").mkdir(parents=True)
    (root / "var/lib/systemd/linger/ada").touch()


@pytest.fixture
def systemd_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A double of systemd-run: it starts the command where it is."""
    program = tmp_path / "programs" / "systemd-run"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" >>"$0.log"\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def test_without_systemd_nothing_ends_runs(tmp_path: Path) -> None:
    assert session_end.item(tmp_path).state == "ok"


def test_a_session_s_processes_are_killed_and_lingering_alone_saves_none(box, systemd_run) -> None:
    root = box(**{CONF: KILLS})
    item = after_logout(root, SESSION)
    assert item.state == "warning"
    assert item.fix == "`loginctl enable-linger ada` lets runs go on."
    linger(root)
    item = after_logout(root, SESSION)
    assert (item.state, item.value) == ("ok", "go on: each has a scope of its own, and ada lingers")
    assert session_end.at_logout(root, "ada", root / "cgroup").needs_scope, "lingering does not spare the session"


def test_without_systemd_run_a_session_s_processes_cannot_be_kept(box, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    root = box(**{CONF: KILLS})
    linger(root)
    assert after_logout(root, SESSION).state == "warning"


def test_what_lies_under_the_person_s_manager_needs_lingering_alone(box) -> None:
    root = box(**{CONF: "[Login]\nKillUserProcesses=no\n"})
    item = after_logout(root, MANAGER)
    assert (item.state, item.value) == ("warning", "end with your last session")
    linger(root)
    assert after_logout(root, MANAGER).state == "ok"


def test_no_logout_reaches_a_service_or_a_scheduler_s_job(box) -> None:
    assert after_logout(box(**{CONF: KILLS}), SERVICE).state == "ok"


@pytest.mark.parametrize(
    ("rules", "user", "state"),
    [
        ("", "root", "ok"),  # nobody excluded means root is
        ("KillExcludeUsers=\n", "root", "ok"),
        ("KillExcludeUsers=ada\n", "root", "warning"),
        ("KillExcludeUsers=root ada\n", "ada", "ok"),
        ("KillOnlyUsers=bob\n", "ada", "ok"),
        ("KillOnlyUsers=bob ada\n", "ada", "warning"),
        ("KillOnlyUsers=ada\nKillExcludeUsers=ada\n", "ada", "ok"),
    ],
)
def test_users_that_are_left_out_are_not_killed(box, rules, user, state) -> None:
    assert after_logout(box(**{CONF: KILLS + rules}), SESSION, user).state == state


def test_the_last_word_of_the_drop_ins_counts(box) -> None:
    root = box(**{CONF: KILLS, DROP: "KillUserProcesses=no\n"})
    assert after_logout(root, SESSION).state == "ok"


def test_a_comment_says_nothing(box) -> None:
    item = after_logout(box(**{CONF: "#KillUserProcesses=no\n"}), SESSION)
    assert item.state == "unknown"
    assert "enable-linger" in item.fix


@pytest.mark.parametrize(
    ("told", "kills"),
    [
        ('b true\nas 1 "root"\nas 0\n', True),
        ('b true\nas 2 "root" "ada"\nas 0\n', False),
        ('b false\nas 1 "root"\nas 0\n', False),
        ("", None),
    ],
)
def test_logind_is_asked_for_all_three_rules_at_once(tmp_path, monkeypatch, told, kills) -> None:
    # The lines as busctl of systemd 252 prints properties of these types.
    program = tmp_path / "busctl"
    program.write_text(f"#!/bin/sh\nprintf '{told}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert session_end.from_logind("ada") is kills


# --- the environment --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wheel", "driver", "state"), [
    ("12.8", "13.0", "ok"), ("13.0", "13.0", "ok"), ("12.8", "12.4", "warning"), ("13.0", "12.8", "error"),
])  # fmt: skip
def test_torch_s_cuda_against_the_driver_s(wheel: str, driver: str, state: str) -> None:
    item = doctor_env.cuda(wheel, GpuSnapshot(0.0, (Gpu(0),), "1", driver))
    assert item.state == state
    assert bool(item.fix) == (state != "ok")


def test_a_cpu_build_is_wrong_only_where_there_are_gpus() -> None:
    assert doctor_env.cuda("cpu", H100).state == "error"
    assert doctor_env.cuda("cpu", NO_DRIVER).state == "ok"


def environment(tmp_path: Path, **packages: str) -> Path:
    """A real interpreter with the metadata of packages that are not there."""
    venv.create(tmp_path / "env", with_pip=False)
    place = next((tmp_path / "env" / "lib").glob("python3*/site-packages"))
    for name, version in packages.items():
        (place / f"{name}-{version}.dist-info").mkdir()
        (place / f"{name}-{version}.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    return tmp_path / "env"


def states(env: str, snapshot: GpuSnapshot = NO_DRIVER) -> dict[str, str]:
    return {item.code: item.state for item in doctor_env.examine(activation_of(env), snapshot, os.environ)}


def test_an_environment_that_is_not_there_is_an_error() -> None:
    assert states("/no/such/env")["environment"] == "error"
    assert states("conda:none")["environment"] == "error"


def test_an_environment_without_torch_or_torchrun(tmp_path: Path) -> None:
    folder = environment(tmp_path)
    assert states(str(folder))["torch"] == "error"
    (tmp_path / "other").mkdir()
    with_torch = environment(tmp_path / "other", torch="2.8.0")
    assert states(str(with_torch))["torchrun"] == "error"
    (with_torch / "bin" / "torchrun").touch()
    assert "torchrun" not in states(str(with_torch))


@pytest.mark.parametrize(("version", "told"), [("11.5.0", True), ("13.0.1", False)])
def test_an_old_pynvml_package_hides_the_binding(tmp_path: Path, version: str, told: bool) -> None:
    folder = environment(tmp_path, torch="2.8.0", pynvml=version)
    assert ("pynvml" in states(str(folder))) is told


def test_a_way_out_behind_a_chinese_colon_is_one_too() -> None:
    i18n.set_language("zh")
    details = {"library": "580.1", "kernel": "570.2"}
    item = only(doctor.nvml(GpuSnapshot(0.0, fault=GpuFault("version-mismatch", details))))
    assert item.fix.endswith("请重启系统，容器中则重启容器。")
    assert "：" not in item.value


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_prints_each_item_and_exits_1_on_an_error(cli, tmp_path: Path) -> None:
    done = cli("doctor", "--env", str(tmp_path / "none"))
    assert done.code == 1
    assert "✗ environment" in done.out
    assert "/dev/shm" in done.out
    data = json.loads(cli("doctor", "--env", str(tmp_path / "none"), "--json").out)
    assert data["ok"] is False
    codes = {item["code"] for item in data["items"]}
    assert {
        "hostname",
        "nvml",
        "shm",
        "disk",
        "memory",
        "port",
        "files",
        "session-end",
        "binding",
        "environment",
    } <= codes
    assert all(item["state"] in {"ok", "warning", "error", "unknown"} for item in data["items"])
    assert all(item["fix"] for item in data["items"] if item["state"] == "error")


def test_the_stub_s_gpus_are_seen(script, nvml_stub) -> None:
    nvml_stub.set("3 lost 1")
    done = script("doctor", "--json", env=nvml_stub.environment())
    items = json.loads(done.out)["items"]
    assert next(item for item in items if item["code"] == "gpu")["title"] == "GPU 3"
