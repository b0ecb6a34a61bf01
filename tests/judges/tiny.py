"""A random Qwen2 of 100,000 parameters with its tokenizer, a reward and datasets: made here, nothing fetched.

    python tests/judges/tiny.py DIR      # DIR/tiny, DIR/plugin.py, DIR/data/{sft,dpo,grpo}.jsonl

Needs torch, transformers and tokenizers. The other judges import it.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT = (
    "{%- for m in messages -%}{{- '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' -}}"
    "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)
PLUGIN = """try:
    from swift.rewards import ORM, orms
except ImportError:
    from swift.plugin import ORM, orms


class TinyLength(ORM):
    def __call__(self, completions, **kwargs):
        return [(len(c) % 7) / 7.0 for c in completions]


orms["tiny_length"] = TinyLength
"""


def make_rows(path: Path, count: int) -> Path:
    """`count` prompts with their solutions, as ms-swift reads them."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as out:
            for i in range(count):
                row = {"messages": [{"role": "user", "content": f"What is {i} + 1?"}], "solution": str(i + 1)}
                out.write(json.dumps(row) + "\n")
    return path


def make_data(folder: Path, count: int = 32, seed: int = 7) -> None:
    """`sft.jsonl`, `dpo.jsonl` (reward models take it too) and `grpo.jsonl`: the same sums in each."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[dict[str, object]]] = {"sft": [], "dpo": [], "grpo": []}
    for _ in range(count):
        a, b = rng.randint(0, 99), rng.randint(0, 99)
        asked = {"role": "user", "content": f"What is {a} + {b}?"}
        told = {"role": "assistant", "content": f"<think>{a} + {b}</think> <answer>{a + b}</answer>"}
        rows["sft"].append({"messages": [asked, told]})
        rows["dpo"].append({"messages": [asked, told], "rejected_response": "I do not know."})
        rows["grpo"].append({"messages": [asked], "solution": str(a + b)})
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_model(folder: Path) -> Path:
    """The model's folder, made on the first call."""
    if (folder / "config.json").exists():
        return folder
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    folder.mkdir(parents=True, exist_ok=True)
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator([f"What is {i} + 1?" for i in range(99)], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>", model_max_length=2048
    )
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(str(folder))
    torch.manual_seed(7)
    config = Qwen2Config(
        vocab_size=384,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"),
        pad_token_id=tokenizer.convert_tokens_to_ids("<|endoftext|>"),
    )
    Qwen2ForCausalLM(config).to(torch.float32).save_pretrained(str(folder))
    (folder.parent / "plugin.py").write_text(PLUGIN)
    return folder


if __name__ == "__main__":
    make_model(Path(sys.argv[1]) / "tiny")
    make_data(Path(sys.argv[1]) / "data")
