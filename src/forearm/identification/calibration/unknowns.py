"""The unknowns of an arm's geometry by name, and the arm with other values of them.

"joint2.a", "joint2.alpha", "joint2.d", "joint2.theta" are Denavit-Hartenberg parameters; "joint2.beta" tilts
the axis of a joint about y of the previous link if the previous axis is nearly parallel (Hayati): there a
small tilt would need a large change of the other parameters. "joint2.offset" is the zero of a joint that is
placed by a frame. For frames, "joint2.x" to "joint2.yaw", "base.x" and "hand.x" are displacements along and
rotations about their own original axes: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm, Hand
from forearm.arm.joint import DH, Frame, Joint
from forearm.arm.link import Link
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.portable import product
from forearm.spatial import Floats, pose_xyz_rpy, rotation_about
from forearm.spatial import pose as pose_of
from forearm.values import frozen

SIX = ("x", "y", "z", "roll", "pitch", "yaw")
TABLE = ("a", "alpha", "d", "theta")
LENGTHS = ("x", "y", "z", "a", "d")
PARALLEL = 0.1  # rad: axes closer to parallel than this get a beta
GROUPS = ("all", "dh", "frames", "offsets")
BASE, HAND = "base", "hand"


@dataclass(frozen=True)
class PathJoint:
    """A joint between base and hand: its q = multiplier q[freedom] + offset."""

    joint: Joint
    freedom: int  # -1: fixed
    multiplier: float
    offset: float
    parallel: bool  # its axis relative to that of the previous joint


@frozen
class GeometryUnknowns:
    """The unknowns: names, the file's values (m,), and which of them are lengths (m,)."""

    names: tuple[str, ...]
    start: Floats
    is_length: Floats

    @staticmethod
    def of(arm: Arm, names: tuple[str, ...]) -> GeometryUnknowns:
        """These unknowns of an arm: DH parameters as in the table, displacements 0."""
        owners = [name.rpartition(".")[::2] for name in names]
        values = [
            getattr(arm.joint(owner).placement, part) if part in TABLE and owner not in (BASE, HAND) else 0.0
            for owner, part in owners
        ]
        lengths = [
            part in LENGTHS or (part == "offset" and arm.joint(owner).kind == "prismatic")
            for owner, part in owners
        ]
        return GeometryUnknowns(names, np.array(values), np.array(lengths))

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each, m or rad."""
        return tuple("m" if length else "rad" for length in self.is_length)


def path_to_hand(arm: Arm) -> tuple[PathJoint, ...]:
    """The joints between base and hand, from the base on."""
    bodies = {body.joint.name: body for body in arm.moving.bodies}
    above = {joint.child: joint for joint in arm.tree}
    path: list[Joint] = []
    link = arm.hand.link
    while link in above:
        path.insert(0, above[link])
        link = path[0].parent
    made = []
    for k, joint in enumerate(path):
        body = bodies.get(joint.name)
        moved = (-1, 0.0, 0.0) if body is None else (body.freedom, body.multiplier, body.offset)
        made.append(PathJoint(joint, *moved, parallel=_is_parallel(path, k)))
    return tuple(made)


def _is_parallel(path: Sequence[Joint], k: int) -> bool:
    """Whether axis k, of a DH table, is nearly parallel to the previous moving axis."""
    before = [i for i in range(k) if path[i].kind != "fixed"]
    if not before or path[k].kind == "fixed" or not isinstance(path[k].placement, DH):
        return False
    last = path[before[-1]]
    T = product(last.after, *(joint.transform() for joint in path[before[-1] + 1 : k]), path[k].before)
    return float(np.linalg.norm(np.cross(last.axis, T[:3, :3] @ path[k].axis))) < PARALLEL


def unknowns_of(
    arm: Arm, given: str | Sequence[str] | None, free: Mapping[str, Sequence[str]]
) -> GeometryUnknowns:
    """Resolve names, joints and groups of unknowns for this arm.

    `free` lists the possible unknowns of "base" and "hand": "base" is then always unknown, "hand" if named or
    part of "all".
    """
    path = path_to_hand(arm)
    words = ["all"] if given is None else [given] if isinstance(given, str) else list(given)
    words = [part.strip() for word in words for part in str(word).split(",")]
    for step in path:
        if step.joint.name in (BASE, HAND):
            raise InputError(
                f"joint name {step.joint.name!r} is reserved for the device or the hand here; "
                "rename the joint.",
                "calibrate",
            )
    known: dict[str, Sequence[str]] = {}
    for step in path:
        is_table, moves = isinstance(step.joint.placement, DH), step.freedom >= 0
        known[step.joint.name] = (
            (*TABLE, *["beta"] * step.parallel) if is_table else (*SIX, *["offset"] * moves)
        )
    known |= free
    found: list[str] = []
    for word in words:
        found += _meant(path, word, known)
    found += [f"{BASE}.{part}" for part in known.get(BASE, ())]
    order = [
        f"{owner}.{part}"
        for owner in (BASE, *(s.joint.name for s in path), HAND)
        for part in known.get(owner, ())
    ]
    names = tuple(name for name in order if name in set(found))
    if not names:
        raise InputError(f"{shorten(given)} selects no unknowns.", "calibrate", "unknowns")
    return GeometryUnknowns.of(arm, names)


def _meant(path: Sequence[PathJoint], word: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    movers = [step for step in path if step.freedom >= 0]
    if word == "offsets":
        zeros = {"revolute": "theta", "prismatic": "d"}
        return [
            f"{joint.name}.{'offset' if isinstance(joint.placement, Frame) else zeros[joint.kind]}"
            for joint in (step.joint for step in movers)
        ]
    if word in GROUPS:
        kinds = {"all": (DH, Frame), "dh": (DH,), "frames": (Frame,)}[word]
        names = [
            f"{step.joint.name}.{part}"
            for step in movers
            if isinstance(step.joint.placement, kinds)
            for part in known[step.joint.name]
            if part != "offset"
        ]
        if not names:
            raise InputError(
                f"no joint of this arm has {word!r} parameters; use 'all'.", "calibrate", "unknowns"
            )
        return names + ([f"{HAND}.{part}" for part in known.get(HAND, ())] if word == "all" else [])
    if word in known:
        return [f"{word}.{part}" for part in known[word] if part != "offset"]
    owner, _, part = word.rpartition(".")
    if part in known.get(owner, ()):
        return [word]
    every = [*GROUPS, *known, *(f"{owner}.{part}" for owner, parts in known.items() for part in parts)]
    raise NameNotFound(f"unknown name {shorten(word)}; {suggest(word, every)}", "calibrate", "unknowns")


def with_values(arm: Arm, values: Mapping[str, float]) -> Arm:
    """The arm with other values of these unknowns; those of the base belong to the device and change nothing.

    A joint with nonzero beta is preceded by an added fixed joint with a massless link, so that the DH table
    remains valid.
    """
    links: list[Link] = list(arm.links)
    tree: list[Joint] = []
    taken = {link.name for link in arm.links} | {joint.name for joint in arm.tree}
    for joint in arm.tree:
        new = {
            part: values[name]
            for part in (*TABLE, *SIX, "offset", "beta")
            if (name := f"{joint.name}.{part}") in values
        }
        beta = new.pop("beta", 0.0)
        held = next((k for k, other in enumerate(tree) if _holds_beta(other, joint)), None)
        if beta and held is not None:  # from an earlier calibration
            place = tree[held].placement
            assert isinstance(place, Frame)
            turned = Frame(rpy=place.rpy + [0.0, beta, 0.0])
            tree[held] = dataclasses.replace(tree[held], placement=turned)
        elif beta:
            name = _free_name(f"{joint.name}_beta", taken)
            links.append(Link(name=name))
            tilt = Frame(rpy=(0.0, beta, 0.0))  # type: ignore[arg-type]
            tree.append(Joint(name=name, kind="fixed", parent=joint.parent, child=name, placement=tilt))
            joint = dataclasses.replace(joint, parent=name)
        tree.append(dataclasses.replace(joint, placement=_placed(joint, new)) if new else joint)
    hand = [values.get(f"{HAND}.{part}", 0.0) for part in SIX]
    changes = (
        {"hand": Hand(link=arm.hand.link, pose=_exact(arm.hand.pose @ pose_xyz_rpy(hand[:3], hand[3:])))}
        if any(hand)
        else {}
    )
    return arm.replace(links=tuple(links), tree=tuple(tree), **changes)


def _holds_beta(other: Joint, joint: Joint) -> bool:
    """Whether the fixed joint before this one exists only for its tilt."""
    place = other.placement
    return (
        other.kind == "fixed"
        and other.child == joint.parent
        and other.name.startswith(f"{joint.name}_beta")
        and isinstance(place, Frame)
        and not place.xyz.any()
        and not place.rpy[[0, 2]].any()
    )


def _placed(joint: Joint, new: Mapping[str, float]) -> DH | Frame:
    place = joint.placement
    if isinstance(place, DH):
        table = {part: new.get(part, getattr(place, part)) for part in TABLE}
        return DH(convention=place.convention, **table)
    offset = new.get("offset", 0.0)
    moved = [new.get(part, 0.0) for part in SIX]
    T = joint.before @ pose_xyz_rpy(moved[:3], moved[3:])
    if joint.kind == "revolute":
        T = T @ pose_of(rotation_about(place.axis, offset))
    elif joint.kind == "prismatic":
        T = T @ pose_of(p=offset * place.axis)
    return Frame.from_pose(T, place.axis)


def _exact(T: Floats) -> Floats:
    """A pose with its rotation orthonormal to the last digit."""
    made = T.copy()
    R = T[:3, :3]
    made[:3, :3] = 0.5 * R @ (3.0 * np.eye(3) - R.T @ R)
    made[3] = [0.0, 0.0, 0.0, 1.0]
    return made


def _free_name(wanted: str, taken: set[str]) -> str:
    name, k = wanted, 2
    while name in taken:
        name, k = f"{wanted}{k}", k + 1
    taken.add(name)
    return name
