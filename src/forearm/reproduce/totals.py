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


def totals(results: Sequence[Result]) -> list[Total]:
    """Totals by document and kind, then over all kinds; with several documents, the same for all together."""
    documents = list(dict.fromkeys(result.item.document for result in results))
    groups = {name: [r for r in results if r.item.document == name] for name in documents}
    if len(documents) > 1:
        groups[TOGETHER] = list(results)
    made = []
    for name, group in groups.items():
        kinds = [kind for kind in KINDS if any(result.kind == kind for result in group)]
        made += [_total(name, kind, [r for r in group if r.kind == kind]) for kind in kinds]
        made.append(_total(name, None, group))
    return made


def agreement(results: Sequence[Result]) -> tuple[int, int]:
    """The number of recomputed values that agree with the printed ones, and the number compared."""
    compared = [result for result in results if result.kind == "recomputed" and result.compared]
    return sum(result.agrees for result in compared), len(compared)


def headline(results: Sequence[Result]) -> str:
    """One sentence on the evidence: how many recomputed values agree; other kinds do not count."""
    agreeing, compared = agreement(results)
    rest = "; each difference has its reason" if compared > agreeing else ""
    return f"{agreeing} of {compared} recomputed values agree with the printed ones{rest}."


def _total(document: str, kind: Kind | None, results: Sequence[Result]) -> Total:
    counts = Counter(result.verdict for result in results)
    return Total(document, kind, {verdict: counts[verdict] for verdict in VERDICTS})
