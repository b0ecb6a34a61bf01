"""The form and the preview where the program's file is the person's own, and where the plan writes it."""

from __future__ import annotations

from prl_tui.tui.widgets.preset_table import PresetTable
from prl_tui.tui.widgets.preview import TextRows
from tests.tui.driving import configure, text_of, wait_for


async def test_fields_of_the_file_appear_once_the_plan_writes_it(app):
    async with app("safe-mm-dpo", "four-gpu").run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        assert "λ_init" not in text_of(place.form)
        place.session.apply({"config_source": "generate"})
        place.form.show(place.session.config, {})
        await pilot.pause()
        place.form.go_to("lambda_init")
        await wait_for(pilot, lambda: "λ_init" in text_of(place.form), "the constant's field")
        assert "config file" not in text_of(place.form)


async def test_the_preview_shows_the_file(app):
    async with app("safe-mm-dpo", "four-gpu").run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        place.session.apply({"config_source": "generate"})
        place.preview.show(place.session.verdict.plan)
        await pilot.pause()
        lines = place.preview.query_one(TextRows)._lines
        assert "cat >prl-files/dpo_config.yaml <<'END_OF_FILE'" in lines
        assert "λ_init: 1.0" in lines


async def test_the_presets_show_the_batch_of_the_file_that_lies_here(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/rm_config.yaml").write_text("batch_size: 6\n")
    async with app("reward-model", "single-gpu").run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        table = place.query_one(PresetTable)
        await wait_for(
            pilot,
            lambda: ("1", "6", "–", "6") in [table.numbers(line) for line in table._lines if line.preset],
            "the file read",
        )
        assert "6" in next(row for row in text_of(table).splitlines() if "▸ single-gpu" in row).split()
        dpo = [table.numbers(line) for line in table._lines if line.recipe == "safe-mm-dpo" and line.preset]
        assert all(numbers[1] == "–" for numbers in dpo)
