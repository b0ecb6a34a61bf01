import re

from prl_tui.telemetry.milestones import PHASES, Anchor, Milestones, phase_words, trigger_of

# Lines of ms-swift 4.6.0 in the order of a run.
LINES = [
    "[INFO:swift] rank: 0, local_rank: 0, world_size: 2, local_world_size: 2",
    "[INFO:swift] output_dir: /data/output/v0-20261127-213857",
    "[INFO:swift] args: RLHFArguments(",
    "[INFO:swift] model_info: ModelInfo(model_type='qwen2')",
    "[INFO:swift] train_dataset: Dataset({",
    "[INFO:swift] The logging file will be saved in: /data/output/v0-20261127-213857/logging.jsonl",
]


def test_phases_follow_each_other():
    milestones = Milestones()
    seen = [milestones.phase(any_output=False, stepping=False), milestones.phase(any_output=True, stepping=False)]
    for number, line in enumerate(LINES):
        assert milestones.observe(line, number, None)
        seen.append(milestones.phase(any_output=True, stepping=False))
    seen.append(milestones.phase(any_output=True, stepping=True))
    milestones.observe("[INFO:swift] End time of running main: 2026-11-27 21:39:20.709341", 9, None)
    seen.append(milestones.phase(any_output=True, stepping=True))
    assert list(dict.fromkeys(seen)) == list(PHASES)
    assert milestones.facts == {
        "world_size": "2",
        "output_dir": "/data/output/v0-20261127-213857",
        "metrics_path": "/data/output/v0-20261127-213857/logging.jsonl",
    }
    assert milestones.lines["dataset"] == 4


def test_checkpoints_are_in_the_order_of_their_numbers_with_the_time_they_were_seen():
    milestones = Milestones()
    milestones.observe("[INFO:swift] Saving model checkpoint to out/v0/checkpoint-20", 1, None)
    milestones.observe("[INFO:swift] Saving model checkpoint to out/v0/checkpoint-100", 2, 50.0)
    milestones.observe("[INFO:swift] Saving model checkpoint to out/v0/checkpoint-20", 3, 60.0)
    milestones.observe("[INFO:swift] Saving model checkpoint to out/v0/checkpoint-3", 4, 70.0)
    found = milestones.ordered_checkpoints()
    assert [(one.step, one.seen_at) for one in found] == [(3, 70.0), (20, None), (100, 50.0)]


def test_a_recipe_brings_anchors_of_its_own():
    # The vision-language trainer's line, in Chinese.
    anchors = (Anchor("checkpoint", r"^检查点保存到: (?P<checkpoint>\S+)$"), Anchor("done", r"^训练完成!"))
    milestones = Milestones(anchors)
    assert milestones.observe("检查点保存到: save/checkpoint_epoch1.pt", 0, None)
    assert milestones.ordered_checkpoints()[0].step == 1
    assert not milestones.observe(LINES[0], 1, None)
    milestones.observe("训练完成!", 2, None)
    assert milestones.phase(any_output=True, stepping=False) == "done"
    trigger = re.compile(trigger_of(anchor.pattern for anchor in anchors))
    assert trigger.search("[default0]:训练完成!".encode())


def test_every_phase_has_words():
    assert all(phase_words(phase) != phase or phase == "training" for phase in PHASES)
