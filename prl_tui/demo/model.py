"""The model: a small character-level transformer, with attention written out so that it is deterministic everywhere."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from prl_tui.demo.options import HEADS

DROPOUT = 0.05


class _Attention(nn.Module):  # type: ignore[misc]
    """Causal self-attention with `HEADS` heads."""

    def __init__(self, width: int, block: int) -> None:
        super().__init__()
        self.mixed = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(DROPOUT)
        future = torch.ones(block, block, dtype=torch.bool).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix each place with those before it."""
        batch, length, width = x.shape
        parts = self.mixed(x).view(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // HEADS)
        scores = scores.masked_fill(self.future[:length, :length], float("-inf"))
        mixed = self.drop(scores.softmax(-1)) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class _Layer(nn.Module):  # type: ignore[misc]
    """Attention and a feed-forward part, each on a normalised residual stream."""

    def __init__(self, width: int, block: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = _Attention(width, block)
        self.norm2 = nn.LayerNorm(width)
        self.forward_part = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(DROPOUT)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One layer's change of the stream."""
        x = x + self.attention(self.norm1(x))
        return x + self.forward_part(self.norm2(x))


class CharTransformer(nn.Module):  # type: ignore[misc]
    """Predicts the next character at each place."""

    def __init__(self, vocabulary: int, block: int, width: int, layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(block, width))
        self.layers = nn.Sequential(*[_Layer(width, block) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)
        self.apply(_initialise)

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean loss of a batch of rows (`block + 1` tokens each), and how many characters were guessed right."""
        inputs, targets = rows[:, :-1], rows[:, 1:]
        x = self.tokens(inputs) + self.places[: inputs.shape[1]]
        logits = self.head(self.norm(self.layers(x)))
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss, (logits.argmax(-1) == targets).sum()


def parameter_count(model: nn.Module) -> int:
    """How many trainable numbers the model has."""
    return sum(parameter.numel() for parameter in model.parameters())


def parameter_text(model: nn.Module) -> str:
    """The line that ms-swift prints after `model_parameter_info: `."""
    total = parameter_count(model)
    trainable = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    buffers = sum(buffer.numel() for buffer in model.buffers())
    return (
        f"{type(model).__name__}: {total / 1e6:.4f}M Params ({trainable / 1e6:.4f}M Trainable"
        f" [{trainable / total:.4%}]), {buffers / 1e6:.4f}M Buffers."
    )


def _initialise(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.05)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
