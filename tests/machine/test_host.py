"""Facts about the box, with a container's limits, from files as Linux 6 writes them."""

from __future__ import annotations

import os
import socket

import pytest

from prl_tui.machine import host


def write(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MEMINFO = "MemTotal:       25000000 kB\nMemFree:         1000000 kB\nMemAvailable:   20000000 kB\n"


def test_this_box_is_described():
    found = host.host()
    assert found.name == socket.gethostname()
    assert found.boot_id
    assert 1 <= found.cpus <= len(os.sched_getaffinity(0))
    assert found.memory is not None
    assert 0 < found.memory.free <= found.memory.total
    assert found.pid_namespace == os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116


def test_a_box_that_tells_nothing_gives_none_and_not_zero(tmp_path):
    found = host.host(tmp_path)
    assert (found.boot_id, found.pid_namespace, found.memory) == (None, None, None)
    assert found.cpus >= 1


@pytest.mark.parametrize(("limit", "cpus"), [("50000 100000", 1), ("100000 100000", 1), ("max 100000", None)])
def test_a_cgroup_quota_limits_the_processors(tmp_path, limit, cpus):
    write(tmp_path, proc__self__cgroup="0::/job\n", sys__fs__cgroup__job__cpu_DOT_max=limit)
    assert host.cpu_count(tmp_path) == (cpus or len(os.sched_getaffinity(0)))


def test_the_quota_of_an_outer_group_counts_as_well(tmp_path):
    write(tmp_path, proc__self__cgroup="0::/pod/c\n", sys__fs__cgroup__pod__cpu_DOT_max="100000 100000")
    write(tmp_path, sys__fs__cgroup__pod__c__cpu_DOT_max="max 100000")
    assert host.cpu_count(tmp_path) == 1


def test_version_1_cgroups_are_read_too(tmp_path):
    write(tmp_path, proc__self__cgroup="4:memory:/job\n3:cpu,cpuacct:/job\n", proc__meminfo=MEMINFO)
    write(tmp_path, sys__fs__cgroup__cpu__job__cpu_DOT_cfs_quota_us="100000")
    write(tmp_path, sys__fs__cgroup__cpu__job__cpu_DOT_cfs_period_us="100000")
    write(tmp_path, sys__fs__cgroup__memory__job__memory_DOT_limit_in_bytes="9223372036854771712")
    assert host.cpu_count(tmp_path) == 1
    assert host.memory(tmp_path) == host.Space(25000000 * 1024, 20000000 * 1024)


def test_a_memory_limit_below_the_box_counts_with_its_reclaimable_cache(tmp_path):
    gib = 1 << 30
    write(tmp_path, proc__self__cgroup="0::/job\n", proc__meminfo=MEMINFO)
    write(tmp_path, sys__fs__cgroup__job__memory_DOT_max=str(4 * gib))
    write(tmp_path, sys__fs__cgroup__job__memory_DOT_current=str(3 * gib))
    write(tmp_path, sys__fs__cgroup__job__memory_DOT_stat=f"anon 1\ninactive_file {gib}\n")
    assert host.memory(tmp_path) == host.Space(4 * gib, 2 * gib)


def test_free_space_of_a_folder_that_is_not_there_yet_is_its_parents(tmp_path):
    found = host.space(tmp_path / "runs" / "new")
    assert found is not None
    assert found.total == host.space(tmp_path).total
    assert 0 <= found.free <= found.total
