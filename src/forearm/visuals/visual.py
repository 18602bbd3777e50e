"""Records of visual shapes, and how readers collect them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from forearm.errors import ForearmError, InputError, shorten
from forearm.parts.shapes import LONGEST
from forearm.spatial import Floats
from forearm.values import frozen
from forearm.visuals import solids
from forearm.visuals.mesh import TriangleMesh
from forearm.visuals.mesh_files import MeshFiles

MOST_VISUALS = 5_000
MOST_NAMED = 3  # missing files per reason


@frozen
class Visual:
    """A shape on a link.

    Attributes:
        link: name of the link that carries it.
        pose: affine transform (4, 4) from the mesh's frame to the link's, including the size of solids, so
            possibly scaling.
        mesh: the triangles, m; equal shapes share one.
        colour: "#rrggbb", or None if the file gives none.
        source: its origin, such as "box" or the name of a file.
    """

    link: str
    pose: Floats
    mesh: TriangleMesh
    colour: str | None
    source: str


@dataclass(frozen=True)
class MissingVisual:
    """A shape that could not be loaded.

    Attributes:
        link: name of its link.
        file: the requested file or element.
        reason: why it is missing.
    """

    link: str
    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.link}: {self.file}: {self.reason}"


def by_reason(missing: Iterable[MissingVisual]) -> list[str]:
    """A sentence for each reason, with the first files that it concerns."""
    found: dict[str, list[str]] = {}
    for entry in missing:
        found.setdefault(entry.reason, []).append(entry.file)
    return [
        f"{', '.join(files[:MOST_NAMED])}"
        f"{f' and {len(files) - MOST_NAMED} more' if len(files) > MOST_NAMED else ''}: {reason}"
        for reason, files in found.items()
    ]


@frozen
class VisualSet:
    """The visual shapes of an arm's links, according to its files.

    Attributes:
        visuals: the shapes, in file order.
        missing: shapes that could not be read, with the reason.
        notes: intentional omissions, such as holes and textures.
    """

    visuals: tuple[Visual, ...]
    missing: tuple[MissingVisual, ...] = ()
    notes: tuple[str, ...] = ()


class Collector:
    """Shapes found so far, the files that they come from, and what is missing."""

    def __init__(self) -> None:
        self.files = MeshFiles()
        self.visuals: list[Visual] = []
        self.missing: list[MissingVisual] = []
        self.notes: dict[str, None] = {}

    def add(self, link: str, pose: Floats, mesh: TriangleMesh, colour: str | None, source: str) -> None:
        """Add a shape."""
        if len(self.visuals) >= MOST_VISUALS:
            raise InputError(f"more than {MOST_VISUALS} shapes.")
        pose = np.array(pose, dtype=np.float64)
        if not (np.abs(pose) <= LONGEST).all():
            raise InputError(f"its position and size must be within {LONGEST:g} m.")
        pose.flags.writeable = False
        self.visuals.append(Visual(link, pose, mesh, colour, source))

    def add_file(self, link: str, pose: Floats, path: Path, scale: Floats, colour: str | None) -> None:
        """Add the shapes of a mesh file; a given colour applies to all of them."""
        for mesh, own in self.files.pieces(path, scale):
            self.add(link, pose, mesh, colour or own, path.name)

    @contextmanager
    def attempt(self, link: str, what: str) -> Iterator[None]:
        """A block that adds shapes of a link; an error in it is recorded as missing."""
        before = len(self.visuals)
        try:
            yield
        except ForearmError as error:
            del self.visuals[before:]
            reason = error.problem if error.place == (shorten(what),) else str(error)
            self.missing.append(MissingVisual(link, what[:200], reason[:500]))

    def result(self) -> VisualSet:
        """Everything that was found."""
        return VisualSet(tuple(self.visuals), tuple(self.missing), (*self.notes, *self.files.notes))


@cache
def unit_solid(name: str) -> TriangleMesh:
    """A box or cylinder with sides, radius and length 1, or a ball of radius 1, centred at the origin."""
    made = {"box": lambda: solids.box(1.0, 1.0, 1.0), "cylinder": lambda: solids.cylinder(1.0, 1.0)}
    return made.get(name, lambda: solids.sphere(1.0))()


@lru_cache(maxsize=256)
def capsule(radius: float, length: float) -> TriangleMesh:
    """A capsule; the same sizes give the same object."""
    check_sizes(radius, length)
    return solids.capsule(radius, length)


def check_sizes(*sizes: float) -> None:
    """Raise for invalid sizes of a solid."""
    for size in sizes:
        if not 0.0 < size <= LONGEST:
            raise InputError(f"sizes must be above 0 and at most {LONGEST:g} m, got {size:g}.")


def stretched(pose: Floats, x: float, y: float, z: float) -> Floats:
    """The affine transform that scales a unit solid and then places it."""
    check_sizes(x, y, z)
    return np.asarray(pose * np.array([x, y, z, 1.0]))
