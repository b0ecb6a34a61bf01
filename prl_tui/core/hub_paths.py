"""Values that name a data set or a model on a hub, or a path on this box: which are plainly paths.

ms-swift reads `[hf::|ms::]NAME[:SUBSETS][#ROWS]` and takes each piece for a path where it exists. Source: its
dataset_syntax.py in 3.3 to 4.6, and safe_snapshot_download for models.
"""

from __future__ import annotations

STARTS = ("/", "./", "../", "~/")
ENDS = (".jsonl", ".json", ".csv", ".parquet", ".txt", ".py")


def readings(text: str) -> tuple[str, ...]:
    """The paths that a value may stand for: whole, without the rows that are taken of it, without its subsets."""
    whole, mark, rows = text.rpartition("#")
    bare = whole if mark and rows.isascii() and rows.isdigit() else text
    return tuple(dict.fromkeys((text, bare, bare.partition(":")[0])))


def is_address(text: str) -> bool:
    """The value is a web address or one of a bucket, which no program here fetches: `https://…`, `s3://…`."""
    scheme, mark, rest = text.partition("://")
    return bool(mark and rest) and scheme.isascii() and scheme.isalnum()


def is_path(text: str) -> bool:
    """The value can be nothing but a path; a name with its hub before it is none."""
    if "::" in text or is_address(text):
        return False
    return text.startswith(STARTS) or any(reading.endswith(ENDS) for reading in readings(text))
