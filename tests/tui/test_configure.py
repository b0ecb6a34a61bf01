"""The configure screen as a person uses it: presets, typing, verdict, fixes, undo, choices, search."""

from __future__ import annotations

import asyncio
import threading

import pytest
from textual import events

from prl_tui.core import wordlist
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.value import replace
from prl_tui.machine import facts
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.session import Session, Verdict
from prl_tui.tui.widgets.form_words import clicked
from prl_tui.tui.widgets.line_editor import LineEditor
from prl_tui.tui.widgets.settings_form import SettingsForm
from prl_tui.tui.widgets.verdict_view import VerdictView, _shown, hidden_findings, hidden_words, lines
from tests.tui.driving import click_text, configure, screen, sees, shows, text_of, type_text, wait_for

WIDE, SMALL = (160, 45), (80, 24)
BATCH, GENERATIONS = "per_device_train_batch_size", "num_generations"


def value(place, key):
    return place.session.config.value(key)


async def open_on(pilot, key):
    """The configure screen with the cursor of the form on a field."""
    place = await configure(pilot)
    place.form.go_to(key)
    await pilot.pause()
    return place


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_preset_is_chosen_by_keyboard(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        await pilot.press("p", "down", "enter")
        await wait_for(pilot, lambda: place.session.config.preset == "high-throughput-4gpu", "the next preset")
        await wait_for(pilot, lambda: place.form.has_focus, "the form under the keys again")
        assert value(place, GENERATIONS) == 4
        assert "▸ high-throughput" in text_of(place.presets) if size == WIDE else True
        await sees(pilot, "prl-grpo/high-throughput-4gpu")


@pytest.mark.parametrize("size", [WIDE, SMALL])
@pytest.mark.parametrize(
    "action", ["launch", "launch without the probe", "smoke test", "try the environment", "export", "save"]
)
async def test_nothing_goes_on_with_the_form_while_the_cursor_is_on_another_preset(app, size, action):
    """By name: the letters of these actions begin the name of a preset there."""
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        await pilot.press("p", "down", "colon")
        await wait_for(pilot, lambda: pilot.app.screen is not place, "the actions by name")
        pilot.app.screen.answer(next(one for one in pilot.app.screen._actions if one.title == action))
        sentence = "The form has prl-grpo/standard-4gpu; enter takes prl-grpo/high-throughput-4gpu."
        await wait_for(pilot, lambda: [one for one in pilot.app._notifications if one.message == sentence], "it")
        assert pilot.app.screen is place
        assert place.session.config.preset == "standard-4gpu"
        await pilot.press("enter")
        await wait_for(pilot, lambda: place.session.config.preset == "high-throughput-4gpu", "the preset")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_preset_is_chosen_by_mouse(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        if size == SMALL:
            await pilot.press("p")
        await click_text(pilot, place.presets, "large-batch")
        await wait_for(pilot, lambda: place.session.config.preset == "large-batch-4gpu", "the clicked preset")
        assert value(place, BATCH) == 8


async def test_the_presets_show_gpus_batch_generations_and_completions(app):
    async with app().run_test(size=WIDE) as pilot:
        rows = text_of((await configure(pilot)).presets).split("\n")
    row = next(row for row in rows if "high-throughput-4gpu" in row)
    assert row.strip("│ ").split() == ["high-throughput-4gpu", "4", "4", "4", "16"]


async def test_r_goes_to_the_next_recipe_and_around(app, recipes):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        names = [recipe.name for recipe in recipes.recipes.values() if recipe.presets]
        at = names.index("prl-grpo")
        for name in (*names[at + 1 :], *names[: at + 1]):
            await pilot.press("r")
            await wait_for(pilot, lambda n=name: place.session.config.recipe.name == n, f"the recipe {name}")


async def test_a_digit_opens_a_number_field_and_every_keystroke_changes_the_verdict(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        seen = []
        for key, sentence in (("1", "at least 2"), ("6", "config ok"), ("backspace", "at least 2")):
            await pilot.press(key)
            await wait_for(pilot, lambda text=sentence: text in text_of(place.verdict), f"“{sentence}” after {key}")
            assert place.form.typing
            seen.append(place.session.config.text(GENERATIONS))
        assert seen == ["1", "16", "1"]


@pytest.mark.parametrize(("key", "shown"), [("e", "Export"), ("a", "")])
async def test_a_letter_of_the_last_line_is_no_part_of_a_whole_number(app, key, shown):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("8", key)
        await wait_for(pilot, lambda: shown in screen(pilot.app), "what the key does")
        assert place.session.config.text(GENERATIONS) == "8"
        assert not place.form.typing


async def test_marks_and_joiners_that_are_typed_stay(app):
    text = "\U0001f468\u200d\U0001f469 \u202eabc"
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "model")
        await pilot.press("enter", "ctrl+u")
        for char in text:
            pilot.app.post_message(events.Key("unknown" if char == "\u200d" else char, char))
        await wait_for(pilot, lambda: place.session.config.text("model") == text, "the text")


async def test_a_letter_opens_no_number_field(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("y")
        assert not place.form.typing
        assert value(place, GENERATIONS) == 2


@pytest.mark.parametrize("text", ["2bc", "08", "-2", "0", "1.5", "２", "", "99999"])
async def test_a_wrong_number_stays_as_typed_and_is_a_finding(app, text):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("enter", "ctrl+u")
        await type_text(pilot, text)
        await pilot.press("enter")
        await wait_for(pilot, lambda: not place.form.typing, "the field closed")
        if text:
            assert place.session.config.text(GENERATIONS) == text
            assert not place.session.verdict.report.ok
            await wait_for(pilot, lambda: "✗" in text_of(place.verdict), "the error in the verdict")
        else:
            assert value(place, GENERATIONS) is None


@pytest.mark.parametrize(("key", "seen"), [("v", "-preview"), ("d", "-full-verdict"), ("p", "-presets")])
async def test_the_keys_of_the_footer_work_while_a_number_is_typed(app, key, seen):
    async with app().run_test(size=SMALL) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("3", key)
        await wait_for(pilot, lambda: place.has_class(seen), "what the key opens")
        assert place.session.config.text(GENERATIONS) == "3"
        assert not place.form.typing


async def test_f_applies_the_first_way_out_while_typing_and_leaves_the_field(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("3")
        await wait_for(pilot, lambda: "not a multiple of 3" in text_of(place.verdict).replace("\n", " "), "the finding")
        await pilot.press("f")
        await wait_for(pilot, lambda: place.session.verdict.report.ok, "no error after the fix")
        assert value(place, GENERATIONS) == 2
        assert not place.form.typing, "the next key is a command again"


async def test_f_applies_the_first_way_out_after_typing(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("5", "enter")
        await wait_for(pilot, lambda: not place.session.verdict.report.ok, "the error")
        first = place.session.verdict.first_fix
        await pilot.press("f")
        await wait_for(pilot, lambda: place.session.verdict.report.ok, "no error after the fix")
        assert {key: value(place, key) for key in first.changes} == dict(first.changes)
        setting = next(place.session.config.settings[key] for key in first.changes)
        assert setting.source is Source.FIX


async def test_f_without_anything_to_fix_changes_nothing(app):
    async with app("demo", "two-ranks").run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        before = place.session.config
        await pilot.press("f")
        assert place.session.config is before


async def test_enter_on_another_way_out_applies_that_one(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: place.session.verdict.first_fix is not None, "ways out")
        second = place.session.verdict.report.findings[0].fixes[1]
        place.verdict.focus()
        await pilot.pause()
        await pilot.press("down", "enter")  # it begins on the first one
        await wait_for(pilot, lambda: place.session.verdict.report.ok, "the second way out applied")
        assert {key: value(place, key) for key in second.changes} == dict(second.changes)


async def test_a_click_on_a_way_out_applies_it(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: "generations 3 → 4" in text_of(place.verdict), "the ways out")
        await click_text(pilot, place.verdict, "generations 3 → 4")
        await wait_for(pilot, lambda: value(place, GENERATIONS) == 4, "the clicked way out")


async def test_escape_gives_the_old_value_back_with_its_origin(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("3", "3", "escape")
        await wait_for(pilot, lambda: value(place, GENERATIONS) == 2, "the old value")
        assert place.session.config.settings[GENERATIONS].source is Source.PRESET
        assert place.session.config.changed() == ()
        assert not place.session.undo(), "nothing happened, so nothing can be undone"


async def test_x_resets_to_the_preset_and_u_undoes_one_typing_as_one_step(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "max_completion_length")
        await pilot.press("1", "0", "2", "4", "enter")
        await wait_for(pilot, lambda: value(place, "max_completion_length") == 1024, "the typed value")
        await pilot.press("5", "1", "2", "enter")
        await wait_for(pilot, lambda: value(place, "max_completion_length") == 512, "the second typed value")
        await pilot.press("x")
        await wait_for(pilot, lambda: value(place, "max_completion_length") == 768, "the preset's value")
        for expected in (512, 1024, 768):
            await pilot.press("u")
            await wait_for(pilot, lambda e=expected: value(place, "max_completion_length") == e, f"{expected} again")
        assert not place.session.undo()


async def test_typing_what_stands_there_is_no_step_back(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, BATCH)
        await pilot.press("8", "enter")
        await wait_for(pilot, lambda: value(place, BATCH) == 8, "the one change")
        for keys in (("8",), ("enter",), ("9", "backspace", "8"), ("enter", "ctrl+u", "8")):
            await pilot.press(*keys, "enter")
            await wait_for(pilot, lambda: not place.form.typing, "the field closed")
        await pilot.press("u")
        await wait_for(pilot, lambda: value(place, BATCH) == 4, "the change itself undone, by one key")
        assert place.session.config is place.session.config.baseline()
        await pilot.press("u")
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if "to undo" in n.message], "what it says")


def test_an_edit_that_changes_nothing_is_no_step(recipes):
    session = Session.begin(recipes, "prl-grpo", "standard-4gpu")
    start = session.config
    text = start.text(GENERATIONS)
    for same in (
        lambda: session.set_text(GENERATIONS, text),
        lambda: (session.set_text(GENERATIONS, "9"), session.set_text(GENERATIONS, text)),
        lambda: (session.set_text("model", "x"), session.set_text("model", start.text("model"))),
        lambda: session.set_text("log_completions", start.text("log_completions")),
        lambda: session.reset(GENERATIONS),
        lambda: session.choose("prl-grpo", "standard-4gpu"),
        lambda: session.load(start),
    ):
        same()
        session.finish_typing()
        assert session.config is start, "with where each value came from"
        assert not session.undo()
    session.set_text(GENERATIONS, "4")
    session.finish_typing()
    session.reset(GENERATIONS)
    assert session.undo()
    assert session.config.value(GENERATIONS) == 4
    assert session.undo()
    assert session.config is start


def test_a_value_from_elsewhere_is_taken_back_to_the_presets_as_a_step(recipes):
    """It reads the same, but the form says where it came from."""
    session = Session.begin(recipes, "prl-grpo", "standard-4gpu")
    session.load(session.config.with_values({GENERATIONS: "2"}, Source.SET))
    session.reset(GENERATIONS)
    assert session.config.settings[GENERATIONS].source is Source.PRESET
    assert session.undo()
    assert session.config.settings[GENERATIONS].source is Source.SET


async def test_undo_takes_a_chosen_preset_back_with_its_mark(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await pilot.press("p", "down", "enter")
        await wait_for(pilot, lambda: place.session.config.preset == "high-throughput-4gpu", "the preset")
        await pilot.press("u")
        await wait_for(pilot, lambda: "▸ standard-4gpu" in text_of(place.presets), "the old preset marked")


async def test_undo_that_leads_to_another_recipe_says_so_and_redo_takes_it_back(app):
    """One `u` too many led from a recipe to another one without a word and without a way back."""
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        place.session.choose("demo", "two-ranks")
        place.update()
        place.form.go_to("max_steps")
        await pilot.press("7", "7", "enter", "u")
        await wait_for(pilot, lambda: value(place, "max_steps") != 77, "the change undone")
        assert not [n for n in pilot.app._notifications if "led" in n.message], "it is in sight in the form"
        await pilot.press("u")
        told = "u led back to prl-grpo/standard-4gpu. U takes demo/two-ranks again."
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if n.message == told], "where to")
        assert place.session.config.recipe.name == "prl-grpo"
        await pilot.press("U")
        told_redo = "U led on to demo/two-ranks. u leads back to prl-grpo/standard-4gpu."
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if n.message == told_redo], "where to")
        await shows(pilot, place.presets, "▸ two-ranks")
        await pilot.press("U")
        await wait_for(pilot, lambda: value(place, "max_steps") == 77, "the change again")
        await pilot.press("U")
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if "to redo" in n.message], "what it says")


def test_redo_goes_as_far_as_undo_came_and_ends_with_another_change(recipes):
    session = Session.begin(recipes, "prl-grpo", "standard-4gpu")
    for text in ("4", "8", "16"):
        session.set_text(GENERATIONS, text)
        session.finish_typing()
    for _ in range(3):
        assert session.undo()
    session.set_text(GENERATIONS, "5")
    session.cancel_typing(GENERATIONS)
    for expected in (4, 8):
        assert session.redo(), "typing that was given up is no change"
        assert session.config.value(GENERATIONS) == expected
    session.set_text(BATCH, "9")
    session.finish_typing()
    assert not session.redo()
    for _ in range(2):
        assert session.undo()
    assert session.config.value(GENERATIONS) == 4
    assert session.redo()
    assert session.redo()
    assert not session.redo()
    assert session.config.number(BATCH) == 9


async def test_choices_cycle_by_space_and_arrows_both_ways(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "torch_dtype")
        choices = list(place.session.config.recipe.by_key["torch_dtype"].choices)
        first = value(place, "torch_dtype")
        at = choices.index(first)
        for key, offset in (("space", 1), ("right", 2), ("left", 1), ("left", 0)):
            await pilot.press(key)
            wanted = choices[(at + offset) % len(choices)]
            await wait_for(pilot, lambda w=wanted: value(place, "torch_dtype") == w, f"{wanted} after {key}")


async def test_a_yes_or_no_turns_by_enter_and_keeps_the_programs_words(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "log_completions")
        await pilot.press("enter")
        await wait_for(pilot, lambda: value(place, "log_completions") is False, "no")
        assert not place.form.typing
        await shows(pilot, place.form, "false")


async def test_a_shows_every_setting_and_hides_the_rest_again(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: place.session.facts is not None, "the box: what is wrong here is shown too")
        usual = place.form.count()
        await pilot.press("a")
        await wait_for(pilot, lambda: place.form.count() > usual, "more settings")
        every = [entry.key for entry in place.form._entries if entry.key]
        assert every == [field.key for field in place.session.config.recipe.fields]
        await pilot.press("a")
        await wait_for(pilot, lambda: usual <= place.form.count() < len(every), "the usual ones, and what is wrong")


@pytest.mark.parametrize("size", [WIDE, SMALL])
@pytest.mark.parametrize("needle", ["lora_al", "LoRA alpha", "PRL_LORA_ALPHA"])
async def test_slash_finds_a_setting_by_key_label_or_variable(app, size, needle):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        await pilot.press("slash")
        await wait_for(pilot, lambda: place.query("#finder"), "the finder")
        await type_text(pilot, needle)
        finder = place.query_one("#finder")
        await wait_for(pilot, lambda: finder.value == needle, "the needle typed")
        assert finder.region.height >= 1, "what is typed is seen"
        await shows(pilot, finder, needle)
        await wait_for(pilot, lambda: place.form.key == "lora_alpha", "the setting found")
        await pilot.press("enter")
        await wait_for(pilot, lambda: not place.query("#finder"), "the finder gone")
        assert place.form.has_focus
        assert place.form.key == "lora_alpha"
        await shows(pilot, place.form, "LoRA alpha")


@pytest.mark.parametrize(
    ("recipe", "needle", "key", "first"),
    [
        ("swift-grpo", "model", "model", "vllm_max_model_len"),
        ("safe-mm-dpo", "Config", "config", "config_source"),
        ("vlm-sft", "GPUs", "cuda_visible_devices", "batch_size"),
    ],
)
async def test_enter_takes_the_setting_of_just_that_name_before_the_first_hit(app, recipe, needle, key, first):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        place.session.choose(recipe, next(iter(place.session.catalog.recipes[recipe].presets)))
        place.update()
        await pilot.press("slash")
        await type_text(pilot, needle)
        await wait_for(pilot, lambda: place.form._needle == needle.lower(), "what was typed")
        assert next(entry.key for entry in place.form._entries if entry.key) == first, "the first hit"
        await pilot.press("enter")
        await wait_for(pilot, lambda: not place.query("#finder"), "the finder gone")
        assert place.form.key == key


async def test_arrows_move_among_the_hits_of_a_search(app):
    """`↓` did nothing: only the first hit could be had."""
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await pilot.press("slash")
        await type_text(pilot, "lora")
        await pilot.press("down")
        await wait_for(pilot, lambda: place.form._needle == "lora", "what was typed")
        hits = [entry.key for entry in place.form._entries if entry.key]
        await wait_for(pilot, lambda: place.form.key == hits[1], "the second")
        await pilot.press("down", "up", "down")
        assert place.query_one("#finder").has_focus
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: not place.query("#finder"), "the finder gone")
        assert place.form.key == hits[min(3, len(hits) - 1)]
        assert place.form.has_focus


async def test_a_search_without_a_hit_leaves_the_form_usable(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await pilot.press("slash", "q", "q", "q")
        await wait_for(pilot, lambda: "this in its name: qqq" in text_of(place.form), "no setting of that name")
        await pilot.press("enter", "down", "3")
        await wait_for(pilot, lambda: place.form.typing, "typing goes on")
        assert place.form.key


async def test_escape_leaves_the_search_and_shows_all_again(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: place.session.facts is not None, "the box: what is wrong here is shown too")
        usual = place.form.count()
        await pilot.press("slash", "g", "e", "n")
        await wait_for(pilot, lambda: place.form.count() < usual, "fewer settings")
        await pilot.press("escape")
        await wait_for(pilot, lambda: place.form.count() >= usual and not place.query("#finder"), "all of them")
        assert place.form.has_focus


@pytest.mark.parametrize("needle", ["", "gen", "qqq"])
async def test_escape_from_a_search_leaves_all_as_it_was(app, needle):
    async with app().run_test(size=SMALL) as pilot:
        place = await open_on(pilot, "output_dir")
        await wait_for(pilot, lambda: not place.still_looking, "the box: what is wrong here is shown too")
        await pilot.pause()
        before = (place.form.standing, text_of(place.form))
        await pilot.press("slash", *needle, "escape")
        await wait_for(pilot, lambda: not place.query("#finder"), "the finder gone")
        await pilot.pause()
        assert (place.form.standing, text_of(place.form)) == before
        assert place.form.has_focus
        about = place.query_one("#about")
        await wait_for(pilot, lambda: "--output_dir" in text_of(about), "the help of the field under the cursor")


@pytest.mark.parametrize(("key", "view"), [("v", "-preview"), ("d", "-full-verdict")])
async def test_escape_from_a_search_goes_back_to_the_pane_that_was_open(app, key, view):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await pilot.press(key)
        await wait_for(pilot, lambda: place.has_class(view), "the pane")
        focused = pilot.app.focused
        await pilot.press("slash", "g", "e", "n")
        await wait_for(pilot, lambda: place.query("#finder") and place.form.region.height, "the form to search in")
        await pilot.press("escape")
        await wait_for(pilot, lambda: place.has_class(view) and not place.query("#finder"), "the pane again")
        assert pilot.app.focused is focused
        await pilot.press("slash", *"lora_al", "enter")
        await wait_for(pilot, lambda: place.form.has_focus and not place.has_class(view), "the setting found instead")
        assert place.form.key == "lora_alpha"


async def test_what_differs_from_the_preset_shows_the_old_value_and_who_changed_it(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("4", "enter")
        await wait_for(pilot, lambda: "← 2" in text_of(place.form), "the old value")
        await shows(pilot, place.form, "1 changed")
        await pilot.press("5", "enter", "f")
        await wait_for(pilot, lambda: "fix" in text_of(place.form), "who changed it")
        place.session.load(place.session.config.with_values({BATCH: "8"}, Source.ENVIRONMENT, {BATCH: "PRL_X"}))
        place.update()
        await wait_for(pilot, lambda: "← 4  PR" in text_of(place.form), "the variable that changed it")


async def test_the_line_under_the_form_says_what_the_field_is_from_the_start(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        about = place.query_one("#about")
        await wait_for(pilot, lambda: "one process" in text_of(about), "the first field's help")
        await pilot.press("slash", *"seed")
        await wait_for(pilot, lambda: "--seed" in text_of(about), "the found field's help")


async def test_another_recipe_brings_the_help_of_its_own_field(app, recipes):
    """The cursor may stay on a key that both recipes have: what it is, is the new recipe's to say."""
    async with app("demo", "two-ranks").run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        about = place.query_one("#about")
        for name in [recipe.name for recipe in recipes.recipes.values() if recipe.presets]:
            place.session.choose(name, next(iter(recipes.recipes[name].presets)))
            place.update()
            field = place.form.field
            assert field is place.session.config.recipe.by_key[place.form.key]
            words = " ".join(wordlist.about(field).split())[:30]
            await wait_for(pilot, lambda w=words: w in " ".join(text_of(about).split()), f"{name}: {words}")
        place.session.undo()
        place.update()
        words = " ".join(wordlist.about(place.form.field).split())[:30]
        await wait_for(pilot, lambda: words in " ".join(text_of(about).split()), "undone: the field before")


async def test_pasted_text_goes_into_the_field_under_the_cursor(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "model")
        await pilot.press("enter", "ctrl+u")
        place.form.post_message(events.Paste("/m/通义 千\n"))
        await wait_for(pilot, lambda: value(place, "model") == "/m/通义 千", "the pasted path")
        await pilot.press("enter")
        await shows(pilot, place.form, "/m/通义 千")
        place.form.go_to(GENERATIONS)
        await pilot.pause()
        place.form.post_message(events.Paste("4\n"))
        await wait_for(pilot, lambda: value(place, GENERATIONS) == 4, "a pasted number")


async def test_a_chinese_text_is_typed_edited_and_kept(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "output_dir")
        await pilot.press("enter", "ctrl+u", "输", "出", "目", "录", "left", "backspace", "x", "enter")
        await wait_for(pilot, lambda: value(place, "output_dir") == "输出x录", "the edited text")
        await wait_for(pilot, lambda: "输出x录" in text_of(place.form), "the same on the screen")


async def test_words_of_a_list_are_typed_with_blanks_between(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "reward_funcs")
        await pilot.press("enter", "ctrl+u", *"one", "space", *"two", "enter")
        await wait_for(pilot, lambda: value(place, "reward_funcs") == ("one", "two"), "two words")


async def test_keys_pressed_quicker_than_the_screen_draws_are_all_kept(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "max_completion_length")
        for char in "1234567":
            pilot.app.post_message(events.Key(char, char))
        await wait_for(pilot, lambda: value(place, "max_completion_length") == 1234567, "seven digits")
        assert place.form._editor.text == "1234567"


async def test_an_advanced_field_stays_in_sight_while_it_is_typed_back_to_the_presets_value(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "num_iterations")
        await pilot.press("2", "enter", "a")
        await wait_for(pilot, lambda: place.form.key == "num_iterations", "the changed field still shown")
        await pilot.press("1", "2")
        await wait_for(pilot, lambda: value(place, "num_iterations") == 12, "typing went on in the same field")
        assert place.form.key == "num_iterations"


async def test_a_click_opens_a_field_and_tab_closes_it_with_what_was_typed(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await click_text(pilot, place.form, "accumulation")
        await wait_for(pilot, lambda: place.form.typing and place.form.key == "gradient_accumulation_steps", "open")
        await pilot.press("1", "0", "tab")
        await wait_for(pilot, lambda: not place.form.typing, "closed")
        assert value(place, "gradient_accumulation_steps") == 10


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_click_selects_the_value_and_a_second_one_puts_the_cursor(app, size):
    async with app().run_test(size=size) as pilot:
        place = await open_on(pilot, BATCH)
        place.session.set_text(BATCH, "24")
        place.update()
        label = str(place.session.config.recipe.by_key[BATCH].label)
        await wait_for(pilot, lambda: "24" in line_of(place, label), "the value")
        await click_text(pilot, place.form, label)
        await wait_for(pilot, lambda: place.form.typing, "open")
        await pilot.press("3")
        await wait_for(pilot, lambda: value(place, BATCH) == 3, "typing in place of the value")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: value(place, BATCH) == 32, "and on from there")

        await click_text(pilot, place.form, label)
        await wait_for(pilot, lambda: place.form.typing, "open again")
        cell = line_of(place, label).index("32")
        at = text_of(place.form).split("\n").index(line_of(place, label))
        await pilot.click(place.form, offset=(cell + 1, at))
        await pilot.press("5")
        await wait_for(pilot, lambda: value(place, BATCH) == 352, "a digit between the two")
        await pilot.press("escape")
        await wait_for(pilot, lambda: value(place, BATCH) == 32, "what it was")


def line_of(place, text):
    return next((line for line in text_of(place.form).split("\n") if text in line), "")


async def test_a_click_and_enter_change_nothing_and_another_field_closes_the_first(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, BATCH)
        before = value(place, BATCH)
        await click_text(pilot, place.form, str(place.session.config.recipe.by_key[BATCH].label))
        await wait_for(pilot, lambda: place.form.typing, "open")
        await pilot.press("enter")
        await wait_for(pilot, lambda: not place.form.typing, "closed")
        assert value(place, BATCH) == before
        await click_text(pilot, place.form, str(place.session.config.recipe.by_key[BATCH].label))
        await click_text(pilot, place.form, "accumulation")
        await wait_for(pilot, lambda: place.form.key == "gradient_accumulation_steps", "the other one")
        await pilot.press("7", "enter")
        await wait_for(pilot, lambda: value(place, "gradient_accumulation_steps") == 7, "its value")
        assert value(place, BATCH) == before


def test_a_selected_text_gives_way_to_what_is_done_to_it():
    for key, text, at in (
        ("backspace", "", 0),
        ("ctrl+w", "", 0),
        ("left", "24", 1),
        ("end", "24", 2),
        ("home", "24", 0),
    ):
        editor = LineEditor("24", selected=True)
        assert editor.press(key)
        assert (editor.text, editor.at, editor.selected) == (text, at, False)
    wide = LineEditor("批a量", at=0)
    assert [clicked(wide, 20, cell) for cell in range(7)] == [0, 0, 1, 2, 2, 3, 3]


async def test_d_shows_the_whole_verdict_where_only_three_lines_are_in_sight(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await open_on(pilot, GENERATIONS)
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: "✗ 2 errors" in text_of(place.verdict), "two errors")
        await shows(pilot, place.verdict, "more")
        await pilot.press("d")
        await wait_for(pilot, lambda: "generations 3 → 4" in text_of(place.verdict), "every way out")
        assert text_of(place.verdict).count("✗") > 2
        await pilot.press("escape")
        await wait_for(pilot, lambda: place.form.has_focus and place.form.region.height > 5, "the form again")


def seen_rows(place):
    """The rows of the verdict that are in sight."""
    view = place.verdict
    return range(view.scroll_offset.y, min(view.count(), view.scroll_offset.y + view.size.height))


async def long_verdict(pilot):
    """The verdict under the keys, with more rows than there is room for."""
    place = await open_on(pilot, GENERATIONS)
    await pilot.press("3", "enter")
    await wait_for(pilot, lambda: "✗ 2 errors" in text_of(place.verdict), "two errors")
    await pilot.press("d")
    await wait_for(pilot, lambda: place.session.facts.missing_files, "what the box lacks")
    view = place.verdict
    await wait_for(pilot, lambda: view.has_focus and view.count() > view.size.height > 6, "more rows than room")
    await pilot.pause()
    return place


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_every_row_of_a_long_verdict_is_reached_by_keyboard(app, size):
    async with app().run_test(size=size) as pilot:
        place = await long_verdict(pilot)
        view = place.verdict
        before = place.session.config
        await pilot.press("home")
        assert view.cursor == 0
        for y in range(1, view.count()):
            await pilot.press("down")
            assert view.cursor == y
            assert y in seen_rows(place)
            await shows(pilot, view, view._lines[y].text[:20].strip())
        await pilot.press("down")
        assert view.cursor == view.count() - 1
        await pilot.press(*["up"] * view.count())
        assert view.cursor == seen_rows(place)[0] == 0
        assert place.session.config is before, "nothing was applied on the way"


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_long_verdict_says_how_much_is_below_and_is_paged(app, size):
    async with app().run_test(size=size) as pilot:
        place = await long_verdict(pilot)
        view = place.verdict

        def below():
            return view.count() - seen_rows(place)[-1] - 1

        await pilot.press("home")
        words = f"↓  {below()} more line"
        await wait_for(pilot, lambda: words in text_of(view).split("\n")[-1], "how many rows are below")
        await pilot.press("pagedown")
        assert view.cursor == min(view.count(), view.size.height) - 1
        await pilot.press("space")
        assert view.cursor > view.size.height - 1, "a blank turns the page too"
        await pilot.press("end")
        assert (view.cursor, below()) == (view.count() - 1, 0)
        await wait_for(pilot, lambda: "more" not in text_of(view).split("\n")[-1], "nothing below, nothing said")
        assert "enter  apply   esc  back" in text_of(view).split("\n")[-1]
        await pilot.press("pageup", "pageup", "pageup", "home")
        assert view.cursor == seen_rows(place)[0] == 0


async def test_the_frame_names_the_key_to_rows_below_while_the_form_has_the_keys(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await long_verdict(pilot)
        await pilot.press("escape")
        await wait_for(pilot, lambda: place.form.has_focus, "the form under the keys")
        hidden = place.verdict.count() - place.verdict.size.height
        words = f"d  {hidden} more line"
        await wait_for(pilot, lambda: words in text_of(place.verdict).split("\n")[-1], "the key")


async def test_enter_on_a_row_that_is_only_read_changes_nothing_and_on_a_way_out_applies_it(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await long_verdict(pilot)
        before = place.session.config
        await pilot.press("home", "enter")
        assert place.session.config is before
        wanted = place.session.verdict.report.findings[0].fixes[1]
        row = next(y for y, line in enumerate(place.verdict._lines) if line.fix == wanted)
        await pilot.press(*["down"] * row)
        await pilot.press("enter")
        await wait_for(pilot, lambda: place.session.verdict.report.ok, "the way out under the cursor applied")
        assert {key: value(place, key) for key in wanted.changes} == dict(wanted.changes)


async def test_a_click_into_a_scrolled_verdict_applies_what_is_under_the_pointer(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await long_verdict(pilot)
        await pilot.press("escape")
        await wait_for(pilot, lambda: place.form.has_focus, "the form under the keys")
        place.verdict.scroll_to(y=2, animate=False, force=True)  # as the wheel does
        await pilot.pause()
        assert place.verdict.scroll_offset.y == 2
        await click_text(pilot, place.verdict, "generations 3 → 4")
        await wait_for(pilot, lambda: value(place, GENERATIONS) == 4, "the clicked way out")


async def test_keys_from_before_the_screen_was_complete_do_what_they_do_later(app):
    async with app().run_test(size=SMALL) as pilot:
        for key in ("v", "escape", "d", "escape", "p", "slash", "s", "m", "o", "k", "e"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await wait_for(pilot, lambda: pilot.app.screen.query("#actions"), "the presets by name")
        await wait_for(pilot, lambda: pilot.app.screen.query_one("Input").value == "smoke", "what was typed")
        place = next(one for one in pilot.app.screen_stack if isinstance(one, ConfigureScreen))
        assert isinstance(place.form, SettingsForm)
        assert isinstance(place.verdict, VerdictView)


async def test_a_digit_opens_a_number_and_leaves_a_text_alone(app):
    async with app().run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        before = value(place, "output_dir")
        place.form.go_to("output_dir")
        await pilot.press("7")
        assert not place.form.typing
        assert value(place, "output_dir") == before
        await pilot.press("enter", "7", "8")
        await wait_for(pilot, lambda: value(place, "output_dir") == f"{before}78", "digits in the text that is open")


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_digit_right_behind_an_arrow_goes_to_the_row_that_the_arrow_led_to(app, size):
    """As keys come over a slow link: all at once. A newcomer's `down down 3` once changed the row above."""
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        place.form.focus()
        await pilot.pause()
        before = place.form.cursor
        keys = [("down", None), ("down", None), ("3", "3")]
        for key, character in keys:
            pilot.app.post_message(events.Key(key, character))
        await wait_for(pilot, lambda: place.form._editor is not None, "the field that is typed in")
        row = place.form.cursor
        assert row > before
        await pilot.press("enter")
        changed = place.session.config.changed()
        assert len(changed) == 1
        assert place.form.key == changed[0]


async def test_the_low_verdict_uses_every_row_it_has(app):
    async with app("demo", "two-ranks").run_test(size=SMALL) as pilot:
        rows = text_of((await configure(pilot)).verdict).split("\n")
        assert "200 steps · 4 checkpoints" in rows[3]


def test_the_low_verdict_counts_what_it_has_no_room_for(recipes):
    session = Session.begin(recipes, "minionerec-rl", "four-gpu")
    session.facts = Facts(node_gpus=0, missing_files=("rl.py", "data/train.csv", "data/valid.csv"))
    assert len(session.verdict.here) == 4
    for height, shown in ((3, 2), (4, 3), (5, 4), (1, 1)):
        told = [line for line in lines(session.verdict, 76, height) if line.text.startswith("✗")]
        assert len(told) == shown, height
        assert hidden_findings(session.verdict, 76, height) == 4 - shown, height
    narrow = lines(session.verdict, 30, 3)
    assert [line.text[:2] for line in narrow[1:]] == ["✗ ", "  "]  # the worst one whole before the next


@pytest.fixture
def gate(monkeypatch):
    """The look at files and the environment waits for it, as on a network disk; then it is the real one."""
    opened, real = threading.Event(), facts.look_up

    def look_up(*arguments):
        opened.wait(60)
        return real(*arguments)

    monkeypatch.setattr(facts, "look_up", look_up)
    yield opened
    opened.set()


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_the_head_says_that_the_box_is_still_looked_at_until_all_is_known(app, gate, size):
    async with app("minionerec-rl", "four-gpu").run_test(size=size) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "no GPU" in text_of(place.verdict), "what is known at once")
        head = text_of(place.verdict).split("\n")[1]
        assert "… looking at this box" in head
        assert "on this box" not in head.replace("at this box", "")
        gate.set()
        await wait_for(pilot, lambda: "errors on this box" in text_of(place.verdict), "the count")
        assert "looking" not in text_of(place.verdict)
        errors = sum(finding.severity == "error" for finding in place.session.verdict.here)
        await shows(pilot, place.verdict, f"✗ {errors} errors on this box")


async def test_another_preset_and_another_folder_are_looked_at_anew(app, gate):
    gate.set()
    async with app("demo", "two-ranks").run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "can launch here" in text_of(place.verdict), "all of the first one")
        place.form.go_to("seed")
        await pilot.press("7")
        await shows(pilot, place.verdict, "can launch here")
        await pilot.press("enter")
        gate.clear()
        place.session.choose("minionerec-rl", "four-gpu")
        place.update()
        await wait_for(pilot, lambda: "… looking at this box" in text_of(place.verdict), "it is looked at")
        await asyncio.sleep(1.5)  # longer than a turn
        await shows(pilot, place.verdict, "… looking at this box")
        gate.set()
        await wait_for(pilot, lambda: "errors on this box" in text_of(place.verdict), "the count")


@pytest.mark.parametrize("height", [3, 40])
@pytest.mark.parametrize(
    ("versions", "environment", "promised"),
    [({}, "environment x: torch 2.8.0", False), ({"ms-swift": "4.2.0"}, "environment x", True), ({}, "", True)],
)
def test_no_launch_is_promised_where_the_engine_is_missing(recipes, height, versions, environment, promised):
    """`l` probes first, and then refused with the reason what the head had promised."""
    config = resolve(recipes.recipes["swift-dpo"], "lora-1gpu")
    verdict = Verdict(config, Facts(versions=versions, environment=environment))
    assert verdict.can_launch
    head = lines(verdict, 76, height)[0]
    assert ("can launch here" in head.text) is promised
    assert ("no ms-swift here" in head.text) is not promised
    assert head.role == ("good" if promised else "warning")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_look_that_fails_is_over_too_and_is_no_leave_to_launch(app, monkeypatch):
    def look_up(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(facts, "look_up", look_up)
    async with app("demo", "two-ranks").run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "cannot be looked at: the disk is gone" in text_of(place.verdict), "the reason")
        assert "can launch here" not in text_of(place.verdict)


async def test_the_low_verdict_shows_the_way_out_under_the_finding_that_it_is_of(app):
    async with app("minionerec-rl", "eight-gpu").run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "zero2_opt.yaml" in text_of(place.verdict), "the file that is missing")
        rows = text_of(place.verdict).split("\n")
        at = next(y for y, row in enumerate(rows) if "zero2_opt.yaml does not exist" in row)
        assert "f  write it" in rows[at + 1]
        told = {finding.message for finding in place.session.verdict.here if finding.severity == "error"}
        assert any("no GPU" in message for message in told), "one as bad, without a way out, gives way"


def finding(severity, message, *labels):
    return Finding("x", severity, "seed", message, fixes=tuple(Fix({"seed": label}, label) for label in labels))


LONG = " ".join(["word"] * 30)


@pytest.mark.parametrize(
    ("findings", "rows", "shown"),
    [
        ([("error", "a"), ("error", "b", "mend b")], 2, ["✗ b", "mend b"]),
        ([("error", "a"), ("error", "b", "mend b")], 3, ["✗ b", "mend b", "✗ a"]),
        ([("error", "a"), ("error", "b", "mend b")], 1, ["✗ b"]),
        ([("warning", "w", "mend w"), ("error", "a")], 2, ["✗ a", "! w"]),
        ([("warning", "w", "mend w"), ("error", "a")], 3, ["✗ a", "! w", "mend w"]),
        ([("warning", "w", "mend w"), ("error", "a"), ("error", "b")], 3, ["✗ a", "! w", "mend w"]),
        ([("warning", "w", "mend w"), ("error", "a"), ("error", "b")], 4, ["✗ a", "✗ b", "! w", "mend w"]),
        ([("warning", "w", "mend w"), ("error", LONG)], 3, [f"✗ {LONG[:74]} …", "! w", "mend w"]),
        ([("error", LONG, "mend it")], 2, [f"✗ {LONG[:74]} …", "mend it"]),
        ([("error", "a"), ("note", "n")], 2, ["✗ a", "· n"]),
        ([("error", "a"), ("error", LONG)], 2, ["✗ a", f"✗ {LONG[:74]} …"]),
    ],
)
def test_a_way_out_stands_right_under_its_finding_or_nowhere(findings, rows, shown):
    made = [finding(*one) for one in findings]
    first = next((one.fixes[0] for one in made if one.fixes), None)
    blocks = _shown(made, (), first, rows, 80)
    assert [line.text for block in blocks for line in block] == shown
    for block in blocks:
        assert [line.fix for line in block if line.fix is not None] in ([], [first])


@pytest.mark.parametrize(
    ("rows", "shown"), [(2, ["! w", "mend w"]), (3, ["✗ a", "! w", "mend w"]), (4, ["✗ a", "✗ b", "! w", "mend w"])]
)
def test_what_f_changes_is_in_sight_before_errors_of_the_box_alone(rows, shown):
    """At 80x24 two errors of a box without GPUs hid the warning about what had just been typed, and `f` mended it."""
    own, here = [finding("warning", "w", "mend w")], [finding("error", "a"), finding("error", "b")]
    blocks = _shown(own, here, own[0].fixes[0], rows, 80)
    assert [line.text for block in blocks for line in block] == shown
    worse = [finding("error", "c"), *own]
    assert "mend w" not in [line.text for block in _shown(worse, here, own[0].fixes[0], 2, 80) for line in block]


async def test_the_setting_under_the_cursor_stays_in_sight_when_others_come(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await open_on(pilot, "output_dir")
        await wait_for(pilot, lambda: "output folder" in text_of(place.form), "the cursor's row")
        fields = place.session.config.recipe.fields
        above = fields[: [field.key for field in fields].index("output_dir")]
        for field in [field for field in above if field.advanced and field.type in {"int", "float"}]:
            place.session.set_text(field.key, "x")  # what is wrong is shown, advanced or not
        place.session.finish_typing()
        place.update()
        await wait_for(pilot, lambda: "output folder" in text_of(place.form), "the same row")
        assert place.form.key == "output_dir"


@pytest.mark.parametrize("how", ["enter", "click"])
async def test_no_letter_starts_anything_in_a_number_field_that_was_opened_on_purpose(app, how):
    """`12l` typed into an opened field launched a run."""
    async with app("demo", "two-ranks").run_test(size=SMALL) as pilot:
        place = await open_on(pilot, "max_steps")
        if how == "enter":
            await pilot.press("enter", "ctrl+u")
        else:
            await click_text(pilot, place.form, "200")
        for key in "12lesdaq":
            await pilot.press(key)
        await wait_for(pilot, lambda: place.session.config.text("max_steps") == "12lesdaq", "the letters as text")
        assert pilot.app.screen is place
        assert place.form.typing
        assert not place.session.verdict.report.ok
        await pilot.press("escape")
        await wait_for(pilot, lambda: place.session.config.text("max_steps") == "200", "what was there before")


async def test_a_digit_typed_in_place_leaves_the_letters_to_the_screen(app):
    async with app("demo", "two-ranks").run_test(size=SMALL) as pilot:
        place = await open_on(pilot, "max_steps")
        await pilot.press("1", "2", "e")
        await wait_for(pilot, lambda: pilot.app.screen is not place, "the formats")
        assert place.session.config.text("max_steps") == "12"


@pytest.mark.parametrize("how", ["a click into it", "a paste"])
async def test_a_click_or_a_paste_makes_letters_text_too(app, how):
    async with app("demo", "two-ranks").run_test(size=SMALL) as pilot:
        place = await open_on(pilot, "max_steps")
        if how == "a paste":
            pilot.app.post_message(events.Paste("12"))
        else:
            await pilot.press("1", "2")
            await pilot.click(place.form, offset=(45, place.form.cursor - place.form.scroll_offset.y + 1))
        await wait_for(pilot, lambda: place.session.config.text("max_steps") == "12", "the number")
        await pilot.press("s")
        await wait_for(pilot, lambda: place.session.config.text("max_steps") == "12s", "the letter as text")
        assert pilot.app.screen is place


async def test_what_is_still_asked_takes_its_row_from_the_findings(app):
    """While a probe ran, a row was pushed out of a low pane, and the count of hidden findings did not say so."""
    async with app("prl-grpo", "quick-test").run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        place.session.set_text("num_infer_workers", "1")
        await wait_for(pilot, lambda: place.session.verdict.facts is not None, "the box")
        place.update()
        verdict, view = place.session.verdict, place.verdict
        view.show(verdict, "probing the training environment: starting Python, 0 s")
        rows = [line.text for line in view._lines]
        assert len(rows) <= view.size.height
        assert rows[1].startswith("probing")
        told = sum(row[:2] in {"✗ ", "! ", "· "} for row in rows[1:])
        hidden = len(verdict.report.findings) + len(verdict.here) - told
        assert hidden > 0
        assert str(view.border_subtitle).startswith(f"d  {hidden} more findings")


def test_a_low_verdict_tells_how_many_ways_out_it_has_no_room_for(recipes):
    """One way out of four stood there, and only “d 1 more”, of the findings."""
    session = Session.begin(recipes, "prl-grpo", "standard-4gpu")
    session.set_text(GENERATIONS, "3")
    every = {fix.label for one in session.verdict.report.findings for fix in one.fixes}
    assert len(every) > 2
    assert hidden_words(session.verdict, 76, 3) == f"2 more findings, {len(every) - 1} more ways out"
    alone = Finding("code", "error", "", "A fault.", fixes=tuple(Fix(label=str(n), changes={}) for n in range(3)))
    verdict = Verdict(session.config, session.facts, probed=(alone,))
    verdict.__dict__["report"] = replace(session.verdict.report, findings=())
    assert hidden_words(verdict, 76, 3) == "2 more ways out"
    assert hidden_words(verdict, 76, 8) == "", "a high one shows all"


@pytest.mark.parametrize("width", [30, 45])
def test_no_line_of_a_high_verdict_is_cut(recipes, width):
    """“40 checkpoints and 40 evaluations on the w…” was cut above a dozen empty rows."""
    session = Session.begin(recipes, "demo", "long")
    shown = [line.text for line in lines(session.verdict, width) if line.fix is None]
    assert " ".join(shown[2:]).count("40 checkpoints and 40 evaluations on the way") == 1
    assert all(len(text) <= width for text in shown[1:])
