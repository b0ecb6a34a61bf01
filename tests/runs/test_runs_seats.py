"""Which process has a rank's seat, and on which GPU it sits. Judged by environments as torchrun and platforms set them."""

from __future__ import annotations

import pytest

from prl_tui.machine.gpus import Gpu, GpuProcess, GpuSnapshot, unreadable
from prl_tui.runs import seats
from prl_tui.runs.proctree import Seen
from prl_tui.runs.seats import Place, Seat, Seats, of_processes, places


def found(*processes):
    """`(pid, parent, environment)` each."""
    environments = {pid: environment for pid, _, environment in processes}
    return of_processes([Seen(pid, parent, pid, 1) for pid, parent, _ in processes], environments.__getitem__)


def rank(number, local=None, **more):
    return {"RANK": str(number), "LOCAL_RANK": str(number if local is None else local), **more}


def seated(one):
    return [(seat.rank, seat.local_rank, seat.pid, seat.below) for seat in one.ranks]


def test_the_uppermost_process_of_a_rank_has_its_seat_and_loaders_are_below():
    one = found((10, 1, {}), (11, 10, rank(0)), (12, 10, rank(1)), (13, 11, rank(0)), (14, 13, rank(0)))
    assert seated(one) == [(0, 0, 11, {13, 14}), (1, 1, 12, set())]
    assert one.pids == {10, 11, 12, 13, 14}


def test_a_platform_s_rank_of_the_node_is_no_rank_of_a_process():
    node = {"RANK": "1", "WORLD_SIZE": "2"}
    one = found((10, 1, node), (11, 10, {**node, **rank(8, 0)}), (12, 10, {**node, **rank(9, 1)}))
    assert seated(one) == [(8, 0, 11, set()), (9, 1, 12, set())]


def test_a_program_without_a_launcher_is_rank_0():
    assert seated(found((10, 1, {}), (11, 10, {}))) == [(0, 0, 10, {11})]
    assert seated(found()) == []


def test_a_program_without_a_launcher_may_use_no_gpu_at_all():
    one = found((11, 1, {}))
    assert places(one, BOX)[0].witness == "driver"
    assert places(one, GpuSnapshot(1.0, (gpu(0), gpu(1)))) == ()
    (place,) = places(found((11, 1, {"CUDA_VISIBLE_DEVICES": "1"})), GpuSnapshot(1.0, (gpu(0), gpu(1))))
    assert (place.spot, place.witness) == ((1, None), "environment")


def test_what_a_process_may_see():
    (seat,) = found((10, 1, rank(0, CUDA_VISIBLE_DEVICES="3", CUDA_DEVICE_ORDER="PCI_BUS_ID"))).ranks
    assert (seat.visible, seat.by_bus) == ("3", True)
    (seat,) = found((10, 1, rank("٣"))).ranks  # no ASCII digit is still a digit to Python: int reads it too
    assert seat.rank == 3


def gpu(index, *pids):
    held = tuple(GpuProcess(pid, "compute", 1 << 30, "me", "python", 1.0) for pid in pids)
    return Gpu(index, uuid=f"GPU-{index}", name="NVIDIA H100", processes=held)


BOX = GpuSnapshot(1.0, (gpu(0), gpu(1, 11), gpu(2)))
TWO = Seats((Seat(0, 0, 11, "2,0", False), Seat(1, 1, 12, "2,0", False)), frozenset({11, 12}))


def test_the_driver_is_believed_before_the_environment():
    assert places(TWO, BOX) == (Place(0, (1, None), "driver", 11, "2,0"), Place(1, (0, None), "environment", 12, "2,0"))


def test_a_worker_below_tells_where_its_rank_sits():
    one = Seats((Seat(0, 0, 10, None, False, frozenset({11})),), frozenset({10, 11}))
    assert places(one, BOX) == (Place(0, (1, None), "driver", 10, None),)


def test_a_rank_stays_where_it_was_when_its_gpu_is_lost():
    before = places(TWO, BOX)
    lost = GpuSnapshot(2.0, (gpu(0), unreadable(1, "lost", "lost", gpu(1)), gpu(2)))
    assert places(TWO, lost, before=before) == before
    other = Seats((Seat(0, 0, 99, "2,0", False),), frozenset({99}))
    assert places(other, lost, before=before) == (Place(0, (2, None), "environment", 99, "2,0"),)


@pytest.mark.parametrize(
    ("settings", "spots"),
    [({}, [0, 1]), ({"cuda_visible_devices": "2,1"}, [2, 1]), ({"cuda_visible_devices": ""}, []), (None, [0, 1])],
)
def test_without_a_process_the_settings_are_left(settings, spots):
    one = places(Seats(), BOX, [0, 1], settings)
    assert [place.spot[0] for place in one] == spots
    assert {place.witness for place in one} <= {"settings"}


def test_proc_is_looked_at_often_only_until_all_ranks_sit(monkeypatch, tmp_path):
    now, looks, alive = [0.0], [], {11: 1, 12: 1}

    def look(folder):
        looks.append(now[0])
        return TWO if now[0] >= 4 else Seats(TWO.ranks[:1])

    monkeypatch.setattr(seats, "look", look)
    monkeypatch.setattr(seats.proctree, "start_ticks", alive.get)
    watch = seats.SeatWatch(tmp_path, clock=lambda: now[0])
    for second in range(40):
        now[0] = float(second)
        watch.poll(2)
    assert looks == [0, 2, 4, 19, 34]
    first = watch.poll(2)
    assert watch.poll(2) is first
    del alive[12]
    watch.poll(2)
    assert looks[-1] == 39, "a rank that went is looked for at once"
