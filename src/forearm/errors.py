"""One tree of exceptions and warnings, and helpers for their messages.

A message says where, what was given, what is allowed and what to do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any

# Bounds on what a message compares and shows, so that a hostile file cannot make it slow or long.
MAX_COMPARED = 1000
MAX_LISTED = 30
MAX_SHOWN = 60
# Names that others use, without punctuation, and what they are called here: suggested where it is a choice.
SYNONYMS = {
    "rnea": ("inverse_dynamics", "newton-euler"),
    "id": ("inverse_dynamics",),
    "aba": ("forward_dynamics", "articulated-body"),
    "fd": ("forward_dynamics",),
    "crba": ("inertia_matrix", "composite-body"),
    "mass": ("inertia_matrix",),
    "massmatrix": ("inertia_matrix",),
    "nle": ("bias",),
    "nonlineareffects": ("bias",),
    "fk": ("forward_kinematics",),
    "ik": ("inverse_kinematics",),
    "rneaderivatives": ("inverse_dynamics_derivatives",),
    "abaderivatives": ("forward_dynamics_derivatives",),
    "gpu": ("cuda",),
    "nvidia": ("cuda",),
    "arm64": ("aarch64",),
    "amd64": ("x86-64-v3",),
    "fkine": ("forward_kinematics",),
    "ikine": ("inverse_kinematics",),
    "jacob0": ("jacobian",),
    "gravload": ("gravity",),
    **dict.fromkeys(("dof", "ndof", "nq", "nv"), ("n",)),
    **dict.fromkeys(("endeffector", "eef", "tcp", "tool"), ("hand",)),
    **dict.fromkeys(("neutral", "qr", "qz"), ("home",)),
    **dict.fromkeys(("qlim", "lowerpositionlimit"), ("lower",)),
    "upperpositionlimit": ("upper",),
    "velocitylimit": ("max_speed",),
    "effortlimit": ("max_effort",),
    **dict.fromkeys(("stm32f3", "stm32f4", "stm32g4", "stm32l4"), ("cortex-m4",)),
    **dict.fromkeys(("stm32f7", "stm32h7", "teensy4"), ("cortex-m7",)),
}
# Functions of compiled arms that are looked for on arms.
FUNCTIONS = (
    "inverse_dynamics", "forward_dynamics", "inertia_matrix", "bias", "jacobian", "forward_kinematics",
    "inverse_kinematics",
)  # fmt: skip


@dataclass(frozen=True)
class Keyword:
    """A parameter that a message speaks of, spelled by whoever reports it: `friction='stribeck'` in Python,
    `--friction stribeck` at the prompt.
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


@dataclass(frozen=True)
class Advice:
    """What a message recommends: `arm.rigid()` in Python, `--rigid` at the prompt."""

    python: str
    prompt: str

    def __str__(self) -> str:
        return self.python


Piece = str | Keyword | Advice


class Sentence(str):
    """A text that names parameters and calls: spelled for Python, it remembers its pieces."""

    pieces: tuple[Piece, ...]

    def __new__(cls, *pieces: Piece) -> Sentence:
        """A text of these pieces, of which some may be such texts."""
        made = super().__new__(cls, "".join(map(str, pieces)))
        made.pieces = tuple(part for piece in pieces for part in getattr(piece, "pieces", (piece,)))
        return made

    def __getnewargs__(self) -> tuple[Piece, ...]:  # type: ignore[override]
        return self.pieces


def spelled(text: str, spell: Callable[[Keyword], str]) -> str:
    """A text for the prompt, with the parameters that it names spelled by the door that reports it."""
    pieces: tuple[Piece, ...] = getattr(text, "pieces", (text,))
    words = (piece.prompt if isinstance(piece, Advice) else piece for piece in pieces)
    return "".join(spell(word) if isinstance(word, Keyword) else word for word in words)


class ForearmError(Exception):
    """Base of every error that forearm raises: a problem and its place.

    Args:
        problem: what came, what is allowed, and what to do.
        place: where, from the outside in: "arm.toml", "joint 'elbow'", "limits"; or joined by commas.
    """

    def __init__(self, problem: str = "", *place: object) -> None:
        super().__init__(problem, *place)
        self.problem = problem
        self.place = tuple(part for name in place for part in str(name).split(", "))

    def __str__(self) -> str:
        return f"{', '.join(self.place)}: {self.problem}" if self.place else self.problem


class InputError(ForearmError):
    """A file, text or argument of the wrong kind or shape, or out of bounds."""


class ModelError(ForearmError):
    """Values or a structure impossible for a rigid arm, or a request that this arm does not support."""


class OutOfMemory(ForearmError, MemoryError):
    """No memory for machine code, for LLVM or for a thread: a limit of this process or of the system."""


class NameNotFound(InputError):
    """An unknown name."""


class ForearmWarning(UserWarning):
    """Base of all warnings."""


class ModelWarning(ForearmWarning):
    """The model is computable, but physically impossible."""


class IgnoredWarning(ForearmWarning):
    """Content of a file that was ignored."""


class RepairWarning(ForearmWarning):
    """Physically impossible content of a file, replaced by the nearest valid value."""


class LossWarning(ForearmWarning):
    """A property of the arm that the output format cannot represent."""


class PartsWarning(ForearmWarning):
    """A link whose parts no longer yield the recorded mass properties."""


class StepWarning(ForearmWarning):
    """Fixed steps that are too long for the dynamics."""


@contextmanager
def located(*where: str) -> Iterator[None]:
    """Errors from inside say where they arose, from the outside in; what both name at their seam is said
    once, as is a file that they name already.
    """
    try:
        yield
    except ForearmError as error:
        outside = ForearmError("", *where).place
        if error.place[: len(outside)] != outside:
            is_known = error.place[:1] in (outside[:1], outside[-1:])
            error.place = outside + error.place[is_known:]
        # Without its cause, which a traceback would show as the same reason once more.
        raise error from None


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: the nearest known names, or all of them when few."""
    names = _shown(known)
    return _near(name, names) or (f"there are: {_listed(names)}." if names else "there are none.")


def not_among(value: object, known: Iterable[str]) -> str:
    """A sentence on an unknown name, with the nearest known ones."""
    names = _shown(known)
    near = _near(value, names) if isinstance(value, str) else ""
    wanted = f"expected one of {_listed(names)}" if names else "none exist"
    return f"{wanted}, got {shorten(value)}" + (f"; {near}" if near else ".")


def _shown(known: Iterable[str]) -> list[str]:
    return [
        name if len(name) <= MAX_SHOWN else name[: MAX_SHOWN - 3] + "..."
        for name in islice(known, MAX_COMPARED)
    ]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")


def _near(name: str, names: list[str]) -> str:
    word = _letters(name).lower()[:MAX_SHOWN]
    meant = SYNONYMS.get(word) or SYNONYMS.get(word[: len("stm32f4")], ())  # and stm32f407vg
    if found := next((other for other in meant if other in names), None):
        return f"did you mean {found!r}?"
    # capitals are mistaken more often than letters
    by_lower = {shown.lower(): shown for shown in reversed(names)}
    near = get_close_matches(name[:MAX_SHOWN].lower(), by_lower, n=3, cutoff=0.6)
    # nothing but punctuation differs: the others are not meant
    near = [n for n in near if _letters(n) == _letters(name)] or near
    return "did you mean " + " or ".join(repr(by_lower[n]) for n in near) + "?" if near else ""


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def missing_attribute(owner: object, name: str) -> Any:
    """Raise the AttributeError on a name that an object does not have, with the nearest one that it has, or
    with a function of compiled arms. For `__getattr__`.
    """
    if name.startswith("_") or hasattr(type(owner), name):  # or a property that raised it
        return object.__getattribute__(owner, name)
    hint = _near(name, [other for other in dir(type(owner)) if not other.startswith("_")])
    if not hint and (hint := _near(name, list(FUNCTIONS))):
        hint += " It is a function of fa.compile(arm)."
    raise AttributeError(f"{type(owner).__name__!r} has no attribute {name!r}{'; ' if hint else ''}{hint}")


def current_name(name: str, renamed: Mapping[str, str], module: str) -> str:
    """What a public name is called now; FutureWarning where it is an old one, AttributeError where it is
    neither. For a module's `__getattr__`.
    """
    if name not in renamed:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(
        f"{module.removeprefix('forearm.')}.{name} is now called {renamed[name]}; the old name goes with the "
        "next release.",
        FutureWarning,
        stacklevel=3,
    )
    return renamed[name]


def shorten(value: object, limit: int = MAX_SHOWN) -> str:
    """How a value that was given is shown in a message: quoted, one line, bounded."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # an integer of 10,000 digits, nested lists
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= limit else text[: limit - 3] + "..."
