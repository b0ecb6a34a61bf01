"""What an entry of CUDA_VISIBLE_DEVICES names; the rules are CUDA's own (programming guide, environment variables)."""

from __future__ import annotations

import pytest

from prl_tui.machine.gpu_spots import spot_of, spot_of_processes
from prl_tui.machine.gpus import Gpu, GpuProcess, GpuSnapshot, MigInstance, unreadable

SLICES = tuple(MigInstance(n, f"MIG-{n}abc", "1g.10gb", 7 + n, 0, 1 << 30) for n in range(2))


def gpu(index, name="NVIDIA H100", **values):
    return Gpu(index, uuid=f"GPU-{index}abc", name=name, **values)


BOX = GpuSnapshot(1.0, tuple(gpu(n) for n in range(4)))
MIG = GpuSnapshot(1.0, (gpu(0), gpu(1, mig=True, mig_instances=SLICES)))
MIXED = GpuSnapshot(1.0, (gpu(0), gpu(1, "NVIDIA T4")))
LOST = GpuSnapshot(1.0, (gpu(0), unreadable(1, "lost", "lost", gpu(1)), gpu(2)))


@pytest.mark.parametrize(
    ("spec", "position", "box", "spot"),
    [
        (None, 2, BOX, (2, None)),
        (None, 4, BOX, None),
        (None, 1, LOST, (2, None)),
        ("3,1", 0, BOX, (3, None)),
        ("3,1", 1, BOX, (1, None)),
        ("3,1", 2, BOX, None),
        ("3,9", 1, BOX, None),
        ("", 0, BOX, None),
        ("-1", 0, BOX, None),
        ("1,1", 0, BOX, None),
        ("GPU-2", 0, BOX, (2, None)),
        ("GPU-2abc,GPU-0", 1, BOX, (0, None)),
        ("GPU-", 0, BOX, None),
        ("GPU-9", 0, BOX, None),
        ("MIG-1", 0, MIG, (1, 1)),
        ("MIG-0,MIG-1", 1, MIG, None),
        ("1", 0, MIG, (1, 0)),
        ("0", 0, MIG, (0, None)),
        ("0", 0, MIXED, None),
        (None, 0, MIXED, None),
        ("GPU-1", 0, MIXED, (1, None)),
    ],
)
def test_the_card_that_a_process_sees_at_a_position(spec, position, box, spot):
    assert spot_of(spec, position, box) == spot


def test_in_a_mixed_box_numbers_mean_something_only_by_bus_order():
    assert spot_of("1", 0, MIXED, by_bus=True) == (1, None)


def process(pid, held, instance=None, **values):
    return GpuProcess(pid, "compute", held, "me", "python", 1.0, instance, **values)


def test_a_process_is_where_it_holds_most_memory():
    box = GpuSnapshot(
        1.0, (gpu(0, processes=(process(7, 500),)), gpu(1, processes=(process(7, 60_000), process(8, 1))))
    )
    assert spot_of_processes({7}, box) == (1, None)
    assert spot_of_processes({7, 8}, box) == (1, None)
    assert spot_of_processes({9}, box) is None


def test_a_process_on_a_slice_and_one_whose_number_means_nothing_here():
    slices = gpu(1, mig_instances=SLICES, processes=(process(7, 5, 8), process(9, 5, 99)))
    assert spot_of_processes({7}, GpuSnapshot(1.0, (gpu(0), slices))) == (1, 1)
    assert spot_of_processes({9}, GpuSnapshot(1.0, (gpu(0), slices))) == (1, None)
    hidden = GpuProcess(7, "compute", 60_000, missing={"started": "not-visible"})
    assert spot_of_processes({7}, GpuSnapshot(1.0, (gpu(0, processes=(hidden,)),))) is None
