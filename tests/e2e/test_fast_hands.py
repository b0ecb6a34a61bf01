"""Keys that come in one piece, as from a slow connection or a hand that knows its way, on a real terminal: none is lost, and
each is for what the one before it brought."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.slow

SEED = "/seed\r99\r"


def seed_is(value):
    def told(text):
        return any(
            line.split("seed", 1)[1].split()[:2] == [value, "←"] for line in text.split("\n") if " seed " in line
        )

    return told


@pytest.mark.parametrize("before", ["", "a", "p\x1b[B\r", "Rc", "wc", "r"])
def test_a_setting_is_found_and_typed_in_one_piece(terminal, before):
    screen = terminal(size=(160, 45))
    screen.wait("can launch here", "the verdict on this box")
    screen.child.send(before + SEED)
    screen.wait(seed_is("99"), f"the seed after {before!r}", 20)


@pytest.mark.parametrize("wait", [0.0, 0.1, 0.2, 0.3, 0.5])
def test_keys_from_before_the_first_frame_count(terminal, wait):
    screen = terminal(size=(160, 45))
    time.sleep(wait)
    screen.child.send(SEED)
    screen.wait(seed_is("99"), f"the seed, typed {wait} s after the start", 20)


def test_the_export_of_a_recipe_that_was_chosen_in_the_same_piece_has_its_name(terminal, work):
    screen = terminal(size=(160, 45))
    screen.wait("can launch here", "the verdict on this box")
    screen.child.send("re\r")
    screen.wait("as which file?", "the question")
    screen.keys("enter")
    screen.wait("wrote ", "the file")
    (written,) = work.glob("*.sh")
    head = next(line for line in written.read_text().split("\n") if "written by prl-tui" in line)
    assert head.removeprefix("# ").partition(",")[0].replace("/", "-") == written.stem


def test_escape_and_a_key_in_one_piece_are_both(terminal):
    screen = terminal(size=(160, 45))
    screen.wait("can launch here", "the verdict on this box")
    screen.keys("e")
    screen.wait("Formats", "the formats")
    screen.child.send("\x1bp")
    screen.wait(lambda text: "Formats" not in text, "the form again")
    screen.child.send("/smoke\r")
    screen.wait("smoke-10", "a preset by its name")
