"""An arm as text and tables: the output of print(arm) and `forearm info`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from forearm.arm.arm import Arm
from forearm.arm.drive import DIRECTIONS
from forearm.arm.joint import DH, Joint
from forearm.arm.tree import link_before_fingers, most_articulated_leaf
from forearm.spatial import TENSOR
from forearm.tables import Report, number

SPREAD = "+-"  # heading of columns of standard deviations
INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz")


def arm_report(arm: Arm) -> Report:
    """The arm as a headline and tables of joints, links and, if present, drives, springs and bristles."""
    tables = [_links(arm), *(table for table in (_drives(arm), _springs(arm), _bristles(arm)) if table.rows)]
    parts = [_joints(arm), *(table.report(arm) for table in tables)]
    shown = {name for table in tables for name in table.names}
    others = [name for name in arm.deviations if name not in shown]
    if others:
        values = [[name, number(arm.named_values[name]), number(arm.deviations[name], 2)] for name in others]
        parts.append(Report(["value", "is", SPREAD], values, "Deviations of parameters in no table above"))
    return Report(before=headline(arm).splitlines(), parts=parts)


@dataclass(frozen=True)
class _Measured:
    """A table of values that may have deviations; a cell is its text and the names of its parameters."""

    title: str
    header: list[str]
    rows: list[list[tuple[str, ...]]]

    @property
    def names(self) -> set[str]:
        """Every parameter name in it."""
        return {name for row in self.rows for _, *names in row for name in names}

    def report(self, arm: Arm) -> Report:
        """The table, with a column of deviations after each column that has any."""
        columns: list[list[str]] = []
        for title, cells in zip(self.header, zip(*self.rows, strict=True), strict=True):
            columns.append([title, *(text for text, *_ in cells)])
            spreads = [[arm.deviations.get(name) for name in names] for _, *names in cells]
            known = [any(std is not None for std in cell) for cell in spreads]
            if any(known):
                texts = (" ".join(number(std, 2) for std in cell) for cell in spreads)
                columns.append([SPREAD, *(t if k else "-" for t, k in zip(texts, known, strict=True))])
        header, *rows = map(list, zip(*columns, strict=True))
        return Report(header, rows, self.title)


def headline(arm: Arm) -> str:
    """Name, size and scalar settings."""
    shape = "serial chain" if arm.is_serial else "tree"
    lines = [
        f"{arm.name}: {arm.n} joints, {shape}, {len(arm.links)} links, {number(arm.mass)} kg",
        f"gravity {_vector(arm.gravity)} m/s^2 in the base frame; hand on {arm.hand.link}, "
        f"{_vector(arm.hand.pose[:3, 3])} m from its origin",
    ]
    leaf = most_articulated_leaf(arm.links, arm.tree)
    if arm.hand.link == link_before_fingers(leaf, arm.tree):
        lines.append(f"{arm.hand.link} is the last link before the fingers, such as {leaf}")
    if elastic := [joint.name for joint in arm.joints if joint.elasticity is not None]:
        which = "all joints" if len(elastic) == arm.n else ", ".join(elastic)
        lines.append(f"elastic between motor and link: {which}")
    return "\n".join(lines)


def _joints(arm: Arm) -> Report:
    """Every joint: kind, placement, limits of position, speed and effort; angles in degrees."""
    dh = next((j.placement.convention for j in arm.tree if isinstance(j.placement, DH)), None)
    if dh and all(isinstance(j.placement, DH) for j in arm.tree):
        header = ["joint", "kind", "a m", "alpha deg", "d m", "theta deg", "from", "to"]
        title = f"Joints, {dh} Denavit-Hartenberg (q adds to theta, or to d if prismatic)"
        rows = [[j.name, _kind_cell(j), *_dh_cells(j.placement), *_limit_cells(j)] for j in arm.tree]  # type: ignore[arg-type]
    else:
        header = ["joint", "kind", "parent", "child", "xyz m", "rpy deg", "axis", "from", "to"]
        title = "Joints (frames in the parent link)"
        rows = []
        for j in arm.tree:
            place = (
                _dh_words(j.placement)
                if isinstance(j.placement, DH)
                else [
                    _vector(j.placement.xyz),
                    _vector([math.degrees(v) for v in j.placement.rpy]),
                    "-" if j.kind == "fixed" else _vector(j.placement.axis),
                ]
            )
            rows.append([j.name, _kind_cell(j), j.parent, j.child, *place, *_limit_cells(j)])
    for name, cells in (("max speed", _speed_cell), ("max effort", _effort_cell)):
        column = [cells(joint) for joint in arm.tree]
        if any(cell != "-" for cell in column):
            header = [*header, name]
            rows = [[*row, cell] for row, cell in zip(rows, column, strict=True)]
    return Report(header, rows, title)


def _links(arm: Arm) -> _Measured:
    """Every link: mass, centre of mass and inertia about it."""
    header = ["link", "mass kg", "com x m", "y", "z", *(f"I{key}" for key in INERTIA)]
    header[5] += " kg m^2"
    rows = []
    for link in arm.links:
        moments = (link.inertia[TENSOR[key]] for key in INERTIA)
        keys = ("mass", "com.x", "com.y", "com.z", *(f"inertia.{key}" for key in INERTIA))
        values = zip((link.mass, *link.com, *moments), keys, strict=True)
        rows.append([(link.name,), *((number(v, 5), f"{link.name}.{key}") for v, key in values)])
    title = "Links (inertia about the centre of mass, axes of the link's frame)"
    return _Measured(title, header, rows)


def _drives(arm: Arm) -> _Measured:
    """Every joint with a drive: motor, friction and other parts."""
    header = ["joint", "gear", "rotor kg m^2", "Kt N m/A", "R ohm", "viscous", "Coulomb + -", "side", "more"]
    constants = ("gear_ratio", "rotor_inertia", "torque_constant", "resistance")
    rows: list[list[tuple[str, ...]]] = []
    for j in (joint for joint in arm.tree if joint.has_drive):
        f = j.friction
        motor = [
            (number(None if j.motor is None else getattr(j.motor, key)), f"{j.name}.motor.{key}")
            for key in constants
        ]
        friction = ["-"] * 3 if f is None else [number(f.viscous), " ".join(map(number, f.coulomb)), f.side]
        coulomb = (f"{j.name}.friction.coulomb.{way}" for way in DIRECTIONS)
        more = {
            "elastic": j.elasticity,
            "LuGre": f and f.bristle_stiffness,
            "Stribeck": f and f.static,
            **{f"{bearing.kind} bearing": bearing for bearing in j.bearings},
            "transmission": j.transmission,
        }
        rows.append(
            [
                (j.name,),
                *motor,
                (friction[0], f"{j.name}.friction.viscous"),
                (friction[1], *coulomb),
                (friction[2],),
                (", ".join(what for what, part in more.items() if part is not None) or "-",),
            ]
        )
    return _Measured("Drives (friction in N m and N m s/rad on the given side)", header, rows)


def _springs(arm: Arm) -> _Measured:
    """Every elastic joint: its spring and its rotor."""
    header = ["joint", "stiffness", "damping", "half gap", "rotor kg m^2", "spin acts along"]
    rows: list[list[tuple[str, ...]]] = []
    for j in arm.joints:
        e = j.elasticity
        if e is None or j.motor is None:
            continue
        stiffness = number(e.stiffness) if e.stiffness is not None else _slopes(e.curve)
        rows.append(
            [
                (j.name,),
                (stiffness, f"{j.name}.elasticity.stiffness"),
                (number(e.damping), f"{j.name}.elasticity.damping"),
                (number(e.half_gap), f"{j.name}.elasticity.half_gap"),
                (number(j.motor.reflected_inertia),),
                ("-" if e.rotor_axis is None else _vector(e.rotor_axis),),
            ]
        )
    title = "Springs between motor and link (N m/rad, N m s/rad, rad, or N/m, N s/m, m; joint side)"
    return _Measured(title, header, rows)


def _slopes(curve: tuple[tuple[float, float], ...]) -> str:
    """The stiffness of a curve: of its first and last straight segment."""
    rows = [(0.0, 0.0), *curve]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(rows)]
    return " to ".join(dict.fromkeys(number(slope) for slope in (slopes[0], slopes[-1])))


def _bristles(arm: Arm) -> _Measured:
    """Every joint with LuGre friction: its bristles, and their deflection at slip."""
    header = ["joint", "stiffness", "damping", "slip at + -", "side"]
    rows: list[list[tuple[str, ...]]] = []
    for j in arm.tree:
        f = j.friction
        if f is None or f.bristle_stiffness is None:
            continue
        unit, scale = _unit("revolute" if f.side == "motor" else j.kind)
        slip = " ".join(number(scale * level / f.bristle_stiffness, 4) for level in f.coulomb)
        rows.append(
            [
                (j.name,),
                (number(f.bristle_stiffness), f"{j.name}.friction.bristle_stiffness"),
                (number(f.bristle_damping), f"{j.name}.friction.bristle_damping"),
                (f"{slip} {unit}",),
                (f.side,),
            ]
        )
    title = "Bristles of LuGre friction (N m/rad and N m s/rad, or N/m and N s/m, on the given side)"
    return _Measured(title, header, rows)


def _kind_cell(joint: Joint) -> str:
    """The kind of a joint, and the joint it follows."""
    return f"{joint.kind}, follows {joint.mimic.joint}" if joint.mimic else joint.kind


def _dh_cells(dh: DH) -> list[str]:
    return [number(v) for v in (dh.a, math.degrees(dh.alpha), dh.d, math.degrees(dh.theta))]


def _dh_words(dh: DH) -> list[str]:
    a, alpha, d, theta = _dh_cells(dh)
    return [f"DH a {a} d {d}", f"alpha {alpha} theta {theta}", "0 0 1"]


def _unit(kind: str) -> tuple[str, float]:
    """The unit in which positions are shown, and how many of it are one in SI."""
    return ("deg", 180.0 / math.pi) if kind == "revolute" else ("m", 1.0)


def _limit_cells(joint: Joint) -> list[str]:
    """The bounds of a joint's range, degrees or metres."""
    unit, scale = _unit(joint.kind)
    is_open = [joint.kind == "fixed" or not math.isfinite(v) for v in joint.limits]
    return [
        "-" if no else f"{number(v * scale, 4)} {unit}" for v, no in zip(joint.limits, is_open, strict=True)
    ]


def _speed_cell(joint: Joint) -> str:
    unit, scale = _unit(joint.kind)
    return "-" if joint.max_speed is None else f"{number(joint.max_speed * scale, 4)} {unit}/s"


def _effort_cell(joint: Joint) -> str:
    unit = "N m" if joint.kind == "revolute" else "N"
    return "-" if joint.max_effort is None else f"{number(joint.max_effort, 4)} {unit}"


def _vector(values: object) -> str:
    return " ".join(number(float(v), 5) for v in values)  # type: ignore[attr-defined]


def of_joints(arm: Arm, turning: str, sliding: str) -> str:
    """The unit or word for revolute joints, for prismatic ones, or for both, depending on the arm."""
    kinds = {joint.kind for joint in arm.joints}
    return " or ".join(
        name for kind, name in (("revolute", turning), ("prismatic", sliding)) if kind in kinds
    )
