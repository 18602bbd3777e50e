"""The attributes of an MJCF element, completed by those of its default class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forearm.errors import InputError, shorten, suggest
from forearm.reading.xml import Element, bound, number
from forearm.spatial import Floats


@dataclass(frozen=True)
class MjcfElement:
    """An element as MuJoCo sees it: its own attributes, then those of its default class."""

    element: Element
    values: Mapping[str, str]

    @property
    def tag(self) -> str:
        """The tag of the element."""
        return self.element.tag

    @property
    def name(self) -> str:
        """Its name, or empty."""
        return self.element.attributes.get("name", "")

    @property
    def where(self) -> str:
        """Its location, for messages."""
        named = f" {shorten(self.name)}" if self.name else ""
        return f"{self.element.place}, <{self.tag:.40}>{named}"

    def has(self, key: str) -> bool:
        """Whether the element or its class has this attribute."""
        return key in self.values

    def text(self, key: str) -> str:
        """A required attribute."""
        if not self.values.get(key):
            raise InputError(f"the attribute {key!r} is missing.", self.where)
        return self.values[key]

    def numbers(self, key: str, least: int, most: int | None = None, default: str | None = None) -> Floats:
        """From `least` to `most` numbers, exactly `least` by default."""
        text = self.values.get(key, default)
        if text is None:
            raise InputError(f"the attribute {key!r} is missing.", self.where)
        most = least if most is None else most
        words = text.split(None, most)
        if not least <= len(words) <= most:
            count = f"{least}" if least == most else f"{least} to {most}"
            raise InputError(f"{key} must be {count} numbers, got {shorten(text)}.", self.where)
        return np.array([number(word, key, self.where) for word in words])

    def bounds(self, key: str) -> tuple[float, float]:
        """A lower and an upper bound, infinite from LARGEST on; 0 0 by default."""
        text = self.values.get(key, "0 0")
        words = text.split(None, 2)
        if len(words) != 2:
            raise InputError(f"{key} must be 2 numbers, got {shorten(text)}.", self.where)
        lower, upper = (bound(word, key, self.where) for word in words)
        return lower, upper

    def number(self, key: str, default: float | None = None) -> float:
        """One number."""
        if default is not None and key not in self.values:
            return default
        return float(self.numbers(key, 1)[0])

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """One of a few words."""
        word = self.values.get(key, default).strip()
        if word not in allowed:
            raise InputError(f"unknown {key} {shorten(word)}; {suggest(word, allowed)}", self.where)
        return word

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean, true or false."""
        return self.choice(key, ("true", "false"), "true" if default else "false") == "true"

    def is_limited(self, key: str, range_: str, autolimits: bool) -> bool:
        """Whether a range applies: by the attribute `key`, or because it is present and not empty."""
        word = self.choice(key, ("true", "false", "auto"), "auto")
        if word != "auto":
            return word == "true"
        if not autolimits or range_ not in self.values:
            return False
        lower, upper = self.bounds(range_)
        return lower < upper


def largest_of(element: MjcfElement, key: str) -> float | None:
    """The larger magnitude of two bounds; None if one is infinite or both are 0."""
    lower, upper = element.bounds(key)
    largest = max(abs(lower), abs(upper))
    return largest if 0.0 < largest < math.inf else None
