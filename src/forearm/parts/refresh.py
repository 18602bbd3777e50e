"""Keeping an arm true to its parts: links recomputed when the arm is loaded, changes said, files updated."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from forearm.arm.link import Link
from forearm.errors import InputError, ModelError, PartsWarning, suggest
from forearm.parts.database import Component, read_parts
from forearm.reading.textfile import beside, parse_toml

# Recorded numbers are written in full, so anything above rounding is a change of the parts.
UNCHANGED = 1e-9
# The keys of a [[link]] that its parts give.
RECORDED = ("mass", "com", "inertia")


def refresh_links(links: Sequence[Link], parts: str, folder: Path | None, armfile: str) -> list[Link]:
    """The links with the numbers of their parts; a PartsWarning names each that differs
    from what was recorded.
    """
    if folder is None:
        raise InputError(f"{armfile}, parts: {parts!r} cannot be found without the arm file's folder.")
    nodes = {node.name: node for node in read_parts(beside(folder / armfile, parts))}
    refuse_unknown(nodes, [link.name for link in links], parts, armfile)
    refreshed = []
    for link in links:
        if link.name in nodes:
            new = link_of(nodes[link.name])
            change = describe_change(link, new)
            if change and not link.massless:
                warnings.warn(
                    f"{armfile}: the parts of link {link.name!r} changed: {change}. The recomputed numbers "
                    f"are used; 'forearm parts {parts} --update {armfile}' records them.",
                    PartsWarning,
                    stacklevel=2,
                )
            link = new if change else link
        refreshed.append(link)
    return refreshed


def refuse_unknown(names: Iterable[str], known: Sequence[str], parts: str, armfile: str) -> None:
    """Refuse links of a parts file that the arm file does not have."""
    for name in names:
        if name not in known:
            raise ModelError(
                f"{parts}, link {name!r}: the arm file {armfile} has no such link; {suggest(name, known)}"
            )


def link_of(node: Component) -> Link:
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
        said.append(
            f"inertia by up to {turned:.4g} kg m^2 ({100 * turned / largest:.3g} % of its largest element)"
        )
    return ", ".join(said)


def update_armfile_text(text: str, lines: dict[str, dict[str, str]], armfile: str) -> str:
    """The text of a valid arm file with the mass, com and inertia lines of these links
    exchanged; all else untouched.

    `lines[link][key]` is the new line. The new text is read back: unless it says what the old one said but
    for these values, the file is written in a way that lines cannot be exchanged in, and is refused.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    done: list[str] = []
    for block in re.split(r"(?m)^(?=\[\[)", text):
        name = re.search(r"""(?m)^name\s*=\s*["']([^"']*)["'][^\r\n]*""", block)
        if block.startswith("[[link]]") and name is not None and name[1] in lines:
            missing = []
            for key in RECORDED:
                line = lines[name[1]].get(key)
                found = re.search(rf"(?m)^{key}\s*=[^\r\n]*", block)
                if line is not None and found is None:
                    missing.append(line)
                elif line is not None and found is not None:
                    _, hash_sign, comment = found[0].partition("#")
                    line += f" #{comment}" if hash_sign else ""
                    block = block[: found.start()] + line + block[found.end() :]
            block = (
                block[: name.end()] + "".join(f"{line_end}{line}" for line in missing) + block[name.end() :]
            )
        done.append(block)
    new = "".join(done)
    _refuse_other_meaning(text, new, lines, armfile)
    return new


def _refuse_other_meaning(old: str, new: str, lines: dict[str, dict[str, str]], armfile: str) -> None:
    wanted = parse_toml(old.encode(), armfile)
    for block in wanted["link"]:
        if block["name"] in lines:
            for key in RECORDED:
                block.pop(key, None)
            block |= parse_toml("\n".join(lines[block["name"]].values()).encode(), armfile)
    try:
        same = parse_toml(new.encode(), armfile) == wanted
    except InputError:
        same = False
    if not same:
        raise InputError(
            f"{armfile}: nothing was recorded; write mass, com and inertia of each link as one line each, "
            "not indented, to have them updated."
        )
