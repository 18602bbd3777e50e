"""Attributes of URDF elements as text, numbers and vectors; invalid ones are refused with their location."""

from __future__ import annotations

import numpy as np

from forearm.errors import InputError, shorten
from forearm.reading import xml
from forearm.reading.xml import Element
from forearm.spatial import Floats


def attribute(element: Element, key: str, where: str, default: str = "") -> str:
    """The text of an attribute, required without a default."""
    text = element.attributes.get(key) or default
    if not text:
        raise InputError(f"<{element.tag}> needs the attribute {key!r}.", where)
    return text


def vector(element: Element, key: str, where: str, default: str = "") -> Floats:
    """The three numbers of an attribute."""
    text = element.attributes.get(key, default)
    words = text.split()
    if len(words) != 3:
        attribute(element, key, where, text)
        remedy = "; xacro is expanded in files named .xacro only" if "$" in text else ""
        raise InputError(
            f"{key} of <{element.tag}> must be three numbers, got {shorten(text)}{remedy}.", where
        )
    return np.array([xml.number(word, f"{key} of <{element.tag}>", where) for word in words])


def origin(element: Element, where: str) -> tuple[Floats, Floats]:
    """xyz and rpy of the <origin> in an element, zeros where there is none."""
    found = element.first("origin")
    if found is None:
        return np.zeros(3), np.zeros(3)
    return vector(found, "xyz", where, "0 0 0"), vector(found, "rpy", where, "0 0 0")


def number(element: Element, key: str, where: str, default: float | None = None) -> float:
    """The number of an attribute."""
    if key not in element.attributes and default is not None:
        return default
    text = element.attributes.get(key)
    return xml.number(
        attribute(element, key, where) if text is None else text, f"{key} of <{element.tag}>", where
    )


def bound(element: Element | None, key: str, where: str) -> float | None:
    """A bound from an attribute, infinite from LARGEST on; None if it is absent."""
    text = None if element is None else element.attributes.get(key)
    return None if element is None or text is None else xml.bound(text, f"{key} of <{element.tag}>", where)
