"""What the joints of a chain pass to each other in loops over them, and what must stay in memory: for GPU
threads, which have registers and little memory.
"""

from __future__ import annotations

from typing import Any

from forearm.kernels.joint_loop import Looped, Pass, Step
from forearm.symbols import Expr


def carried_names(one: Pass) -> list[str]:
    """What a joint of a chain passes to the next in a pass: outwards what its child reads, inwards what is
    added to its parent's values.
    """
    made = [{name for name in step.results if name != "out"} for step in one.steps.values()]
    if not one.outwards:
        return sorted({name[3:] for some in made for name in some if name.startswith("up.")})
    read = {leaf[3:] for step in one.steps.values() for leaf in _read(step) if leaf.startswith("up.")}
    return sorted(x for x in read if all(f"own.{x}" in some for some in made))


def can_carry(looped: Looped) -> bool:
    """Whether the joints form a chain, and nothing later reads what an inward pass accumulated."""
    if looped.walk is not None or any(p != k - 1 for k, p in enumerate(looped.parents)):
        return False
    added: set[str] = set()
    for one in looped.passes:
        read = {leaf.partition(".")[2] for step in one.steps.values() for leaf in _read(step)}
        if read & added:
            return False
        added |= set() if one.outwards else set(carried_names(one))
    return True


def remembered(looped: Looped) -> set[str]:
    """What joints of a chain must store in memory: everything a pass reads that was not passed on to it."""
    kept = set()
    for one in looped.passes:
        handed = set(carried_names(one)) if one.outwards else set()
        for step in one.steps.values():
            kept |= {leaf.partition(".")[2] for leaf in _read(step) if leaf[:4] == "own."}
            kept |= {leaf[3:] for leaf in _read(step) if leaf[:3] == "up." and leaf[3:] not in handed}
    return kept


def constants_of(looped: Looped) -> dict[str, dict[bool, tuple[Step, Any]]]:
    """State-independent values of joints by name: for each kind of joint the step that defines the value, and
    the value itself: a number, or a column of the table.
    """
    found: dict[str, dict[bool, tuple[Step, Any]]] = {}
    for one in looped.passes:
        kept = {name[4:] for step in one.steps.values() for name in step.results if name[:4] == "own."}
        for what in sorted(kept):
            said = {turns: (step, step.results.get(f"own.{what}")) for turns, step in one.steps.items()}
            if all(
                isinstance(e, int | float) or (isinstance(e, Expr) and e.node in step.columns)
                for step, e in said.values()
            ):
                found[what] = said
    return found


def _read(step: Step) -> list[str]:
    """Names of the leaves that a step reads."""
    return [step.graph.leaves[p] for p in step.graph.needed(step.results) if p in step.graph.leaves]
