"""Which name a mistyped one is told to mean: of about equally near ones the most usual."""

import pytest

from prl_tui.core.config import nearest, nearest_key, nearest_override
from tests.built_in import RECIPES


@pytest.mark.parametrize("recipe", ["prl-grpo", "swift-grpo", "swift-sft", "swift-dpo", "swift-rm"])
@pytest.mark.parametrize("typed", ["per_device_batch", "per_device_batch_size", "batch_size", "device_batch_size"])
def test_training_comes_before_evaluation(recipe, typed):
    assert nearest_key(RECIPES[recipe], typed) == "per_device_train_batch_size"
    assert nearest_override(RECIPES[recipe], f"PRL_{typed.upper()}") == "PRL_PER_DEVICE_TRAIN_BATCH_SIZE"


@pytest.mark.parametrize("recipe", ["prl-grpo", "swift-grpo", "swift-sft"])
@pytest.mark.parametrize("typed", ["per_device_eval_batch", "eval_batch_size", "per_device_evl_batch_size"])
def test_evaluation_is_meant_where_it_is_named(recipe, typed):
    assert nearest_key(RECIPES[recipe], typed) == "per_device_eval_batch_size"


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_one_letter_less_is_still_that_field(recipe):
    for field in RECIPES[recipe].fields:
        typed = field.key[:-1]
        if len(field.key) > 8 and typed not in RECIPES[recipe].by_key:
            assert nearest_key(RECIPES[recipe], typed) == field.key


def test_nothing_like_it_is_no_suggestion():
    assert nearest_key(RECIPES["prl-grpo"], "zzz") is None
    assert nearest("zzz", ["alpha"]) is None


@pytest.mark.parametrize(("typed", "meant"), [("port", "master_port"), ("epochs", "num_train_epochs"), ("prot", None)])
def test_a_part_of_a_name_comes_before_a_word_that_is_merely_alike(typed, meant):
    assert nearest_key(RECIPES["swift-sft"], typed) == meant
