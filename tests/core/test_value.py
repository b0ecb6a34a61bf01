"""Frozen values beside the standard library's frozen dataclasses, of the running Python."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from prl_tui.core import value
from prl_tui.core.value import Value


class Base(Value):
    """A value that another one is made of."""

    path: str
    size: int = 3

    @property
    def name(self) -> str:
        """Overridden below."""
        return self.path


class More(Base):
    """Two fields of its base, one of its own."""

    log: str | None = None

    @property
    def name(self) -> str:
        """With its log."""
        return f"{self.path} {self.log}"


@dataclass(frozen=True)
class PlainBase:
    """The same by the library."""

    path: str
    size: int = 3


@dataclass(frozen=True)
class PlainMore(PlainBase):
    """The same by the library."""

    log: str | None = None


GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}), (("a", 4), {}), (("a", 4, "l"), {}), ((), {"path": "a"}), (("a",), {"log": "l"}),
    ((), {"log": "l", "path": "b", "size": 1}),
    ((), {}), (("a", 1, "l", 2), {}), (("a",), {"path": "b"}), (("a",), {"no": 1}),
]  # fmt: skip


@pytest.mark.parametrize("made_before", [0, 9], ids=["the first", "the tenth"])
@pytest.mark.parametrize(("kind", "library"), [("base", PlainBase), ("more", PlainMore)])
def test_values_are_built_as_dataclasses_are(kind: str, library: type, made_before: int) -> None:
    """Also those made after others, which have an initializer of their own."""

    class First(Base):
        """None of another test's instances counts here."""

    class Second(More):
        """The same."""

    own = First if kind == "base" else Second
    for _ in range(made_before):
        own("x")
    for args, keywords in GIVEN:
        try:
            wanted = vars(library(*args, **keywords))
        except TypeError:
            with pytest.raises(TypeError):
                own(*args, **keywords)
        else:
            assert value.as_dict(own(*args, **keywords)) == wanted


def test_a_value_of_another_one_is_whole() -> None:
    one = More("a", log="l")
    assert one == More("a", 3, "l") != More("a", 4, "l")
    assert hash(one) == hash(More("a", 3, "l"))
    assert one != Base("a")
    assert Base("a") != one
    assert (one.name, Base("a").name) == ("a l", "a")
    assert repr(one) == "More(path='a', size=3, log='l')"
    assert value.replace(one, size=5) == More("a", 5, "l")
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError, match=r"path cannot be changed"):
        one.path = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        one.other = "b"  # type: ignore[attr-defined]
