"""The same arm gives the same text on every machine: digests on record, and under noise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from sweeps import long
from texts import arms, digests, recorded

NOISE = Path(__file__).parent.parent / "tools" / "rounding_noise.py"
NOISY = ["puma560", "stanford-dhanaraj3", "chain3", "geared", "elastic"]
LONGEST = {
    "cmu-dd",
    "ur5",
    "panda",
    "chain7",
    "chain20",
    "ur10",
    "puma560-akb",
    "puma560-dhanaraj6",
    "stanford-dhanaraj6",
    *NOISY[2:],  # held against the record under noise
}
HINT = "if that is meant, tools/record_texts.py writes the digests anew, and the change log says why"


@pytest.mark.slow
@pytest.mark.parametrize("arm", [*sorted(set(arms()) - LONGEST), *long(sorted(LONGEST))])
def test_texts_are_those_on_record(arm: str) -> None:
    """Those in LaTeX take as long as all others: of some arms here, of all of them under noise."""
    latex = arm in NOISY[1:]
    now = digests(arm, latex)
    record = {key: digest for key, digest in recorded()[arm].items() if latex or not key.endswith(" latex")}
    assert now.keys() == record.keys(), HINT
    changed = [key for key, digest in now.items() if record[key] != digest]
    assert not changed, f"{arm}: {', '.join(changed)} changed; {HINT}"


def noisy(names: Sequence[str], seed: str = "0") -> dict[str, dict[str, str]]:
    """Digests with noise in what a machine may round as it likes.

    The noise is there: two equal calls of the reference answer differently.
    """
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(NOISE), *names], capture_output=True, text=True, check=True, env=environment
    )
    found = json.loads(done.stdout)
    assert 0.0 < found["apart"] < 1e-12
    assert len(done.stderr.splitlines()) > 3, "sites of the noise"
    made: dict[str, dict[str, str]] = found["texts"]
    for arm, texts in made.items():
        assert texts.keys() == recorded()[arm].keys(), HINT
        changed = [key for key, digest in recorded()[arm].items() if texts[key] != digest]
        assert not changed, (
            f"{arm}: {', '.join(changed)} depend on rounding, which happened at\n{done.stderr}"
        )
    return made


@pytest.mark.slow
@pytest.mark.parametrize("names", [NOISY[3:], *long([name] for name in NOISY[:3])], ids="-".join)
def test_noise_in_the_last_bit_changes_no_text(names: list[str]) -> None:
    """Of several arms in one process: most of its time goes into importing forearm with noise."""
    assert list(noisy(names)) == names


@pytest.mark.long
@pytest.mark.parametrize("arm", sorted(set(arms()) - set(NOISY)))
def test_noise_changes_no_text_of_any_arm(arm: str) -> None:
    assert list(noisy([arm], seed="4242")) == [arm]
