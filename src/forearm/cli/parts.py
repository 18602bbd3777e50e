"""`forearm parts`: mass properties of sections, parts and links, step by step."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from forearm.cli.command import Command
from forearm.cli.options import JSON, Option, finish
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import complain
from forearm.errors import NameNotFound, shorten, suggest
from forearm.files.armfile import ARM, SCHEMA
from forearm.files.armfile_write import block_lines, link_block
from forearm.files.builtin import folder
from forearm.parts.database import Component, Mass, read_parts
from forearm.parts.plausibility import parts_findings
from forearm.parts.refresh import link_of, refuse_unknown, update_armfile_text
from forearm.reading.fields import FlagField
from forearm.reading.formats import refuse_other_format
from forearm.reading.textfile import MAX_TOML_BYTES, parse_toml, read_bytes, write_text
from forearm.spatial import Floats
from forearm.tables import Report, number
from forearm.values import chosen

PARTS = ".parts.toml"
HEADER = ["mass kg", "com x m", "y", "z", "Ixx kg m^2", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"]


def _run(given: argparse.Namespace) -> int:
    path = _found(given.file)
    with ProgressBar(f"reading {path.name} and the solids that it names"):
        links = read_parts(path)
    if given.link is not None:
        links = (chosen({link.name: link for link in links}, given.link, f"--link, {path.name}"),)
    for finding in parts_findings(links):
        complain(f"[{finding.code}] {finding.text}", kind="warning")
    if given.update:
        _update(Path(given.update), links, path.name)
    parts = [part for link in links for part in (_report(link), *([_steps(link)] if given.steps else []))]
    document = {"links": [_plain(link) for link in links], "written": given.update}
    return finish(given, Report(parts=parts), document, written=[given.update])


def _found(name: str) -> Path:
    """The file of that name, or the built-in one; a name that is neither gets a suggestion."""
    path = Path(name)
    if path.suffix or path.parent != Path() or path.exists():
        return path
    known = builtin_parts()
    if name not in known:
        raise NameNotFound(
            f"{shorten(name)} is neither a parts file nor a built-in one; {suggest(name, known)}", "parts"
        )
    return folder() / f"{name}{PARTS}"


def builtin_parts() -> list[str]:
    """Names of the parts files that come with forearm."""
    return sorted(file.name.removesuffix(PARTS) for file in folder().glob(f"*{PARTS}"))


def _update(armfile: Path, links: tuple[Component, ...], parts: str) -> None:
    data = read_bytes(armfile, MAX_TOML_BYTES)
    document = parse_toml(data, armfile.name)
    refuse_other_format(document, armfile.name, SCHEMA)
    recorded = [block["name"] for block in ARM.read(document, armfile.name)["link"]]
    refuse_unknown([link.name for link in links], recorded, parts, armfile.name)
    lines = {link.name: block_lines(link_block(link_of(link))) for link in links}
    write_text(armfile, update_armfile_text(data.decode("utf-8"), lines, armfile.name))


def _report(link: Component) -> Report:
    """Section, part and link, each in the frame of what holds it; the link in its own frame."""
    rows = []
    for part in link.held:
        rows += [[f"    {s.name} ({s.what})", *_numbers(s.turned)] for s in part.held]
        label = f"  {part.name}" + (f" [{part.what}]" if part.what else "")
        rows.append([label, *_numbers(part.turned)])
    rows.append([link.name, *_numbers(link.in_link)])
    title = (
        f"{link.name}: sections in their part's frame, parts in the drawing frame, the link in its own frame"
    )
    return Report(["what", *HEADER], rows, title)


def _steps(link: Component) -> Report:
    """For every section and part: its own inertia, turned into the holder's axes,
    and moved to the holder's centre.
    """
    lines = [
        f"{link.name}, step by step (inertia in kg m^2 as xx yy zz xy xz yz; each about the centre named)"
    ]
    for holder, node in link.walk():
        own, turned = node.own, node.turned
        into = "the link's frame" if holder is None else f"{holder.kind} {holder.name}"
        lines.append(f"{node.kind} {node.name}: {number(own.mass)} kg, own centre {_vector(own.com)} m")
        lines.append(f"  own inertia: {_six(own.inertia)}")
        lines.append(
            f"  turned and placed in {into}: centre {_vector(turned.com)} m, I = {_six(turned.inertia)}"
        )
        if holder is not None:
            shift, moved = holder.moved(node)
            lines.append(
                f"  moved by {_vector(shift)} m to its centre: I + m (r^2 1 - r r^T) = {_six(moved)}"
            )
    return Report(before=lines, under="    ")


def _six(inertia: Floats) -> str:
    return " ".join(number(inertia[ik], 5) for ik in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def _vector(v: Floats) -> str:
    return " ".join(number(round(float(x), 12), 5) for x in v)  # what rounding leaves of a zero is a zero


def _numbers(mass: Mass) -> list[str]:
    return [
        number(mass.mass, 5),
        *(number(round(float(x), 12), 4) for x in mass.com),
        *_six(mass.inertia).split(),
    ]


def _plain(node: Component) -> dict[str, Any]:
    plain: dict[str, Any] = {"kind": node.kind, "name": node.name}
    plain |= {"what": node.what} if node.what else {}
    for title, mass in (("own", node.own), ("placed", node.turned)):
        plain[title] = {"mass": mass.mass, "com": mass.com, "inertia": mass.inertia}
    if node.held:
        plain["holds"] = []
        for child in node.held:
            shift, moved = node.moved(child)
            plain["holds"].append(_plain(child) | {"shift": shift, "moved_inertia": moved})
    return plain


COMMAND = Command(
    "forearm parts cmu-dd --link link3 --steps",
    (
        Option("file", "a parts file, or the name of a built-in one such as cmu-dd", "FILE"),
        Option("--link", "only this link", "LINK"),
        Option(
            "--steps",
            "show each frame turn and parallel-axis move from section to part to link",
            reads=FlagField(),
        ),
        Option(
            "--update",
            "write the links' mass properties into this arm file, keeping everything else",
            "ARMFILE",
        ),
        JSON,
    ),
    _run,
)
