"""What will run, as shown, is what is written: preview tabs, the export dialog, saving a preset."""

from __future__ import annotations

import asyncio
import errno
import os

import pytest
from textual import events
from textual.widgets import Input

from prl_tui import atomic
from prl_tui.core import catalog, config_file
from prl_tui.export.formats import FORMATS, fitting
from prl_tui.machine import paths, presets
from prl_tui.tui.help import export_help
from prl_tui.tui.palette import Palette
from prl_tui.tui.screens.dialogs import AskText, Help, Question
from prl_tui.tui.screens.export import ExportScreen, FormatList
from prl_tui.tui.screens.runs import RunsScreen
from tests.tui.driving import click_text, configure, lines, screen, sees, text_of, wait_for

WIDE, SMALL = (160, 45), (80, 24)
SECRET = "hf_" + "aB3" * 12
"""By its look a token of a model hub."""


def preview_text(place):
    return "\n".join(place.preview.query_one("#preview-text")._lines)


def written(place, name):
    return FORMATS[name](place.session.verdict.plan).text.rstrip("\r\n").replace("\r\n", "\n")


async def export(pilot, name="bash"):
    """Open the export screen and put the cursor on a format."""
    await pilot.press("e")
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the export screen")
    formats = await wait_for(pilot, lambda: pilot.app.screen.query_one_optional(FormatList), "the formats")
    await wait_for(pilot, lambda: formats.has_focus, "its focus")
    while formats.choice.name != name:
        before = formats.cursor
        down = [one.name for one in formats.choices].index(name) > before
        await pilot.press("down" if down else "up")
        await wait_for(pilot, lambda old=before: formats.cursor != old, "the next format")
    return pilot.app.screen


async def save_as(pilot, text):
    """Ask for the file and name it."""
    await pilot.press("enter")
    await answer(pilot, text)


async def answer(pilot, text):
    """Type an answer into the dialog's field over what is there."""
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the dialog")
    pilot.app.screen.query_one("#text").value = text
    await pilot.press("enter")


def begins(place, name):
    return FORMATS[name](place.session.verdict.plan).begins


def value(pilot):
    return pilot.app.screen.query_one("#text").value


def dialog_text(pilot):
    """What the dialog says, whatever its lines."""
    return " ".join(screen(pilot.app).replace("│", " ").split())


async def refused(pilot, text, sentence):
    """The dialog is still there, with the text and the reason."""
    await wait_for(pilot, lambda: sentence in dialog_text(pilot), sentence)
    assert isinstance(pilot.app.screen, AskText)
    assert value(pilot) == text


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_each_tab_shows_what_export_writes_and_v_walks_through_them(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        if size == SMALL:
            await pilot.press("v")
        for name in ("command", "bash", "toml", "command"):
            await wait_for(pilot, lambda n=name: preview_text(place) == written(place, n), f"the text of {name}")
            first = next(line for line in written(place, name).split("\n")[begins(place, name) :] if line.strip())
            await sees(pilot, first[:40])
            await pilot.press("v")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_the_frame_of_the_command_says_which_port_a_launch_takes_instead(app, size):
    async with app("demo", "two-ranks").run_test(size=size) as pilot:
        place = await configure(pilot)
        if size == SMALL:
            await pilot.press("v")
        said = "Launched here: --master_port=PORT, a free one, not --standalone"
        await wait_for(pilot, lambda: said in text_of(place.preview).split("\n")[0], "the port")
        await pilot.press("right_square_bracket")
        await wait_for(pilot, lambda: "Launched" not in text_of(place.preview).split("\n")[0], "not of a script")
        await pilot.press("left_square_bracket")
        place.session.set_text("master_port", "30000")
        place.update()
        await wait_for(pilot, lambda: "--master_port=30000" in preview_text(place), "the port of one's own")
        assert "Launched" not in text_of(place.preview).split("\n")[0]


@pytest.mark.parametrize("size", [WIDE, (110, 35), SMALL])
async def test_brackets_turn_the_formats_both_ways_and_the_frame_says_so(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        if size != WIDE:
            await pilot.press("right_square_bracket")  # nothing to be turned is in sight
            await pilot.press("v")
        await wait_for(pilot, lambda: "v ]  next format" in text_of(place.preview).split("\n")[-1], "the keys")
        for key, name in (("right", "bash"), ("right", "toml"), ("right", "command"), ("left", "toml")):
            await pilot.press(f"{key}_square_bracket")
            await wait_for(pilot, lambda n=name: preview_text(place) == written(place, n), f"the text of {name}")
            marked = text_of(place.preview).split("\n")[1]
            assert f"▸{'TOML' if name == 'toml' else name}" in marked


async def test_a_bracket_that_is_typed_into_a_field_is_text(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        place.form.go_to("output_dir")
        await pilot.press("enter", "left_square_bracket", "right_square_bracket", "enter")
        await wait_for(pilot, lambda: str(place.session.config.value("output_dir")).endswith("[]"), "the brackets")
        assert preview_text(place) == written(place, "command")


async def test_a_click_on_a_tab_shows_its_format(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await click_text(pilot, place.preview, "TOML")
        await wait_for(pilot, lambda: preview_text(place) == written(place, "toml"), "the TOML")


async def test_the_preview_follows_every_keystroke(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        place.form.go_to("max_completion_length")
        await pilot.press("5")
        await wait_for(pilot, lambda: "--max_completion_length 5 " in preview_text(place), "the first digit")
        await pilot.press("1")
        await wait_for(pilot, lambda: "--max_completion_length 51 " in preview_text(place), "the second digit")


async def test_a_preview_that_comes_into_sight_by_a_resize_is_not_an_old_one(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        place.form.go_to("max_completion_length")
        await pilot.press("5", "1", "2", "enter")
        await pilot.resize_terminal(*WIDE)
        await wait_for(pilot, lambda: "--max_completion_length 512 " in preview_text(place), "the value of now")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("bash", "run.sh"),
        ("toml", "run.toml"),
        ("command", "run.txt"),
        ("dlc", "run.dlc.sh"),
        ("dstack", "my.dstack.yml"),
    ],
)
async def test_export_writes_the_format_that_the_ending_says(app, tmp_path, name, file):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await export(pilot, name)
        target = tmp_path / "out" / file
        target.parent.mkdir()
        await save_as(pilot, str(target))
        await wait_for(pilot, target.exists, "the file")
        assert target.read_text() == FORMATS[name](place.session.verdict.plan).text
        assert bool(target.stat().st_mode & 0o111) == (name in {"bash", "dlc"})
        if name == "toml":
            assert config_file.read(target, place.session.catalog).preset == "standard-4gpu"


async def test_the_suggested_name_lies_in_the_working_directory(app):
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        await export(pilot)
        await pilot.press("s")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the dialog")
        assert pilot.app.screen.query_one("#text").value == "prl-grpo-standard-4gpu.sh"
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the formats again")
        await pilot.press("escape")
        await configure(pilot)


@pytest.mark.slow
async def test_an_existing_different_file_is_shown_as_a_diff_and_kept_by_default(app, tmp_path):
    target = tmp_path / "run.sh"
    target.write_text("#!/bin/bash\necho mine [bold]\x1b[31m\n")
    before = target.read_bytes()
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await export(pilot)
        await save_as(pilot, str(target))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        shown = await wait_for(pilot, lambda: "mine" in screen(pilot.app) and screen(pilot.app), "the old text")
        assert "-echo mine [bold]�[31m" in shown
        assert not any("\x1b" in line for line in lines(pilot.app))
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the formats")
        assert target.read_bytes() == before
        await save_as(pilot, str(target))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question again")
        await pilot.press("y")
        await wait_for(pilot, lambda: target.read_bytes() != before, "the new text")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the formats, for the next one")
        assert target.read_text().rstrip("\n") == written(place, "bash")


async def test_the_same_text_again_asks_nothing(app, tmp_path):
    target = tmp_path / "run.sh"
    async with app().run_test(size=WIDE, notifications=True) as pilot:
        place = await configure(pilot)
        target.write_text(written(place, "bash") + "\n")
        await export(pilot)
        await save_as(pilot, str(target))
        await wait_for(pilot, lambda: "wrote" in screen(pilot.app), "that it is written")
        assert isinstance(pilot.app.screen, ExportScreen)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("run.toml", "this ending is that of toml"),
        ("missing/run.sh", "cannot be written"),
        ("folder.sh", "no file that can be replaced"),
        ("pipe.sh", "no file that"),
    ],
)
async def test_what_cannot_be_written_is_said_and_nothing_breaks(app, tmp_path, file, sentence):
    (tmp_path / "folder.sh").mkdir()
    os.mkfifo(tmp_path / "pipe.sh")
    async with app().run_test(size=(120, 35), notifications=True) as pilot:
        await configure(pilot)
        await export(pilot)
        await save_as(pilot, str(tmp_path / file))
        await refused(pilot, str(tmp_path / file), sentence)


async def test_a_config_with_errors_is_not_exported_and_says_which_field_and_the_way_there(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        place.form.go_to("num_generations")
        await pilot.press("3", "enter", "f")
        await wait_for(pilot, lambda: place.session.verdict.report.ok, "the error mended")
        await pilot.press("u")
        await wait_for(pilot, lambda: not place.session.verdict.report.ok, "the error again")
        place.form.go_to("output_dir")
        await export(pilot)
        await sees(pilot, "2 errors")
        await pilot.press("enter")
        found = await wait_for(
            pilot, lambda: [n.message for n in pilot.app._notifications if "Not exported" in n.message], "the reason"
        )
        first = place.session.verdict.report.findings[0]
        for words in (
            first.message,
            "esc leads back to the field “generations”",
            place.session.verdict.first_fix.label,
        ):
            assert words in found[0]
        assert isinstance(pilot.app.screen, ExportScreen)
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is place and place.form.key == first.field, "the field")
        assert place.form.has_focus
        await pilot.press("f")
        await wait_for(pilot, lambda: place.session.verdict.report.ok, "the error mended again")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_the_help_of_export_names_its_keys_and_goes_back_to_it(app, size):
    async with app().run_test(size=size) as pilot:
        await configure(pilot)
        shown = await export(pilot)
        await wait_for(pilot, lambda: "? help" in lines(pilot.app)[-1], "the keys")
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Help), "the help")
        for words in export_help().split("\n"):
            await sees(pilot, words)
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is shown, "the formats again")


@pytest.mark.parametrize("key", ["colon", "ctrl+p"])
@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_actions_by_name_are_there_over_the_formats_and_do_it(app, key, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        shown = await export(pilot)
        await pilot.press(key)
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*"copy", "enter")
        await wait_for(pilot, lambda: pilot.app.screen is shown and pilot.app.clipboard, "the copy")
        assert pilot.app.clipboard.rstrip("\n") == written(place, "bash")


async def test_from_the_formats_another_place_or_preset_leaves_no_dialog_behind(app):
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        await export(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*"go run", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs")
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("c")
        await configure(pilot)
        await export(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*"grpo quick-t", "enter")
        place = await configure(pilot)
        assert place.session.config.preset == "quick-test"
        assert len(pilot.app.screen_stack) == 2


# --- presets of one's own -----------------------------------------------------------------------------------------


def own_file():
    return paths.config_dir() / "presets" / "prl-grpo.toml"


def own_catalog():
    return catalog.load([paths.config_dir() / "presets"])


async def test_a_saved_preset_is_read_by_the_catalogue_and_chosen_at_once(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        place.form.go_to("max_completion_length")
        await pilot.press("5", "1", "2", "enter", "s")
        await answer(pilot, "night")
        await wait_for(pilot, own_file().exists, "the file")
        await wait_for(pilot, lambda: pilot.app.session.config.preset == "night", "the new preset chosen")
        place = await configure(pilot)
        await wait_for(pilot, lambda: "▸ night" in text_of(place.presets), "the new preset in the list")
    found = own_catalog()
    assert found.problems == ()
    from prl_tui.core.config import resolve

    saved = resolve(found.recipes["prl-grpo"], "night")
    assert saved.number("max_completion_length") == 512
    assert saved.number("nproc_per_node") == 4


async def test_saving_keeps_the_comments_of_the_file(app):
    own_file().parent.mkdir(parents=True)
    own_file().write_text(
        'schema = 1\nextends = "prl-grpo"\n# my favourite\n[presets.old.values]\nnum_generations = 4  # four\n'
    )
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        place.session.set_text("max_completion_length", "512")
        await pilot.press("s")
        await answer(pilot, "new")
        await wait_for(pilot, lambda: "new" in own_file().read_text(), "the new preset")
    text = own_file().read_text()
    assert "# my favourite" in text
    assert "# four" in text
    assert {"old", "new"} <= set(own_catalog().recipes["prl-grpo"].presets)


@pytest.mark.parametrize(
    ("preset", "words"),
    [("standard-4gpu", "from the preset standard-4gpu."), ("", "from the defaults of prl-grpo.")],
)
async def test_an_unchanged_form_has_nothing_to_save(app, preset, words):
    async with app("prl-grpo", preset).run_test(size=WIDE, notifications=True) as pilot:
        place = await configure(pilot)
        place.session.choose("prl-grpo", preset)
        await pilot.press("s")
        told = f"Nothing to save: no setting differs {words}"
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if n.message == told], "the reason")
        assert pilot.app.screen is place
        with pytest.raises(ValueError, match=words):
            presets.save(own_file(), place.session.config, "empty")
        assert not own_file().exists()


@pytest.mark.parametrize(
    ("name", "sentence"), [("standard-4gpu", "built-in"), ("a/b", "cannot be"), ("[bold]", "cannot be")]
)
@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_preset_never_shadows_a_built_in_one_and_has_a_plain_name(app, name, sentence, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        place.session.set_text("max_completion_length", "512")
        await pilot.press("s")
        await answer(pilot, name)
        await refused(pilot, name, sentence)
        assert not own_file().exists()
        await pilot.press("l", "q", "2")
        await wait_for(pilot, lambda: value(pilot) == f"{name}lq2", "the keys typed on")
        assert isinstance(pilot.app.screen, AskText), "they are text, not keys of the form"
        await wait_for(pilot, lambda: sentence not in dialog_text(pilot), "the word about another text gone")
        await pilot.press("ctrl+u", "o", "w", "n", "enter")
        await wait_for(pilot, own_file().exists, "the file of a name that can be one")
        place = await configure(pilot)
        await wait_for(pilot, lambda: place.session.config.preset == "own", "the new preset chosen")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_enter_without_a_name_asks_for_one_and_escape_leaves(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        place.session.set_text("max_completion_length", "512")
        await pilot.press("s")
        await answer(pilot, "  ")
        await refused(pilot, "  ", "Nothing is typed yet")
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the form again")
    assert not own_file().exists()


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_folder_that_is_missing_keeps_the_name_in_the_dialog_until_it_can_be_written(app, tmp_path, size):
    target = tmp_path / "later" / "run.sh"
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        await export(pilot)
        await save_as(pilot, str(target))
        await refused(pilot, str(target), "cannot be written: No such file or directory")
        target.parent.mkdir()
        await pilot.press("enter")
        await wait_for(pilot, target.exists, "the file")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the formats")
        assert target.read_text().rstrip("\n") == written(place, "bash")


async def test_a_file_that_cannot_be_replaced_after_a_yes_brings_its_name_back(app, tmp_path, monkeypatch):
    target = tmp_path / "run.sh"
    target.write_text("mine\n")
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        await export(pilot)
        await save_as(pilot, str(target))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        with monkeypatch.context() as patch:

            def full(*_):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patch.setattr(atomic.os, "fsync", full)
            await pilot.press("y")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the dialog again")
            await refused(pilot, str(target), "cannot be written: No space left on device")
        assert target.read_text() == "mine\n"


async def test_enter_typed_again_before_a_dialog_closes_leaves_the_screen_below_it(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        pilot.app.push_screen(AskText("where", "one"))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the dialog")
        field = (await wait_for(pilot, lambda: pilot.app.screen.query(Input), "its field")).first()
        for _ in range(3):
            field.post_message(Input.Submitted(field, "one"))
        await wait_for(pilot, lambda: pilot.app.screen is place, "the screen below")
        await pilot.pause()
        assert pilot.app.screen is place
        assert pilot.app.return_code in {None, 0}


async def test_a_cut_line_has_a_sign_on_the_side_where_it_goes_on(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await pilot.press("v", "v")
        await wait_for(pilot, lambda: preview_text(place) == written(place, "bash"), "the script")
        await pilot.press("home")
        await wait_for(pilot, lambda: "›" in text_of(place.preview), "a sign on the right")
        assert "‹" not in text_of(place.preview)
        place.preview.query_one("#preview-text").focus()
        await pilot.press("right")
        await wait_for(pilot, lambda: "‹" in text_of(place.preview), "a sign on the left")
        await pilot.press(*["right"] * 60)
        await wait_for(pilot, lambda: "›" not in text_of(place.preview), "the end of the longest line")


@pytest.mark.parametrize("key", ["num_infer_workers", "seed"])
async def test_the_whole_help_of_a_field_is_there_on_a_small_terminal(app, key):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        place.session.choose("prl-grpo", "standard-4gpu")
        place.update()
        place.form.go_to(key)
        words = str(place.session.config.recipe.by_key[key].help).split()
        await wait_for(pilot, lambda: words[-1] in text_of(place.query_one("#about")), "its last word")
        assert " ".join(words) in " ".join(text_of(place.query_one("#about")).split())


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, (100, 30), SMALL])
async def test_every_format_shows_what_it_writes_and_what_it_cannot_carry(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        shown = await export(pilot)
        for name in fitting(place.session.verdict.plan):
            await export_to(pilot, shown, name)
            text = shown.query_one("#export-text")
            await wait_for(pilot, lambda n=name, t=text: "\n".join(t._lines) == written(place, n), f"{name} as written")
            first = next(line for line in written(place, name).split("\n")[begins(place, name) :] if line.strip())
            await wait_for(pilot, lambda f=first: f[:30] in screen(pilot.app), f"{name} drawn, not only known")
            losses = FORMATS[name](place.session.verdict.plan).losses
            said = "everything is carried" if not losses else losses[0][:30]
            await wait_for(pilot, lambda s=said: s in screen(pilot.app), f"what {name} loses")


async def export_to(pilot, shown, name):
    formats = shown.query_one(FormatList)
    formats.put_cursor([one.name for one in formats.choices].index(name))
    await pilot.pause()


async def test_y_copies_the_format_under_the_cursor(app):
    async with app().run_test(size=WIDE, notifications=True) as pilot:
        place = await configure(pilot)
        await export(pilot, "oneline")
        await pilot.press("y")
        await wait_for(pilot, lambda: pilot.app.clipboard, "the clipboard")
        assert pilot.app.clipboard == FORMATS["oneline"](place.session.verdict.plan).text


async def test_a_format_that_does_not_fit_says_why_and_saves_nothing(app):
    async with app().run_test(size=SMALL, notifications=True) as pilot:
        place = await configure(pilot)
        place.session.set_text("model", SECRET)
        shown = await export(pilot)
        for one in list(shown.query_one(FormatList).choices):
            assert "model holds a secret" in one.refusal
            await export_to(pilot, shown, one.name)
            await wait_for(pilot, lambda: "✗ model holds a secret" in screen(pilot.app), "the reason")
            assert SECRET[:20] not in screen(pilot.app)
        await pilot.press("s")
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if "holds a secret" in n.message], "it said")
        await pilot.press("y")
        assert pilot.app.screen is shown
        assert not pilot.app.clipboard


async def test_a_link_stays_a_link_and_its_file_gets_the_text(app, tmp_path):
    real, link = tmp_path / "real.sh", tmp_path / "run.sh"
    real.write_text("")
    link.symlink_to(real)
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await export(pilot)
        await save_as(pilot, str(link))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await pilot.press("y")
        await wait_for(pilot, real.read_text, "the text")
        assert link.is_symlink()
        assert real.read_text().rstrip("\n") == written(place, "bash")


async def test_what_is_typed_before_the_question_is_drawn_is_its_answer(app, tmp_path):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        shown = await export(pilot)
        target = tmp_path / "typed.sh"
        pilot.app.post_message(events.Key("s", "s"))
        while not isinstance(pilot.app.screen, AskText):  # on the stack, and nothing of it is drawn yet
            await asyncio.sleep(0)
        for key in ("ctrl+u", *(NAMES.get(one, one) for one in str(target)), "enter"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else CHARACTERS.get(key)))
        await wait_for(pilot, target.exists, "the file of that name")
        assert target.read_text() == FORMATS["bash"](place.session.verdict.plan).text
        assert shown not in pilot.app.screen_stack or pilot.app.screen is shown


CHARACTERS = {"slash": "/", "minus": "-", "full_stop": ".", "underscore": "_"}
NAMES = {character: key for key, character in CHARACTERS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_long_diff_leaves_the_answers_in_sight_and_scrolls(app, tmp_path, size):
    target = tmp_path / "run.sh"
    target.write_text("".join(f"old line {number}\n" for number in range(300)))
    async with app().run_test(size=size) as pilot:
        await configure(pilot)
        await export(pilot)
        await save_as(pilot, str(target))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: "keep it" in screen(pilot.app) and "replace" in screen(pilot.app), "both answers")
        before = screen(pilot.app)
        await pilot.press("pagedown")
        await wait_for(pilot, lambda: screen(pilot.app) != before, "more of the diff")
        await sees(pilot, "keep it")


async def test_a_file_that_somebody_else_writes_while_the_diff_is_read_is_shown_again(app, tmp_path):
    target = tmp_path / "run.sh"
    target.write_text("old\n")
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await export(pilot)
        await save_as(pilot, str(target))
        await sees(pilot, "-old")
        target.write_text("precious\n")
        await pilot.press("y")
        await sees(pilot, "-precious")
        await sees(pilot, "has changed meanwhile")
        assert target.read_text() == "precious\n"
        await pilot.press("y")
        text = FORMATS["bash"](place.session.verdict.plan).text
        await wait_for(pilot, lambda: target.read_text() == text, "the new text")


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_script_is_shown_from_its_own_part_and_stays_where_it_was_put(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        await pilot.press("v")
        place.preview.choose("bash")
        await wait_for(pilot, lambda: "# --- values ---" in screen(pilot.app), "the values")
        assert "#!/usr/bin/env bash" not in screen(pilot.app)
        await pilot.press("home")
        await wait_for(pilot, lambda: "#!/usr/bin/env bash" in screen(pilot.app), "the head")
        place.session.set_text("seed", "77")
        place.update()
        await pilot.pause()
        await sees(pilot, "#!/usr/bin/env bash")
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the formats")
        await export_to(pilot, pilot.app.screen, "bash")
        rows = pilot.app.screen.query_one("#export-text")
        await wait_for(pilot, lambda: "# --- values ---" in text_of(rows), "the values here too")
