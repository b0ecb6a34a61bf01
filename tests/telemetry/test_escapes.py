from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prl_tui.telemetry.escapes import Look, Piece, decode, last_frame, pieces, plain

HOSTILE = Path(__file__).parents[1] / "fixtures" / "telemetry" / "L22.log"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", b"plain"),
        (b"a\rb\rc", b"c"),
        (b"Train: 10%\r", b"Train: 10%"),  # a pty ends its lines with \r\n
        (b"Train: 10%\r      \r", b"Train: 10%"),  # tqdm clears with blanks
        (b"Train: 10%\r\x1b[2K\r\x1b[K", b"Train: 10%"),
        (b"\r   \r{'loss': 1}", b"{'loss': 1}"),
        (b"\r \r", b""),
    ],
)
def test_the_last_frame_that_is_not_blank_is_shown(raw, shown):
    assert last_frame(raw) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b]0;pwn\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("before\x1b]0;never ends", "before"),
        ("\x1bPq#0;2;0\x1b\\after", "after"),
        ("\x1b[A\x1b[2K\x1b[1;1Hat home", "at home"),
        ("cut\x1b[38;2", "cut"),
        ("cut\x1b[", "cut"),
        ("cut\x1b", "cut"),
        ("\x1b(Bset\x1b7save\x1bcreset", "setsavereset"),
        ("\x1b[>4;2mkeys\x1b[?25lcursor", "keyscursor"),
        ("\x9b31mred\x9d0;t\x9cafter", "redafter"),
        ("bell\x07 back\x08space nul\x00", "bell backspace nul"),
        ("odd\x01\x85", "odd��"),
        ("⚠\ufe0f 👩\u200d🔬 x", "⚠ 👩🔬 x"),
        ("\u202eright to left\u202c שלום", "right to left שלום"),
        ("flag 🇨🇳", "flag CN"),
        ("a\tb\tcd", "a       b       cd"),
        ("\x1b[1mab\x1b[0m\tc", "ab      c"),
        ("\ud800 lone", "\ufffd lone"),
    ],
)
def test_nothing_but_text_remains(text, shown):
    assert plain(text) == shown
    assert "".join(piece.text for piece in pieces(text)) == shown


def test_split_utf8_is_replaced():
    assert plain("损失".encode()[1:]) == "\ufffd\ufffd失"
    assert decode(b"ok \xe6\x8d") == "ok \ufffd"


@pytest.mark.parametrize(
    ("codes", "look"),
    [
        ("1;34", Look(foreground=4, bold=True)),
        ("91", Look(foreground=9)),
        ("107", Look(background=15)),
        ("38;5;208", Look(foreground=208)),
        ("38;2;255;0;10", Look(foreground=(255, 0, 10))),
        ("48:2::1:2:3", Look(background=(1, 2, 3))),
        ("38:5:7", Look(foreground=7)),
        ("4:3", Look(underline=True)),
        ("4:0", Look()),
        ("1;2;3;4;7;9", Look(bold=True, dim=True, italic=True, underline=True, reverse=True, strike=True)),
        ("1;2;22", Look()),
        ("31;39;41;49", Look()),
        ("31;0", Look()),
        ("31;", Look()),
        ("38;5", Look()),
        ("38;2;999;0;0;1", Look(bold=True)),
        ("9" * 5000, Look()),
        ("5;8", Look()),  # blinking and hidden text stay visible and still
    ],
)
def test_sgr_becomes_a_look(codes, look):
    assert pieces(f"\x1b[{codes}mx") == (Piece("x", look),)


def test_a_look_ends_with_its_line():
    lines = HOSTILE.read_bytes().split(b"\n")
    red = next(number for number, line in enumerate(lines) if b"red without reset" in line)
    assert pieces(decode(lines[red]))[-1].look == Look(foreground=(255, 0, 0))
    assert pieces(decode(lines[red + 1])) == (Piece("next line must not be red"),)


def test_brackets_of_a_hostile_log_are_text():
    lines = [plain(line) for line in HOSTILE.read_bytes().split(b"\n")]
    assert lines[0] == "[INFO:swift] Using data/train [/data/proj/run.py] with model [bold]"
    assert "[/INST] answer [/red] [link=x]y[/]" in lines[1]
    assert "after-osc" in lines
    assert not any("\x1b" in line or "\x07" in line for line in lines)


@given(st.text(alphabet=st.sampled_from("ab[]0;1m?\x1b\x07\r\t\x9b\x9c\\P]é损\ufe0f\u200d"), max_size=60))
def test_no_control_survives_whatever_comes(text):
    shown = plain(text)
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in shown)
    assert shown == "".join(piece.text for piece in pieces(text))
    assert "\ufe0f" not in shown
    assert "\u200d" not in shown


@given(st.binary(max_size=200))
def test_any_bytes_can_be_shown(raw):
    plain(raw).encode("utf-8")
