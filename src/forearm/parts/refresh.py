"""Keep an arm consistent with its parts: recompute links on load, report changes, update files."""

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

# Values are recorded in full precision, so any difference above rounding is a change of the parts.
UNCHANGED = 1e-9
# The keys of a [[link]] that come from its parts.
RECORDED = ("mass", "com", "inertia")


def refresh_links(links: Sequence[Link], parts: str, folder: Path | None, armfile: str) -> list[Link]:
    """Recompute the links from their parts; a PartsWarning names each that differs."""
    if folder is None:
        raise InputError(f"{parts!r} cannot be found without the arm file's folder.", armfile, "parts")
    nodes = {node.name: node for node in read_parts(beside(folder / armfile, parts))}
    refuse_unknown(nodes, [link.name for link in links], parts, armfile)
    refreshed = []
    for link in links:
        if link.name in nodes:
            new = link_of(nodes[link.name])
            change = describe_change(link, new)
            if change and not link.massless:
                warnings.warn(
                    f"{armfile}: the parts of link {link.name!r} changed: {change}. The recomputed values "
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
                f"the arm file {armfile} has no such link; {suggest(name, known)}", parts, f"link {name!r}"
            )


def link_of(node: Component) -> Link:
    """The link defined by a link of the parts database."""
    mass, com, inertia = node.in_link
    return Link(name=node.name, mass=mass, com=com, inertia=inertia)


def describe_change(old: Link, new: Link) -> str:
    """Describe the changes between two links; empty if there are none."""
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
    """Replace the mass, com and inertia lines of these links in the text of a valid arm file; leave the rest
    untouched.

    `lines[link][key]` is the new line. The new text is parsed again: unless it differs from the old one in
    these values only, the layout of the file does not allow line replacement, and it is refused.
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
            "nothing was updated; to update it automatically, write mass, com and inertia of "
            "each link on one unindented line each.",
            armfile,
        )
