"""Keeping an arm true to its parts: links recomputed when the arm is loaded, changes said, files updated."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from forearm.arm.link import Link
from forearm.errors import InputError, ModelError, PartsWarning, suggest
from forearm.parts.database import Node, read_parts
from forearm.reading.textfile import beside

# Recorded numbers are written in full, so anything above rounding is a change of the parts.
UNCHANGED = 1e-9


def refresh_links(links: Sequence[Link], parts: str, folder: Path | None, armfile: str) -> list[Link]:
    """The links with the numbers of their parts; a PartsWarning names each that differs from what was recorded."""
    if folder is None:
        raise InputError(f"{armfile}, parts: {parts!r} cannot be found without the arm file's folder.")
    nodes = {node.name: node for node in read_parts(beside(folder / armfile, parts))}
    names = [link.name for link in links]
    for name in nodes:
        if name not in names:
            raise ModelError(f"{parts}, link {name!r}: the arm file {armfile} has no such link; {suggest(name, names)}")
    refreshed = []
    for link in links:
        if link.name in nodes:
            new = link_of(nodes[link.name])
            change = describe_change(link, new)
            if change and not link.massless:
                warnings.warn(
                    f"{armfile}: the parts of link {link.name!r} changed: {change}. The recomputed numbers are used; "
                    f"'forearm parts {parts} --update {armfile}' records them.",
                    PartsWarning,
                    stacklevel=2,
                )
            link = new if change else link
        refreshed.append(link)
    return refreshed


def link_of(node: Node) -> Link:
    """The link that a link of the parts database gives."""
    mass, com, inertia = node.in_link
    return Link(name=node.name, mass=mass, com=com, inertia=inertia)


def describe_change(old: Link, new: Link) -> str:
    """What changed from one set of numbers to another, in words; empty when nothing did."""
    said = []
    size = max(float(np.abs(new.com).max()), float(np.sqrt(np.trace(new.inertia) / new.mass)))
    if abs(new.mass - old.mass) > UNCHANGED * new.mass:
        percent = f" ({100 * (new.mass / old.mass - 1):+.3g} %)" if old.mass else ""
        said.append(f"mass {old.mass:.6g} -> {new.mass:.6g} kg{percent}")
    shift = float(np.linalg.norm(new.com - old.com))
    if shift > UNCHANGED * size:
        said.append(f"centre of mass moved by {1000 * shift:.4g} mm")
    turned = float(np.abs(new.inertia - old.inertia).max())
    largest = float(np.abs(new.inertia).max())
    if turned > UNCHANGED * largest:
        said.append(f"inertia by up to {turned:.4g} kg m^2 ({100 * turned / largest:.3g} % of its largest element)")
    return ", ".join(said)


def update_armfile_text(text: str, lines: dict[str, dict[str, str]]) -> str:
    """The text of an arm file with the mass, com and inertia lines of these links exchanged; all else untouched.

    `lines[link][key]` is the new line. A value that spans several lines cannot be exchanged and is refused.
    """
    done: list[str] = []
    for block in re.split(r"(?m)^(?=\[\[)", text):
        name = re.search(r"""(?m)^name\s*=\s*["']([^"']*)["'].*$""", block)
        if block.startswith("[[link]]") and name is not None and name[1] in lines:
            missing = []
            for key, line in lines[name[1]].items():
                found = re.search(rf"(?m)^{key}\s*=.*$", block)
                if found is None:
                    missing.append(line)
                else:
                    block = block[: found.start()] + _exchanged(found[0], line, name[1]) + block[found.end() :]
            block = block[: name.end()] + "".join(f"\n{line}" for line in missing) + block[name.end() :]
        done.append(block)
    return "".join(done)


def _exchanged(old: str, new: str, link: str) -> str:
    value, hash_sign, comment = old.partition("#")
    if value.count("[") != value.count("]") or value.count("{") != value.count("}"):
        key = value.split("=")[0].strip()
        raise InputError(f"link {link!r}: its {key!r} spans several lines; write it on one line to have it updated.")
    return f"{new} #{comment}" if hash_sign else new
