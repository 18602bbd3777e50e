"""Ways to break a file: its bytes, its tokens, the tree of its tables or elements;
each takes chance and bytes.
"""

from __future__ import annotations

import copy
import datetime
import math
import random
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

Mutator = Callable[[random.Random, bytes], bytes]

# --- what is done to bytes and tokens ------------------------------------------------------------------

NUMBER = re.compile(rb"(?<![\w.])[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
WORD = re.compile(rb"[A-Za-z_][\w.-]*")
TOKEN = re.compile(rb"[\w.+-]+|\s+|[^\w\s]")
VALUES = (
    b"nan", b"inf", b"-inf", b"-1", b"0", b"-0.0", b"1", b"1e400", b"1e308", b"-1.7e308", b"1e200", b"1e25",
    b"1e-200", b"5e-324", b"9" * 30, b"9" * 400, b"9" * 5000, b"0x" + b"f" * 5000, b'"1"', b"''", b"true",
    b"1979-05-27", b"07:32:00", b"[]", b"{}", b"[1, 2, 3]", b"1_000", b"0.1.2", b"1 2", b"", b"x", b"&amp;",
    "\u0661".encode(),
)  # fmt: skip


def flip(rng: random.Random, data: bytes) -> bytes:
    """Change some bits."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def delete(rng: random.Random, data: bytes) -> bytes:
    """Leave a piece out."""
    start, end = _piece(rng, data)
    return data[:start] + data[end:]


def double(rng: random.Random, data: bytes) -> bytes:
    """Put a piece in once more, there or elsewhere."""
    start, end = _piece(rng, data)
    at = rng.choice((end, rng.randint(0, len(data))))
    return data[:at] + data[start:end] * rng.choice((1, 1, 1, 2, 50)) + data[at:]


def cut(rng: random.Random, data: bytes) -> bytes:
    """End the file early, or begin it late."""
    at = rng.randint(0, len(data))
    return data[:at] if rng.random() < 0.8 else data[at:]


def insert(rng: random.Random, data: bytes) -> bytes:
    """Put in bytes that mean something, or nothing."""
    odd = (
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\r",
        b'"""',
        b"<!DOCTYPE x>",
        b"]]>",
        b"<!--",
        b"&x;",
        b"#",
        b"\n[[",
    )
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice((*odd, rng.randbytes(rng.randint(1, 9)))) + data[at:]


def number(rng: random.Random, data: bytes) -> bytes:
    """Another number, or none, in place of a number."""
    return _exchanged(rng, data, NUMBER, lambda _: rng.choice(VALUES))


def nudge(rng: random.Random, data: bytes) -> bytes:
    """Some numbers larger, smaller or of the other sign: most such files stay sound."""

    def moved(old: bytes) -> bytes:
        try:
            value = float(old) * rng.choice((1.01, 0.5, 3.0, -1.0, 1e3, 1e-6, 1e9))
        except ValueError:
            return old
        return repr(value).encode()

    return _exchanged(rng, data, NUMBER, moved)


def word(rng: random.Random, data: bytes) -> bytes:
    """Another word of the file in place of a word: a tag, a key, a name; or the word misspelt."""
    words = WORD.findall(data) or [b"x"]
    odd = (rng.choice(words)[:-1], rng.choice(words).upper(), rng.choice(words) + b"s", b"x" * 300)
    return _exchanged(rng, data, WORD, lambda _: rng.choice(words) if rng.random() < 0.7 else rng.choice(odd))


def swap(rng: random.Random, data: bytes) -> bytes:
    """Two tokens in each other's place."""
    spans = [m.span() for m in TOKEN.finditer(data)]
    if len(spans) < 2:
        return data
    (a, b), (c, d) = sorted(rng.sample(spans, 2))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def line(rng: random.Random, data: bytes) -> bytes:
    """A line left out, said twice or moved."""
    lines = data.splitlines(keepends=True) or [b""]
    taken = lines[rng.randrange(len(lines))]
    if rng.random() < 0.6:
        lines.remove(taken)
    if rng.random() < 0.6:
        lines.insert(rng.randint(0, len(lines)), taken)
    return b"".join(lines)


def _piece(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.choice((1, 2, 5, 20, 100, 1000)))


def _exchanged(
    rng: random.Random, data: bytes, pattern: re.Pattern[bytes], make: Callable[[bytes], bytes]
) -> bytes:
    spans = [m.span() for m in pattern.finditer(data)]
    for start, end in sorted(rng.sample(spans, min(len(spans), rng.choice((1, 1, 1, 3)))), reverse=True):
        data = data[:start] + make(data[start:end]) + data[end:]
    return data


# --- what is done to the tree of a document ------------------------------------------------------------

PLAIN: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, -1, -1.0, 0, 0.0, 1, 1e308, -1.7e308, 1e200, 1e25, 1e-200, 5e-324,
    16**5000, 10**30, "", "x", "90 deg", "pi/0", "1e999 deg", "\0", "\u2028", "x" * 300, True, [], {}, [[]],
    [1, 2, 3], [0.0, 0.0, 0.0], {"x": 1}, datetime.date(1979, 5, 27), datetime.time(7, 32),
)  # fmt: skip


def toml_tree(rng: random.Random, data: bytes) -> bytes:
    """Values exchanged, left out, renamed and copied about in the tables of a TOML document."""
    try:
        document = tomllib.loads(data.decode())
    except (ValueError, RecursionError):  # an earlier change has broken it
        return flip(rng, data)
    for _ in range(rng.choice((1, 1, 1, 2))):
        _change_tree(rng, document)
    return "".join(f"{_toml(key)} = {_toml(value)}\n" for key, value in document.items()).encode()


def _change_tree(rng: random.Random, document: dict[str, Any]) -> None:
    places = list(_places(document))
    if not places:
        return
    holder, key = rng.choice(places)
    other, place = rng.choice(places)
    what = rng.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = copy.deepcopy(rng.choice(PLAIN))
    elif what == 2:
        holder[key] = copy.deepcopy(other[place])
    elif what == 3 and isinstance(holder[key], float):
        holder[key] = holder[key] * rng.choice((-1, 1e-3, 1e3, 1.01))
    elif isinstance(holder, list):
        holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[key]))
    else:
        holder[place if isinstance(place, str) and rng.random() < 0.6 else f"{key}s"] = holder.pop(key)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return (
            '"'
            + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
            + '"'
        )
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, int):
        return hex(value) if value > 2**64 else str(value)
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else repr(value)


def xml_tree(rng: random.Random, data: bytes) -> bytes:
    """Elements and attributes exchanged, left out, renamed and copied about in an XML document."""
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError):
        return flip(rng, data)
    for _ in range(rng.choice((1, 1, 1, 2))):
        _change_elements(rng, root)
    return ElementTree.tostring(root)


def _change_elements(rng: random.Random, root: ElementTree.Element) -> None:
    holders = [element for element in root.iter() if len(element)] or [root]
    everyone = list(root.iter())
    bearers = [element for element in everyone if element.attrib] or [root]
    holder, element, donor = rng.choice(holders), rng.choice(bearers), rng.choice(bearers)
    what = rng.randrange(7)
    if what == 0 and len(holder):
        holder.remove(rng.choice(list(holder)))
    elif what == 1:
        holder.insert(rng.randint(0, len(holder)), copy.deepcopy(rng.choice(everyone)))
    elif what == 2:
        rng.choice(everyone).tag = rng.choice(everyone).tag
    elif what == 3 and element.attrib:
        del element.attrib[rng.choice(list(element.attrib))]
    elif what == 4 and element.attrib and donor.attrib:
        element.attrib[rng.choice(list(element.attrib))] = rng.choice(list(donor.attrib.values()))
    elif what == 5 and element.attrib:
        key = rng.choice(list(element.attrib))
        words = element.attrib[key].split() or [""]
        words[rng.randrange(len(words))] = rng.choice(VALUES).decode()
        element.attrib[key] = " ".join(words)
    elif element.attrib and donor.attrib:
        name, key = rng.choice(list(donor.attrib)), rng.choice(list(element.attrib))
        element.attrib[name] = element.attrib.pop(key)


def stl_field(rng: random.Random, data: bytes) -> bytes:
    """A number of a binary STL file exchanged: the count, a coordinate."""
    if len(data) < 134:
        return flip(rng, data)
    if rng.random() < 0.2:
        count = rng.choice((0, 1, len(data) // 50, 2**31, 2**32 - 1, rng.randrange(2**32)))
        return data[:80] + count.to_bytes(4, "little") + data[84:]
    values = (math.nan, math.inf, -1.0, 0.0, 3.4e38, -1e30, 1e-45, 1e12, rng.uniform(-1, 1))
    at = 84 + 50 * rng.randrange((len(data) - 84) // 50) + 4 * rng.randrange(12)
    return data[:at] + np.float32(rng.choice(values)).tobytes() + data[at + 4 :]


BYTES: tuple[Mutator, ...] = (flip, delete, double, cut, insert)
TOKENS: tuple[Mutator, ...] = (number, number, number, nudge, nudge, nudge, word, word, swap, line)
