"""Meaning of a column name: a quantity, by common vocabularies, and a joint, by number or name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from forearm.errors import InputError, shorten, suggest
from forearm.values import check_kind

# The quantities of a motion by our name, and the names used by ROS, Franka and others.
WORDS: Mapping[str, tuple[str, ...]] = {
    "q": ("position", "positions", "pos", "joint_position", "joint_positions", "actual_q"),
    "qd": ("velocity", "velocities", "vel", "joint_velocity", "joint_velocities", "dq", "qdot", "actual_qd"),
    "qdd": ("acceleration", "accelerations", "joint_acceleration", "joint_accelerations", "ddq", "qddot"),
    "tau": ("torque", "torques", "effort", "efforts", "joint_torque", "joint_effort", "tau_j"),
    "voltage": ("voltages", "joint_voltage"),
    "current": ("currents", "actual_current", "motor_current", "joint_current"),
    "wanted_q": ("q_d", "desired_position", "target_q", "q_desired", "reference_position"),
    "wanted_qd": ("dq_d", "desired_velocity", "target_qd", "qd_desired", "reference_velocity"),
    "wanted_qdd": ("ddq_d", "desired_acceleration", "target_qdd", "qdd_desired", "reference_acceleration"),
    "measured_q": (),
    "measured_qd": (),
    "asked": ("tau_j_d", "desired_torque", "target_moment", "desired_effort", "commanded_torque"),
}
# Time columns, and their units per second.
TIMES: Mapping[str, float] = {
    **dict.fromkeys(("t", "time", "t_s", "time_s", "timestamp", "timestamp_s", "time_sec"), 1.0),
    **dict.fromkeys(("t_ms", "time_ms", "timestamp_ms"), 1e3),
    **dict.fromkeys(("t_us", "time_us", "timestamp_us"), 1e6),
    **dict.fromkeys(("t_ns", "time_ns", "timestamp_ns", "%time"), 1e9),
}
# Separators after a topic's or field's name in front of the quantity.
PREFIX = re.compile(r"(?:.*joint_states?[/.]|field\.)", re.ASCII | re.IGNORECASE)
NUMBERED = re.compile(r"(.+?)(?:_(\d{1,6})|\[(\d{1,6})\]|(\d{1,6}))", re.ASCII)
BETWEEN = ("_", ".", "/")


@dataclass(frozen=True)
class Reading:
    """One reading of a name: a word for a quantity, and a joint by number or by name."""

    quantity: str
    word: str  # as written, including its prefix
    form: str  # spelling of the joint after the quantity: with {k}, {i} (from 0 on) or {joint}
    number: int | None = None
    joint: int | None = None


def readings(name: str, joints: Mapping[str, int], words: Mapping[str, str]) -> Iterator[Reading]:
    """Every possible reading of a column's name."""
    prefix = PREFIX.match(name)
    front, rest = (name[: prefix.end()], name[prefix.end() :]) if prefix else ("", name)
    found = NUMBERED.fullmatch(rest)
    if found and (quantity := words.get(found[1].lower())):
        under, bracket, plain = found.groups()[1:]
        number = int(under or bracket or plain)
        form = "_{k}" if under else "[{i}]" if bracket else "{k}"
        yield Reading(quantity, front + found[1], form, number=number + 1 if bracket else number)
    for separator in BETWEEN:
        for k in _places(rest, separator):
            left, right = rest[:k], rest[k + 1 :]
            if (quantity := words.get(left.lower())) and right in joints:
                yield Reading(quantity, front + left, f"{separator}{{joint}}", joint=joints[right])
            if (quantity := words.get(right.lower())) and left in joints:
                yield Reading(quantity, front + right, "_{joint}", joint=joints[left])


def words_for(quantities: Iterable[str], columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """The words for some quantities: ours, those of others, and mapped names of whole quantities."""
    wanted = list(quantities)
    words = {word: x for x in wanted for word in WORDS.get(x, ())} | {x.lower(): x for x in wanted}
    for theirs, ours in _mapped(columns).items():
        _check_target(theirs, ours)
        if ours in wanted:
            words = {word: x for word, x in words.items() if x != ours} | {theirs.lower(): ours}
    return words


def read_mapping(text: str, option: str) -> dict[str, str]:
    """The mapping of `position=q,effort=tau`."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    for k, (theirs, sign, ours) in enumerate(pairs):
        if not sign or not theirs.strip() or not ours.strip():
            raise InputError(
                "expected THEIRS=OURS between commas, such as position=q,effort=tau, but "
                f"part {k + 1} is {shorten(theirs + sign + ours)}; got {shorten(text)}.",
                option,
            )
    return {theirs.strip(): ours.strip() for theirs, _, ours in pairs}


def time_column(header: Sequence[str], columns: Mapping[str, str] | None = None) -> tuple[int, float] | None:
    """Index of the time column and its units per second; None if absent."""
    pairs = _mapped(columns).items()
    given = [theirs for theirs, ours in pairs if isinstance(ours, str) and ours == "t" and theirs in header]
    if given:
        return header.index(given[0]), TIMES.get(given[0].lower(), 1.0)
    for name in TIMES:
        if name in header:
            return header.index(name), TIMES[name]
    lower = [PREFIX.sub("", name.lower()) for name in header]
    return next(((lower.index(name), TIMES[name]) for name in TIMES if name in lower), None)


def _mapped(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    check_kind(columns, (Mapping, type(None)), "columns")
    return columns or {}


def _check_target(theirs: object, ours: object) -> None:
    known = ("t", *WORDS)
    numbered = NUMBERED.fullmatch(ours) if isinstance(ours, str) else None
    is_known = isinstance(ours, str) and ours in known
    if not isinstance(theirs, str) or not (is_known or (numbered and numbered[1] in WORDS)):
        text = f"{shorten(theirs)} is mapped to {shorten(ours)}, which is not a quantity of a motion; "
        if theirs in known:
            raise InputError(f"{text}the file's name comes first: {shorten(ours)} to {theirs!r}.", "columns")
        raise InputError(
            f"{text}{suggest(str(ours), known)} A column of one joint is for example 'q1'.", "columns"
        )


def _places(text: str, separator: str) -> Iterator[int]:
    k = text.find(separator)
    while k >= 0:
        yield k
        k = text.find(separator, k + 1)
