"""Results counted by document, kind and verdict, and the sentence that sums them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from forearm.reproduce.catalogue import Result, Verdict
from forearm.reproduce.kinds import KINDS, Kind

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
TOGETHER = "together"


@dataclass(frozen=True)
class Total:
    """The number of results with each verdict, of one kind and document.

    Attributes:
        document: one of DOCUMENTS, or TOGETHER for all of them.
        kind: the kind counted; None: all kinds.
        counts: number of results by verdict.
    """

    document: str
    kind: Kind | None
    counts: dict[Verdict, int]

    @property
    def number(self) -> int:
        """The number of results of every verdict."""
        return sum(self.counts.values())

    @property
    def agreeing(self) -> int:
        """The number that equal the printed value, exactly or within its rounding."""
        return self.counts["exact"] + self.counts["within rounding"]

    @property
    def compared(self) -> int:
        """The number with a printed value and one of ours."""
        return self.agreeing + self.counts["differs"]


def totals(results: Sequence[Result]) -> list[Total]:
    """Totals by document and kind, then over all kinds; with several documents, the same for all together."""
    documents = list(dict.fromkeys(result.item.document for result in results))
    groups = {name: [r for r in results if r.item.document == name] for name in documents}
    if len(documents) > 1:
        groups[TOGETHER] = list(results)
    made = []
    for name, group in groups.items():
        kinds = [kind for kind in KINDS if any(result.kind == kind for result in group)]
        made += [_total(name, kind, group) for kind in kinds]
        made.append(_total(name, None, group))
    return made


def recomputed(results: Sequence[Result]) -> Total:
    """The row of recomputed values, which the headline states."""
    return _total(TOGETHER, "recomputed", results)


def headline(results: Sequence[Result]) -> str:
    """One sentence on the evidence, in the numbers of the row of recomputed values; other kinds do not
    count.
    """
    row = recomputed(results)
    exact, rounded, differs, missing = (row.counts[verdict] for verdict in VERDICTS)
    text = (
        f"{row.agreeing} of {row.compared} recomputed values agree with the printed ones ({exact} exactly, "
        f"{rounded} within rounding)"
    )
    text += f", {differs} differ, each for a stated reason" if differs else ""
    return text + (f"; {missing} more cannot be compared." if missing else ".")


def _total(document: str, kind: Kind | None, results: Sequence[Result]) -> Total:
    counts = Counter(result.verdict for result in results if kind in (None, result.kind))
    return Total(document, kind, {verdict: counts[verdict] for verdict in VERDICTS})
