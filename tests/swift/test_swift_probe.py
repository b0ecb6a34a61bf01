"""The probe before a launch, against the real ms-swift 4.6.0: its own parser, no weights, no folder left behind."""

from __future__ import annotations

import json

from tests.swift.swift_runs import Bench


def test_a_sound_config_is_found_sound_and_leaves_nothing_behind(bench: Bench) -> None:
    done = bench.prl("check", "swift-grpo", "--here", "--probe", *bench.options("swift-grpo"))
    assert done.returncode == 0, done.stdout
    assert "reading the command with the engine's own parser" in done.stderr
    assert not (bench.here / "out").exists()


def test_what_the_engine_s_parser_refuses_is_not_launched(bench: Bench) -> None:
    words = bench.options("swift-sft", template="no_such_template")
    done = bench.prl("check", "swift-sft", "--here", "--probe", "--json", *words)
    assert done.returncode == 1
    (error,) = [one for one in json.loads(done.stdout)["findings"] if one["severity"] == "error"]
    assert error["code"] == "probe-arguments"
    assert error["field"] == "template"


def test_the_real_parser_leaves_over_the_flags_that_are_named_dead(bench: Bench) -> None:
    recipe = (
        'schema = 1\nname = "old"\ntitle = { en = "old" }\nneeds_gpu = false\n'
        f'arguments = ["--rlhf_type", "dpo", "--model", "{bench.tiny}/tiny", "--model_type", "qwen2", "--template", "qwen2_5", '
        f'"--dataset", "{bench.tiny}/data/dpo.jsonl", "--use_hf", "true", "--check_model", "false", "--use_cpu", "true", '
        '"--torch_dtype", "float32", "--train_type", "lora", "--num_infer_workers", "2", "--use_lmdeploy", "false"]\n'
        '[program.torchrun]\nmodule = "swift.cli.rlhf"\n[presets.one]\nvalues = { nproc_per_node = 2 }\n'
    )
    from prl_tui.core import catalog
    from prl_tui.core import trial as trials
    from prl_tui.core.config import Source, resolve
    from prl_tui.core.plan import build
    from prl_tui.runs import trial

    (bench.here / "old.toml").write_text(recipe)
    config = resolve(catalog.load([bench.here]).recipes["old"], "one")
    config = config.with_values({"training_env": str(bench.python)}, Source.SET)
    found = trials.findings(config, trial.run(build(config), bench.here))
    assert [(one.code, one.message) for one in found] == [
        ("flag-unknown", f"The engine does not know {flag}.")
        for flag in ("--train_type", "--num_infer_workers", "--use_lmdeploy")
    ]
