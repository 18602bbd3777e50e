"""Attributes of URDF elements as text, numbers and vectors; invalid ones are refused with their location."""

from __future__ import annotations

import math

import numpy as np

from forearm.errors import InputError, shorten
from forearm.reading.xml import Element
from forearm.spatial import Floats
from forearm.values import LARGEST, number_in


def attribute(element: Element, key: str, where: str) -> str:
    """The text of a required attribute."""
    if not element.attributes.get(key):
        raise InputError(f"<{element.tag}> needs the attribute {key!r}.", where)
    return element.attributes[key]


def vector(element: Element, key: str, where: str, default: str | None = None) -> Floats:
    """The three numbers of an attribute."""
    text = element.attributes.get(key, default)
    if text is None:
        raise InputError(f"<{element.tag}> needs the attribute {key!r}.", where)
    words = text.split()
    if len(words) != 3:
        raise InputError(
            f"{key} of <{element.tag}> must be three numbers, got {shorten(text)}{_remedy(text)}.", where
        )
    return np.array([to_float(word, f"{key} of <{element.tag}>", where) for word in words])


def origin(element: Element, where: str) -> tuple[Floats, Floats]:
    """xyz and rpy of the <origin> in an element, zeros where there is none."""
    found = element.first("origin")
    if found is None:
        return np.zeros(3), np.zeros(3)
    return vector(found, "xyz", where, "0 0 0"), vector(found, "rpy", where, "0 0 0")


def number(element: Element, key: str, where: str, default: float | None = None) -> float:
    """The number of an attribute."""
    text = element.attributes.get(key)
    if text is None:
        if default is None:
            raise InputError(f"<{element.tag}> needs the attribute {key!r}.", where)
        return default
    return to_float(text, f"{key} of <{element.tag}>", where)


def bound(element: Element | None, key: str, where: str, default: float | None = None) -> float | None:
    """A bound from an attribute; values of LARGEST or more mean unbounded."""
    text = None if element is None else element.attributes.get(key)
    if element is None or text is None:
        return default
    value = _parsed(text, f"{key} of <{element.tag}>", where)
    if math.isnan(value):
        raise InputError(f"{key} of <{element.tag}> must be a number, got {shorten(text)}.", where)
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value


def to_float(text: str, what: str, where: str) -> float:
    """A text as a finite number."""
    value = _parsed(text, what, where)
    if not math.isfinite(value):
        raise InputError(f"{what} must be finite, got {shorten(text)}.", where)
    if abs(value) > LARGEST:
        raise InputError(f"{what} must not exceed {LARGEST:g}, got {shorten(text)}.", where)
    return value


def is_number(text: str) -> bool:
    """Whether a text is a number, finite or not."""
    return number_in(text) is not None


def _parsed(text: str, what: str, where: str) -> float:
    value = number_in(text)
    if value is None:
        raise InputError(f"{what} must be a number, got {shorten(text)}{_remedy(text)}.", where)
    return value


def _remedy(text: str) -> str:
    return "; xacro is expanded in files named .xacro only" if "$" in text else ""
