"""Names of values in formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from forearm.codegen.closed_form import PARAMETER
from forearm.codegen.program import Argument, Program, Ref

LETTERS = {
    "qd": r"\dot{q}", "qdd": r"\ddot{q}", "tau": r"\tau", "bias": "b", "gravity": "g", "Jd": r"\dot{J}",
    "kinetic": "K", "potential": "P", "w": r"\omega", "wd": r"\dot{\omega}", "vd": r"\dot{v}", "O": r"\Omega",
    "Omega": r"\Omega", "alpha": r"\alpha", "lambda": r"\lambda", "theta": r"\vartheta",
}  # fmt: skip
ENERGIES = ("kinetic", "potential")  # arrays of one entry, which need no index
MASSES = {"mass": "m", "com": "r", "inertia": "I", "a": "a", "d": "d", "alpha": r"\alpha"}


class Names:
    """The name of each value, each name used once."""

    def __init__(self, program: Program) -> None:
        arguments = {a.name: a for a in (*program.inputs, *program.outputs)}
        # for abbreviations
        self.cos_sin = next((pair for pair in ("cs", "CS") if not set(pair) & arguments.keys()), None)
        self.made: dict[Ref, str] = {}
        self.bars = False  # whether a value is the negative of the one whose name it has
        self.taken: set[str] = set()
        for argument in arguments.values():
            for index in range(argument.size):
                self._take(Ref(argument.name, index), _entry(argument, index), "")
        for index, name in enumerate(program.parameters):
            self._take(Ref(PARAMETER, index), _parameter(name), f"p_{{{index + 1}}}")
        for index in range(program.kept):
            self._take(Ref("k", index), f"k_{{{index + 1}}}", rf"\mathrm{{k}}_{{{index + 1}}}")

    def __getitem__(self, ref: Ref) -> str:
        return self.made[ref]

    def temporary(self, ref: Ref, same_as: Ref | None = None) -> None:
        """Name an intermediate value; it may have the name of an output equal to it."""
        wanted = self._temporary(ref.name)
        if same_as is not None and wanted == self.made[same_as]:
            self.made[ref] = self.made[same_as]
        else:
            self._take(ref, wanted, _word(ref.name))

    def share(self, ref: Ref, name: str) -> None:
        """Give a name that equal values share."""
        self.taken.add(name)
        self.made[ref] = name

    def _take(self, ref: Ref, wanted: str | None, otherwise: str) -> None:
        name = otherwise if wanted is None or wanted in self.taken else wanted
        while not name or name in self.taken:
            name = f"{{{name or wanted}}}'"
        self.taken.add(name)
        self.made[ref] = name

    def _temporary(self, name: str) -> str | None:
        """w3x, t12, f_in3x, and w3xn for the negative of w3x;
        a copy of a name, w3x_2, has its number after a comma.
        """
        match = re.fullmatch(r"([A-Za-z]+?)(?:_([A-Za-z]+))?(\d+)([xyz]*)(n?)(?:_(\d+))?", name)
        if match is None:
            return None
        stem, mark, link, axes, negative, copy = match.groups()
        if stem == "vdc":  # vd*, the acceleration of the centre
            stem, mark = "vd", "c"
        symbol = letter(stem)
        if negative:
            self.bars = True
            symbol = rf"\bar{{{symbol}}}"
        below = (rf"\mathrm{{{mark}}}" if mark else "") + link + axes + (f",{copy}" if copy else "")
        return f"{symbol}_{{{below}}}"


def _entry(argument: Argument, index: int) -> str:
    if not argument.shape or argument.name in ENERGIES:
        return letter(argument.name)
    places = [int(i) + 1 for i in np.unravel_index(index, argument.shape)]
    return f"{letter(argument.name)}_{{{indices(places)}}}"


def letter(name: str) -> str:
    """A letter for a name, tau^base for tau_base, or else the name itself in upright letters."""
    stem, _, mark = name.partition("_")
    symbol = LETTERS.get(stem) or (stem if re.fullmatch("[A-Za-z]", stem) else None)
    if symbol is None:
        return _word(name)
    return f"{symbol}^{{{_word(mark)}}}" if mark else symbol


def _word(name: str) -> str:
    """A name in upright letters; other characters than letters and digits become underscores."""
    return rf"\mathrm{{{re.sub('[^A-Za-z0-9]', lambda _: chr(92) + '_', name)}}}"


def indices(places: Iterable[int]) -> str:
    """12 for 1 and 2; with commas if one has two digits."""
    texts = [str(i) for i in places]
    return ("" if all(len(t) == 1 for t in texts) else ",").join(texts)


def _parameter(name: str) -> str | None:
    """m_2 for link2.mass, r_2x for link2.com.x, I_2xx for link2.inertia.xx, g_z for
    gravity.z; None for others.
    """
    gravity = re.fullmatch(r"gravity\.([xyz])", name)
    if gravity:
        return f"g_{{{gravity[1]}}}"
    match = re.fullmatch(r"([A-Za-z_ -]*)(\d*)\.(\w+)(?:\.([xyz]{1,2}))?", name, flags=re.ASCII)
    if match is None or match[3] not in MASSES:
        return None
    owner = match[2] or (rf"\mathrm{{{match[1]}}}" if match[1].isalpha() else None)
    return None if owner is None else f"{MASSES[match[3]]}_{{{owner}{match[4] or ''}}}"
