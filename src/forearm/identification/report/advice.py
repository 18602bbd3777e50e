"""What to measure next: which parameters are poor, and which joints' motion would show them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.identification.report.movement import Moved, movements
from forearm.identification.report.rows import ParameterRow, inertial_kind, parameter_rows

if TYPE_CHECKING:
    from forearm.identification.result import Identification

POOR = 0.2  # deviation against the size: above, a parameter is poor
GOOD = 0.1  # what more data should bring it to
LITTLE = 0.5  # of a joint's range or speed
MOST_DATA = 50.0  # times as much of the same: more is not worth saying
ALIKE = 0.97  # correlation of two that are hardly told apart
MOST = 8  # sentences
MATTERS = 0.01  # of the measured efforts: what a deviation makes beyond it matters


def measure_next(found: Identification) -> list[str]:
    """Sentences on what another log should show, the poorest first; none where nothing is poor."""
    rows = parameter_rows(found)
    moved = movements(found)
    poor = sorted(
        ((_relative(row, rows, found, moved), row) for row in rows), key=lambda pair: pair[0], reverse=True
    )
    owners: dict[str, list[tuple[float, ParameterRow]]] = {}
    for relative, row in poor:
        said_already = not row.is_known and any(row.name in text for text in found.unidentifiable)
        if relative > POOR and not said_already and _matters(row, found, moved):
            owners.setdefault(row.owner, []).append((relative, row))
    said = [_sentence(found, moved, worst, rows) for worst in list(owners.values())[:MOST]]
    if len(owners) > MOST:
        said.append(f"So are parameters of {', '.join(list(owners)[MOST:])}.")
    said += _alike(found, rows, {row.name for worst in owners.values() for _, row in worst})
    if said:
        after = " ".join(f"--after {log.signals.name}" for log in found.logs[:2])
        said.append(f"A motion that shows what these logs do not: forearm excite {found.before.name} {after}")
    return said


def _matters(row: ParameterRow, found: Identification, moved: list[Moved]) -> bool:
    """Whether one deviation shows in efforts, as far as their size can be told from the motion."""
    path = _joints_towards(found.before, row.owner)
    can_tell = row.is_inertial or row.key.startswith(("friction", "motor.rotor"))
    if not (path and row.is_known and can_tell):
        return row.key != "offset"
    joint, least = found.arm.joints[path[-1]], min(moved[i].effort for i in path)
    ratio = _ratio(joint)
    gear = abs(joint.motor.gear_ratio) if joint.motor is not None else 1.0
    acceleration = max(moved[i].acceleration for i in path)
    gravity = float(np.linalg.norm(found.before.gravity))
    factors = {
        "friction.viscous": ratio**2 * moved[path[-1]].speed,
        "friction.stribeck_speed": math.inf,
        "motor.rotor_inertia": gear**2 * moved[path[-1]].acceleration,
    }
    kinds = (ratio, gravity + acceleration, gravity + acceleration, acceleration)
    return row.std * factors.get(row.key, kinds[inertial_kind(row.key)]) > MATTERS * least


def _relative(
    row: ParameterRow, rows: list[ParameterRow], found: Identification, moved: list[Moved]
) -> float:
    """The deviation against the size that such a number has there."""
    size = _size(row)
    if row.is_inertial:
        size = _inertial_size(row, rows)
    elif row.key.startswith("friction.") and "speed" not in row.key:
        size = _friction_size(row, rows, found, moved)
    return row.std / size if size > 0.0 else math.inf


def _inertial_size(row: ParameterRow, rows: list[ParameterRow]) -> float:
    """The largest of its kind at the link, as a moment near 0 says nothing of the rest; else of all links."""
    same = [r for r in rows if inertial_kind(r.key) == inertial_kind(row.key)]
    return max(_size(r) for r in same if r.owner == row.owner) or max(map(_size, same))


def _friction_size(
    row: ParameterRow, rows: list[ParameterRow], found: Identification, moved: list[Moved]
) -> float:
    """The largest friction of the joint at the speeds of the logs, as its viscous or dry part would be."""
    index = next((i for i, j in enumerate(found.before.joints) if j.name == row.owner), None)
    fastest = 0.0 if index is None else moved[index].speed * _ratio(found.arm.joints[index])
    torques = [
        _size(r) * (fastest if r.key == "friction.viscous" else 1.0)
        for r in rows
        if r.owner == row.owner and r.key.startswith("friction.") and "speed" not in r.key
    ]
    if row.key != "friction.viscous":
        return max(torques)
    return max(torques) / fastest if fastest else 0.0


def _ratio(joint: Joint) -> float:
    """Speed that friction is said for, against the joint's."""
    at_motor = joint.friction is not None and joint.friction.side == "motor"
    return abs(joint.motor.gear_ratio) if at_motor and joint.motor is not None else 1.0


def _size(row: ParameterRow) -> float:
    known = [abs(x) for x in (row.before, row.value if row.is_known else math.nan) if math.isfinite(x)]
    return max(known, default=0.0)


def _sentence(
    found: Identification,
    moved: list[Moved],
    worst: list[tuple[float, ParameterRow]],
    rows: list[ParameterRow],
) -> str:
    relative, row = worst[0]
    count = sum(r.owner == row.owner for r in rows)
    many = f"{len(worst)} of {count} parameters {'is' if len(worst) == 1 else 'are'}"
    many = many if count > 1 else "its one parameter is"
    how = (
        f"+-{100.0 * relative:.0f} % of its size" if math.isfinite(relative) else "the data say nothing of it"
    )
    head = f"{row.owner}: {many} poorly known, worst {row.key} ({how})."
    return f"{head} {_remedy(found, moved, row, relative)}"


def _remedy(found: Identification, moved: list[Moved], row: ParameterRow, relative: float) -> str:
    path = _joints_towards(found.before, row.owner)
    if row.key.startswith(("friction.static", "friction.stribeck")) and path:
        return _creep(found, path[-1])
    is_friction = row.key.startswith("friction")
    lazy = [
        i for i in reversed(path) if moved[i].share < LITTLE or (moved[i].reach < LITTLE and not is_friction)
    ]
    if lazy:
        return _move_more(found.before, lazy[:2], moved, is_friction)
    if row.owner.endswith("payload"):
        return "Turn the hand against gravity, and shake it."
    times = (relative / GOOD) ** 2
    if times <= MOST_DATA:
        return f"About {times:.0f} times as much of such data would bring it to {100 * GOOD:.0f} %."
    names = ", ".join(found.before.joints[i].name for i in reversed(path[-3:]))
    if not names:
        return "Its efforts are small here against noise; it may not matter."
    return (
        f"Its efforts are small here against noise: accelerate {names} harder, with a known load in the hand."
    )


def _creep(found: Identification, i: int) -> str:
    name, slow = found.before.joints[i].name, f"{100.0 * _slow_share(found, i):.1f} %"
    return (
        f"{name} moved slower than twice Stribeck's speed for {slow} of the time: let it creep both ways "
        "for longer."
    )


def _move_more(arm: Arm, which: list[int], moved: list[Moved], is_friction: bool) -> str:
    """How little joints moved, and what to do; friction does not ask how far."""
    moved = [replace(m, reach=math.nan) for m in moved] if is_friction else moved
    said = []
    for i in which:
        reach, share = moved[i].reach, moved[i].share
        parts = []
        if reach < LITTLE:
            parts.append(f"over {100.0 * reach:.0f} % of its range")
        if share < LITTLE:
            parts.append(f"at no more than {100.0 * share:.0f} % of its speed")
        said.append(f"{arm.joints[i].name} moved {' and '.join(parts)}")
    how = [
        word
        for word, little in (
            ("further", any(moved[i].reach < LITTLE for i in which)),
            ("faster", any(moved[i].share < LITTLE for i in which)),
        )
        if little
    ]
    return f"{'; '.join(said)}: move {'it' if len(said) == 1 else 'them'} {' and '.join(how)}."


def _slow_share(found: Identification, i: int) -> float:
    """Share of the samples in motion below twice Stribeck's speed."""
    joint = found.arm.joints[i]
    limit = 2.0 * _stribeck_speed(joint)
    speed = np.abs(found.speed[:, i])
    return float(np.mean((speed > 0.0) & (speed < limit)))


def _stribeck_speed(joint: Joint) -> float:
    friction = joint.friction
    if friction is None or friction.stribeck_speed is None:
        return math.inf
    return friction.stribeck_speed / _ratio(joint)


def _joints_towards(arm: Arm, owner: str) -> list[int]:
    """The freedoms that move a link, or the one that a joint is, from the base on."""
    places = {joint.name: i for i, joint in enumerate(arm.joints)}
    if owner in places:
        return [places[owner]]
    mover = {joint.child: joint for joint in arm.tree}
    link = owner if any(x.name == owner for x in arm.links) else arm.hand.link
    path = []
    while link in mover:
        joint = mover[link]
        if joint.name in places:
            path.append(places[joint.name])
        link = joint.parent
    return path[::-1]


def _alike(found: Identification, rows: list[ParameterRow], poor: set[str]) -> list[str]:
    """The pair that is hardest to tell apart, one of which is poor for it."""
    variances = np.diag(found.covariance)
    places = np.flatnonzero(np.isfinite(variances) & (variances > 0.0))
    if len(places) < 2:
        return []
    scale = np.sqrt(variances[places])
    correlation = np.nan_to_num(found.covariance[np.ix_(places, places)] / np.outer(scale, scale))
    np.fill_diagonal(correlation, 0.0)
    correlation[[rows[k].name not in poor for k in places]] = 0.0
    a, b = np.unravel_index(int(np.argmax(np.abs(correlation))), correlation.shape)
    if abs(correlation[a, b]) < ALIKE:
        return []
    one, other = rows[places[a]], rows[places[b]]
    return [
        f"{one.name} and {other.name} are hardly told apart (correlation {correlation[a, b]:.3f}): "
        "a combination of both is known better than either."
    ]
