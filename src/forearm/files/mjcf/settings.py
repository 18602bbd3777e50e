"""The global settings of a file in <compiler> and <option>."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forearm.errors import InputError, shorten
from forearm.files.mjcf.attributes import MjcfElement
from forearm.portable import norm
from forearm.reading.xml import Element
from forearm.spatial import Floats

FLUID = ("density", "viscosity", "wind")


@dataclass(frozen=True)
class MjcfSettings:
    """The settings that affect how the numbers of a file are read."""

    degrees: bool
    eulerseq: str
    autolimits: bool
    inertiafromgeom: str
    balanceinertia: bool
    boundmass: float
    boundinertia: float
    settotalmass: float
    groups: tuple[float, float]  # of geoms that contribute mass
    gravity: Floats
    has_fluid: bool
    meshdir: str  # the folder of meshes, relative to the main file
    strippath: bool  # whether folders in file names are stripped


def settings_of(root: Element) -> MjcfSettings:
    """The settings of a file; of repeated attributes the last counts."""
    compiler, option, flag = _merged(root, "compiler"), _merged(root, "option"), _flags(root)
    if compiler.choice("coordinate", ("local", "global"), "local") == "global":
        raise InputError(
            "coordinate='global' is not supported (MuJoCo dropped it in 2.3.4); convert the "
            "file with an older MuJoCo first.",
            compiler.where,
        )
    eulerseq = compiler.values.get("eulerseq", "xyz")
    if len(eulerseq) != 3 or not set(eulerseq) <= set("xyzXYZ"):
        raise InputError(
            f"eulerseq must be three of x, y, z, X, Y, Z, got {shorten(eulerseq)}.", compiler.where
        )
    lowest, highest = compiler.numbers("inertiagrouprange", 2, default="0 5")
    falls = flag.choice("gravity", ("enable", "disable"), "enable") == "enable"
    return MjcfSettings(
        degrees=compiler.choice("angle", ("degree", "radian"), "degree") == "degree",
        eulerseq=eulerseq,
        autolimits=compiler.flag("autolimits", True),
        inertiafromgeom=compiler.choice("inertiafromgeom", ("auto", "true", "false"), "auto"),
        balanceinertia=compiler.flag("balanceinertia"),
        boundmass=compiler.number("boundmass", 0.0),
        boundinertia=compiler.number("boundinertia", 0.0),
        settotalmass=compiler.number("settotalmass", -1.0),
        groups=(float(lowest), float(highest)),
        gravity=option.numbers("gravity", 3, default="0 0 -9.81") if falls else np.zeros(3),
        meshdir=compiler.values.get("meshdir", compiler.values.get("assetdir", "")),
        strippath=compiler.flag("strippath"),
        has_fluid=any(norm(option.numbers(key, 1, 3, default="0")) > 0.0 for key in FLUID),
    )


def _merged(root: Element, tag: str) -> MjcfElement:
    values: dict[str, str] = {}
    last = Element(tag, {}, root.line, root.file)
    for element in root.all(tag):
        values |= element.attributes
        last = element
    return MjcfElement(last, values)


def _flags(root: Element) -> MjcfElement:
    inner = [flag for option in root.all("option") for flag in option.all("flag")]
    return _merged(Element("option", {}, root.line, root.file, children=inner), "flag")
