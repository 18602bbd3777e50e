"""The tree formed by links and joints: root, order, leaves and mimicking joints.
Iterative, for any depth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from forearm.arm.joint import Joint
from forearm.arm.link import Link
from forearm.errors import InputError, ModelError, suggest

MAX_LINKS = 10_000


def root_of(links: Sequence[Link], joints: Sequence[Joint]) -> str:
    """The one link that no joint moves; anything but a tree is refused, naming the link or joint."""
    if not links:
        raise InputError("an arm needs at least one link.")
    _refuse_repeated([link.name for link in links], "link")
    _refuse_repeated([joint.name for joint in joints], "joint")
    names = dict.fromkeys(link.name for link in links)
    mover: dict[str, str] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in names:
                raise ModelError(
                    f"its {'parent' if end == joint.parent else 'child'} link {end!r} is "
                    f"missing; {suggest(end, names)}",
                    f"joint {joint.name!r}",
                )
        if joint.child in mover:
            raise ModelError(
                f"link {joint.child!r} is moved by two joints, {mover[joint.child]!r} and {joint.name!r}: "
                "closed loops are not supported; remove one of them."
            )
        mover[joint.child] = joint.name
    roots = [link.name for link in links if link.name not in mover]
    if not roots:
        raise ModelError(f"the joints form a cycle through link {links[0].name!r}: no link is the base.")
    if len(roots) > 1:
        raise ModelError(
            f"there are {len(roots)} roots, links that no joint moves: {', '.join(map(repr, roots[:5]))}; "
            "an arm has one. Connect the others with fixed joints or remove them."
        )
    return roots[0]


def depth_first(root: str, joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """The joints depth first from the root, siblings in the given order; a cycle apart from the tree is
    refused.
    """
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    ordered: list[Joint] = []
    stack = children.get(root, [])[::-1]
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(children.get(joint.child, [])[::-1])
    if len(ordered) < len(joints):
        reached = {j.name for j in ordered}
        lost = next(j for j in joints if j.name not in reached)
        raise ModelError(
            f"joint {lost.name!r} (link {lost.child!r}) cannot be reached from the base {root!r}: "
            "the joints around it form a cycle."
        )
    return tuple(ordered)


def default_hand(links: Sequence[Link], tree: Sequence[Joint]) -> str:
    """The default hand link: the leaf with the most movable joints on its path, the first of `links` on a
    tie; if that path ends in the fingers of a gripper, the last link before them.
    """
    leaf = most_articulated_leaf(links, tree)
    return link_before_fingers(leaf, tree) or leaf


def link_before_fingers(leaf: str, tree: Sequence[Joint]) -> str | None:
    """The link on the path to a leaf that carries a gripper's fingers, or None.

    Fingers are two or more moving branches that are all prismatic, or that share one degree of freedom with
    everything that follows it. The link itself must move: the hand of a gripper alone is at a fingertip.
    """
    mover = {joint.child: joint for joint in tree}
    moves: set[str] = set()  # links moved by some joint
    for joint in tree:
        if joint.kind != "fixed" or joint.parent in moves:
            moves.add(joint.child)
    leads = Counter(leader for leader, _, _ in resolve_mimics(tree).values())
    branches, sliding, turning, following, led = (Counter[str]() for _ in range(5))  # behind each link
    for joint in reversed(tree):
        up, down, is_free = joint.parent, joint.child, joint.kind != "fixed" and joint.mimic is None
        sliding[up] += sliding[down] + (is_free and joint.kind == "prismatic")
        turning[up] += turning[down] + (is_free and joint.kind == "revolute")
        following[up] += following[down] + (joint.mimic is not None)
        led[up] += led[down] + leads[joint.name]
        branches[up] += joint.kind != "fixed" or branches[down] > 0
    found, at = None, leaf
    while at in mover:
        at = mover[at].parent
        freedoms = sliding[at] + turning[at]
        if turning[at] and freedoms > 1:
            break
        is_gripper = freedoms > 0 and following[at] == led[at] and (not turning[at] or led[at] > 0)
        if is_gripper and branches[at] > 1 and at in moves:
            found = at
    return found


def most_articulated_leaf(links: Sequence[Link], tree: Sequence[Joint]) -> str:
    """The leaf with the most movable joints on its path, the first of `links` on a tie."""
    freedoms: dict[str, int] = {}
    for joint in tree:
        freedoms[joint.child] = freedoms.get(joint.parent, 0) + (
            joint.kind != "fixed" and joint.mimic is None
        )
    parents = {joint.parent for joint in tree}
    leaves = [link.name for link in links if link.name not in parents]
    return max(leaves, key=lambda name: freedoms.get(name, 0))


def resolve_mimics(tree: Sequence[Joint]) -> dict[str, tuple[str, float, float]]:
    """For each mimicking joint its leading degree of freedom, multiplier and offset, with chains of followers
    combined.
    """
    by_name = {joint.name: joint for joint in tree}
    resolved: dict[str, tuple[str, float, float]] = {}
    for joint in tree:
        chain = []
        at, seen = joint, {joint.name}
        while at.mimic is not None and at.name not in resolved:
            chain.append(at)
            at = _leader(at, by_name, seen)
        leader, multiplier, offset = resolved.get(at.name, (at.name, 1.0, 0.0))
        for follower in reversed(chain):
            assert follower.mimic is not None
            offset = follower.mimic.multiplier * offset + follower.mimic.offset
            multiplier = follower.mimic.multiplier * multiplier
            if not math.isfinite(multiplier) or not math.isfinite(offset):
                raise ModelError(
                    "the product of multipliers along its chain of mimics overflows.",
                    f"joint {follower.name!r}",
                )
            resolved[follower.name] = (leader, multiplier, offset)
    return resolved


def _leader(joint: Joint, by_name: dict[str, Joint], seen: set[str]) -> Joint:
    assert joint.mimic is not None
    leader = by_name.get(joint.mimic.joint)
    if leader is None:
        hint = suggest(joint.mimic.joint, by_name)
        raise ModelError(f"joint {joint.name!r} mimics joint {joint.mimic.joint!r}, which is missing; {hint}")
    if leader.kind == "fixed" or leader.name in seen:
        what = "is fixed" if leader.kind == "fixed" else "mimics it in turn"
        raise ModelError(f"joint {joint.name!r} mimics joint {leader.name!r}, which {what}.")
    seen.add(leader.name)
    return leader


def _refuse_repeated(names: list[str], what: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ModelError(f"two {what}s are called {repeated[0]!r}; every {what} needs a unique name.")
