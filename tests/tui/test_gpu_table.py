"""The GPU table as a person sees it: its text at several widths, its choices, and hostile names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App

from prl_tui.core.value import replace
from prl_tui.i18n import set_language
from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.machine.gpu_feed import Reading
from prl_tui.machine.gpus import Gpu, GpuProcess, GpuSnapshot, MigInstance, unreadable
from prl_tui.tui.widgets import gpu_cells
from prl_tui.tui.widgets.gpu_table import CONFIGURE, WATCH, GpuTable, summary

GIB = 1 << 30
NOW = 1_700_000_000.0


def idle(index, **values):
    """An H100 as it was recorded idle."""
    base = {
        "uuid": f"GPU-{index}",
        "name": "NVIDIA H100 80GB HBM3",
        "memory_used": 0,
        "memory_total": 85520809984,
        "memory_reserved": 503316480,
        "utilization": 0,
        "power": 73.1,
        "power_limit": 700.0,
        "temperature": 33,
        "clock_reasons": ("idle",),
        "processes": (),
    }
    return Gpu(index, **{**base, **values})


def process(user="alice", command="python train.py", seconds=3 * 3600, **values):
    return GpuProcess(4242, "compute", 60 * GIB, user, command, NOW - seconds, **values)


BUSY = idle(1, memory_used=int(61.2 * GIB), utilization=98, power=640.2, temperature=61, processes=(process(),))
MIG = idle(
    2,
    utilization=None,
    mig=True,
    missing={"utilization": "mig"},
    mig_instances=(
        MigInstance(0, "MIG-0", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 1, 20 * GIB, 40 * GIB),
        MigInstance(1, "MIG-1", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 2, 0, 10 * GIB),
    ),
    processes=(process("bob", "vllm", 600, instance=1),),
)
HUGE = idle(11, name="NVIDIA RTX PRO 6000 Blackwell Workstation Edition", utilization=100, temperature=101)
HUGE = replace(HUGE, power=1000.0, power_limit=1000.0)
LOST = unreadable(3, "lost", "lost", idle(3))
BOX = GpuSnapshot(NOW, (idle(0), BUSY, MIG, LOST), "580.159.04", "13.0")


def reading(snapshot=BOX, **values):
    return Reading(**{"snapshot": snapshot, "age": 0.4, "stale": False, "waited": 9.0, **values})


class Box(App):
    def __init__(self, columns=CONFIGURE):
        super().__init__()
        self.columns = columns
        self.changes = []

    def compose(self):
        yield GpuTable(self.columns)

    def on_gpu_table_selection_changed(self, message):
        self.changes.append(message.indices)

    @property
    def table(self):
        return self.query_one(GpuTable)

    def text(self):
        return [self.table.render_line(y).text.rstrip() for y in range(self.table.size.height)]


async def drawn(width, *readings, columns=CONFIGURE, prepare=lambda table: None):
    app = Box(columns)
    async with app.run_test(size=(width, 24)) as pilot:
        prepare(app.table)
        for one in readings:
            app.table.show(one)
        await pilot.pause()
        return app.text()


CONFIGURE_120 = """\
use   #  name                 memory GiB              util      power W   °C  used by
[ ]   0  H100 80GB HBM3       0.0 / 79.6               0 %     73 / 700   33  free
[ ]   1  H100 80GB HBM3      61.2 / 79.6  ██████▎     98 %    640 / 700   61  ! alice, python train.py, 3 h
[ ]   2  H100 80GB HBM3       0.0 / 79.6                 –     73 / 700   33  ! bob, vllm, 10 min
      └  MIG 3g.40gb         20.0 / 40.0  ████                                ! bob, vllm, 10 min
      └  MIG 1g.10gb          0.0 / 10.0
      3  H100 80GB HBM3         – / 79.6                 –            –    –  ✗ lost"""

CONFIGURE_80 = """\
use   #  name               memory GiB    util      W   °C  used by
[ ]   0  H100 80GB HBM3     0.0 / 79.6     0 %     73   33  free
[ ]   1  H100 80GB HBM3    61.2 / 79.6    98 %    640   61  ! alice, python tra…
[ ]   2  H100 80GB HBM3     0.0 / 79.6       –     73   33  ! bob, vllm, 10 min
      └  MIG 3g.40gb       20.0 / 40.0                      ! bob, vllm, 10 min
      └  MIG 1g.10gb        0.0 / 10.0
      3  H100 80GB HBM3       – / 79.6       –      –    –  ✗ lost"""

WATCH_80 = """\
rank   #    util            memory GiB      power W   °C   MHz
  r0   1    98 %      █    61.2 / 79.6    640 / 700   61     –  ! slow
       2       –      ·     0.0 / 79.6     73 / 700   33     –  MIG is on
r2-3   └                   20.0 / 40.0                          3g.40gb
       └                    0.0 / 10.0                          1g.10gb
  r1   3       –      ·       – / 79.6            –    –     –  ✗ lost"""

WATCH_60 = """\
rank   #    util            memory GiB      W   °C
       0     0 %      ▁     0.0 / 79.6     73   33
  r0   1    98 %      █    61.2 / 79.6    640   61  ! slow
       2       –      ·     0.0 / 79.6     73   33  MIG is …
       └                   20.0 / 40.0              3g.40gb
       └                    0.0 / 10.0              1g.10gb
       3       –      ·       – / 79.6      –    –  ✗ lost"""


@pytest.mark.parametrize(("width", "text"), [(160, CONFIGURE_120), (120, CONFIGURE_120), (80, CONFIGURE_80)])
async def test_the_configure_table_reads_at_each_width(width, text):
    assert await drawn(width, reading()) == text.splitlines()


async def test_the_watch_table_names_ranks_and_what_the_screen_says_about_them():
    def run(table):
        table.set_ranks({(1, None): [0], (2, 0): [2, 3], (3, None): [1]}, only=True)
        table.set_notes({1: "! slow", 3: "not shown, as it is lost"})

    assert await drawn(80, reading(), columns=WATCH, prepare=run) == WATCH_80.splitlines()


async def test_the_watch_table_fits_a_narrow_pane():
    def run(table):
        table.set_ranks({(1, None): [0]})
        table.set_notes({1: "! slow"})

    assert await drawn(60, reading(), columns=WATCH, prepare=run) == WATCH_60.splitlines()


@pytest.mark.parametrize("columns", [CONFIGURE, WATCH])
@pytest.mark.parametrize("width", [*range(20, 60, 3), 79, 80, 99, 100, 120, 160, 240])
def test_no_value_moves_a_column(columns, width):
    shape = gpu_cells.layout(columns, width)
    total = sum(one for _, one in shape.columns) + gpu_cells.GAP * (len(shape.columns) - 1)
    assert total <= width
    huge = replace(HUGE, memory_used=1400 * GIB, memory_total=1500 * GIB)
    for gpu in (idle(0), huge, LOST, Gpu(7), BUSY):
        for name, cells in shape.columns:
            text, _ = gpu_cells.gpu_cell(name, cells, gpu, compact=shape.compact)
            assert cell_len(gpu_cells.fit(text, cells, name)) == cells


@given(text=st.text(max_size=60), width=st.integers(1, 40), column=st.sampled_from([*CONFIGURE, *WATCH]))
def test_any_text_takes_exactly_its_cells_and_no_control_passes(text, width, column):
    shown = gpu_cells.fit(text, width, column)
    assert cell_len(shown) == width
    assert all(sign.isprintable() for sign in shown)


def test_a_number_is_never_cut_where_its_column_is_shown():
    for columns in (CONFIGURE, WATCH):
        for width in (40, 60, 80, 100, 160):
            shape = gpu_cells.layout(columns, width)
            for name, cells in shape.columns:
                text, _ = gpu_cells.gpu_cell(name, cells, HUGE, compact=shape.compact)
                if name in ("index", "util", "temperature", "power", "memory"):
                    assert cell_len(text) <= cells, (name, width)


async def test_an_unknown_value_is_a_dash_and_never_zero():
    blind = Gpu(0, name="NVIDIA H100", missing={})
    row = (await drawn(120, reading(GpuSnapshot(NOW, (blind,)))))[1]
    assert "0 %" not in row
    assert row.split() == ["[", "]", "0", "H100", "–", "–", "–", "–", "·", "unknown"]


async def test_hostile_names_stay_literal_and_send_no_escape():
    evil = process("[/INST]", "py[red]thon\x1b[2J\x1b]0;pwn\x07\u202e.py", 30)
    gpu = replace(BUSY, name="NVIDIA [bold]H100[/]\x1b[31m", processes=(evil, process()))
    _, row = await drawn(160, reading(GpuSnapshot(NOW, (gpu,))))
    assert "[bold]H100[/]·[…" in row
    assert r"! [/INST], py[red]thon\x1b[2J\x1b]0;pwn\x07\u202e.py, 30 s (+1)" in row
    assert "\x1b" not in row


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        (
            replace(BUSY, processes=(GpuProcess(None, "compute", missing={"pid": "x", "started": "x"}),)),
            "! in use, hidden process",
        ),
        (
            replace(BUSY, processes=(GpuProcess(77, "compute", missing={"started": "x"}),)),
            "! in use, hidden process 77",
        ),
        (replace(BUSY, processes=()), "! in use, hidden process"),
        (replace(BUSY, processes=(process(user=None),)), "! python train.py, 3 h"),
        (replace(BUSY, processes=(process(seconds=9 * 86400),)), "! alice, python train.py, 9 days"),
        (replace(idle(0), memory_used=None), "· unknown"),
        (unreadable(0, "denied", "no-permission"), "✗ denied"),
        (unreadable(0, "error", "reset-required"), "✗ reset it"),
        (idle(0), "free"),
    ],
)
def test_who_uses_a_gpu_is_told_in_words(gpu, words):
    assert gpu_cells.used_by(gpu, NOW)[0] == words


def test_a_slowed_gpu_says_why_and_a_power_cap_is_no_trouble():
    assert gpu_cells.note(replace(BUSY, clock_reasons=("hw-thermal",)), "") == (
        "! slowed: heat, hardware limit",
        "busy",
    )
    assert gpu_cells.note(replace(BUSY, clock_reasons=("power-cap",)), "") == ("power cap", "muted")
    assert gpu_cells.note(replace(BUSY, clock_reasons=("idle",)), "") == ("", "plain")


async def test_space_chooses_and_drops_the_gpu_under_the_cursor():
    app = Box()
    async with app.run_test(size=(120, 24)) as pilot:
        app.table.show(reading())
        app.table.focus()
        await pilot.press("space", "down", "space", "up", "space")
        assert app.changes == [(0,), (0, 1), (1,)]
        assert app.table.selected == (1,)
        assert app.text()[2].startswith("[x]   1")


async def test_a_click_chooses_a_row_and_a_mig_row_means_its_gpu():
    app = Box()
    async with app.run_test(size=(120, 24)) as pilot:
        app.table.show(reading())
        await pilot.pause()
        await pilot.click(GpuTable, offset=(1, 2))
        await pilot.click(GpuTable, offset=(30, 4))
        await pilot.click(GpuTable, offset=(1, 0))
        assert app.changes == [(1,), (1, 2)]


async def test_a_lost_gpu_cannot_be_chosen_but_can_be_dropped():
    app = Box()
    async with app.run_test(size=(120, 24)) as pilot:
        app.table.show(reading())
        await pilot.pause()
        await pilot.click(GpuTable, offset=(1, 6))
        assert app.changes == []
        app.table.select([0, 3])
        await pilot.pause()
        assert app.changes == []
        await pilot.click(GpuTable, offset=(1, 6))
        assert app.changes == [(0,)]


async def test_choices_stay_while_snapshots_come_and_a_gpu_goes():
    app = Box()
    async with app.run_test(size=(120, 24)) as pilot:
        app.table.select([1])
        app.table.show(reading())
        app.table.show(reading(GpuSnapshot(NOW + 1, (idle(0), unreadable(1, "lost", "lost", BUSY)))))
        await pilot.pause()
        assert app.table.selected == (1,)
        assert [line[:7] for line in app.text()] == ["use   #", "[ ]   0", "[x]   1"]


async def test_the_watch_table_takes_no_focus_and_no_clicks():
    app = Box(WATCH)
    async with app.run_test(size=(120, 24)) as pilot:
        app.table.show(reading())
        await pilot.pause()
        await pilot.click(GpuTable, offset=(1, 1))
        assert not app.table.can_focus
        assert app.table.selected == ()


async def test_history_is_drawn_on_a_fixed_scale_one_sample_per_snapshot():
    readings = []
    for step, percent in enumerate((0, 50, None, 100)):
        snapshot = GpuSnapshot(NOW + step, (replace(BUSY, utilization=percent),))
        readings += [reading(snapshot), reading(snapshot)]  # shown twice, counted once
    row = (await drawn(80, *readings, columns=WATCH))[1]
    assert "   ▁▄·█    61.2" in row


async def test_only_lines_that_changed_are_drawn_again(monkeypatch):
    app, asked = Box(WATCH), []
    async with app.run_test(size=(120, 24)) as pilot:
        for n in range(12):  # until the history is as long as its column
            app.table.show(reading(GpuSnapshot(NOW + n, (idle(0), BUSY))))
        await pilot.pause()
        monkeypatch.setattr(app.table, "refresh", lambda *regions, **how: asked.append((regions, how)))
        app.table.show(reading(GpuSnapshot(NOW + 20, (idle(0), BUSY))))
        assert asked == []
        app.table.show(reading(GpuSnapshot(NOW + 21, (idle(0), replace(BUSY, temperature=70)))))
        (((region,), _),) = asked
        assert (region.y, region.height) == (2, 1)


async def test_old_values_say_how_old_they_are_without_moving_anything():
    fresh = await drawn(120, reading())
    stale = await drawn(120, reading(age=12.0, stale=True, fault=GpuFault("hung", {"seconds": "12"})))
    assert stale[0] == fresh[0].replace("used by", "! 12 s old")
    assert stale[1:] == fresh[1:]


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (reading(None, age=None), "Asking the NVIDIA driver since 9 s …"),
        (reading(GpuSnapshot(NOW, fault=GpuFault("no-gpus"))), "The NVIDIA driver answers but shows no GPU here"),
        (reading(None, age=None, fault=GpuFault("hung", {"seconds": "31"})), "has not answered for 31 s"),
        (reading(GpuSnapshot(NOW, fault=GpuFault("other", {"message": "[/x]\x1b[2J"}))), r"reports: [/x]\x1b[2J"),
    ],
)
async def test_a_problem_is_its_one_sentence(one, words):
    assert words in " ".join(await drawn(80, one))


async def test_a_long_sentence_wraps_in_a_small_pane():
    text = await drawn(40, reading(GpuSnapshot(NOW, fault=GpuFault("wsl"))))
    assert len(text) > 2
    assert " ".join(text).endswith("/usr/lib/wsl/lib")


@pytest.mark.parametrize("width", [20, 32, 40, 80])
async def test_a_chinese_sentence_wraps_whole(width):
    set_language("zh")
    try:
        one = GpuFault("version-mismatch")
        text = await drawn(width, reading(GpuSnapshot(NOW, fault=one)))
        assert "".join("".join(text).split()) == "".join(one.sentence.split())
    finally:
        set_language("en")


async def test_eight_gpus_take_eight_rows():
    box = GpuSnapshot(NOW, tuple(idle(index) for index in range(8)))
    assert [line[4:7].strip() for line in await drawn(80, reading(box))] == ["#", *"01234567"]


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (None, "Asking the NVIDIA driver …"),
        (GpuSnapshot(NOW, (idle(0), BUSY)), "2 GPUs: 1 free, 1 busy"),
        (GpuSnapshot(NOW, (idle(0),)), "1 GPU: 1 free"),
        (BOX, "4 GPUs with 2 MIG slices: 1 free, 2 busy, 1 not usable"),
        (GpuSnapshot(NOW, (replace(idle(0), memory_used=None),)), "1 GPU: 1 unknown"),
        (GpuSnapshot(NOW, fault=GpuFault("no-gpus")), "The NVIDIA driver answers but shows no GPU here"),
    ],
)
def test_a_small_screen_gets_all_gpus_in_one_line(snapshot, words):
    assert summary(snapshot) == words


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark"])
async def test_it_draws_in_each_kind_of_theme(theme):
    app = Box()
    async with app.run_test(size=(120, 24)) as pilot:
        app.theme = theme
        app.table.show(reading())
        await pilot.pause()
        assert app.text() == CONFIGURE_120.splitlines()
