"""What to measure next: which parameters are poorly determined, and which motion would improve them."""

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

POOR = 0.2  # standard deviation relative to size: above it a parameter is poor
GOOD = 0.1  # target after more data
LITTLE = 0.5  # of a joint's range or speed
MOST_DATA = 50.0  # times as much data: beyond this it is not suggested
ALIKE = 0.97  # correlation above which two parameters count as hardly separable
MOST = 8  # most sentences
MATTERS = 0.01  # of the measured efforts: effect of a deviation that matters


def measure_next(found: Identification) -> list[str]:
    """Sentences on what another log should show, poorest parameters first; empty if none is poor."""
    rows, moved = parameter_rows(found), movements(found)
    poor = sorted(((_relative(row, rows, found, moved), row) for row in rows), key=lambda pair: -pair[0])
    owners: dict[str, list[tuple[float, ParameterRow]]] = {}
    for relative, row in poor:
        said_already = not row.is_known and any(row.name in text for text in found.unidentifiable)
        if relative > POOR and not said_already and _matters(row, found, moved):
            owners.setdefault(row.owner, []).append((relative, row))
    said = [_sentence(found, moved, worst, rows) for worst in list(owners.values())[:MOST]]
    if len(owners) > MOST:
        said.append(f"Also poorly determined: parameters of {', '.join(list(owners)[MOST:])}.")
    said += _alike(found, rows, {row.name for worst in owners.values() for _, row in worst})
    if said:
        after = " ".join(f"--after {log.signals.name}" for log in found.logs[:2])
        said.append(f"A motion that shows what these logs do not: forearm excite {found.before.name} {after}")
    return said


def _matters(row: ParameterRow, found: Identification, moved: list[Moved]) -> bool:
    """Whether one standard deviation is visible in efforts, judged from the size of the motion."""
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
    """Standard deviation relative to the typical size of such a parameter."""
    size = _size(row)
    if row.is_inertial:
        # the largest of its kind at the link, or of all links, since a moment near 0 is no scale
        same = [r for r in rows if inertial_kind(r.key) == inertial_kind(row.key)]
        size = max(_size(r) for r in same if r.owner == row.owner) or max(map(_size, same))
    elif _is_torque(row):
        # the largest friction of the joint at the speeds of the logs, as if viscous or dry
        index = next((i for i, j in enumerate(found.before.joints) if j.name == row.owner), None)
        fastest = 0.0 if index is None else moved[index].speed * _ratio(found.arm.joints[index])
        size = max(
            _size(r) * (fastest if r.key == "friction.viscous" else 1.0)
            for r in rows
            if r.owner == row.owner and _is_torque(r)
        )
        if row.key == "friction.viscous":
            size = size / fastest if fastest else 0.0
    return row.std / size if size > 0.0 else math.inf


def _is_torque(row: ParameterRow) -> bool:
    return row.key.startswith("friction.") and "speed" not in row.key


def _ratio(joint: Joint) -> float:
    """Reference speed of friction, relative to the joint's."""
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
        f"+-{100.0 * relative:.0f} % of its size" if math.isfinite(relative) else "not determined by the data"
    )
    head = f"{row.owner}: {many} poorly determined, worst {row.key} ({how})."
    return f"{head} {_remedy(found, moved, row, relative)}"


def _remedy(found: Identification, moved: list[Moved], row: ParameterRow, relative: float) -> str:
    arm, path = found.before, _joints_towards(found.before, row.owner)
    if row.key.startswith(("friction.static", "friction.stribeck")) and path:
        return (
            f"{arm.joints[path[-1]].name} moved slower than twice the Stribeck speed for "
            f"{100.0 * _slow_share(found, path[-1]):.1f} % of the time: let it creep longer in both "
            "directions."
        )
    if row.key.startswith("friction"):  # range does not matter
        moved = [replace(m, reach=math.nan) for m in moved]
    lazy = [i for i in reversed(path) if moved[i].share < LITTLE or moved[i].reach < LITTLE]
    if lazy:
        return _move_more(arm, lazy[:2], moved)
    if row.owner.endswith("payload"):
        return "Rotate the hand against gravity, and accelerate it."
    times = (relative / GOOD) ** 2
    if times <= MOST_DATA:
        return f"About {times:.0f} times as much of such data would bring it to {100 * GOOD:.0f} %."
    names = ", ".join(arm.joints[i].name for i in reversed(path[-3:]))
    if not names:
        return "Its efforts are below the noise here; it may not matter."
    return f"Its efforts are below the noise here: accelerate {names} harder, with a known load in the hand."


def _move_more(arm: Arm, which: list[int], moved: list[Moved]) -> str:
    """Joints that moved too little, and the remedy."""
    said, how = [], dict[str, None]()
    for i in which:
        shares = {"further": moved[i].reach, "faster": moved[i].share}
        words = {"further": "over {:.0f} % of its range", "faster": "at no more than {:.0f} % of its speed"}
        little = [way for way, share in shares.items() if share < LITTLE]
        how |= dict.fromkeys(little)
        parts = [words[way].format(100.0 * shares[way]) for way in little]
        said.append(f"{arm.joints[i].name} moved {' and '.join(parts)}")
    ways = " and ".join(way for way in ("further", "faster") if way in how)
    return f"{'; '.join(said)}: move {'it' if len(said) == 1 else 'them'} {ways}."


def _slow_share(found: Identification, i: int) -> float:
    """Fraction of the moving samples below twice the Stribeck speed."""
    joint, speed = found.arm.joints[i], np.abs(found.speed[:, i])
    stribeck = joint.friction.stribeck_speed if joint.friction is not None else None
    limit = math.inf if stribeck is None else 2.0 * (stribeck / _ratio(joint))
    return float(np.mean((speed > 0.0) & (speed < limit)))


def _joints_towards(arm: Arm, owner: str) -> list[int]:
    """The freedoms that move a link, or the one of a joint, from the base on."""
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
    """The most correlated pair with at least one poor parameter."""
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
        f"{one.name} and {other.name} are hardly separable (correlation {correlation[a, b]:.3f}): a "
        "combination of both is better determined than either."
    ]
