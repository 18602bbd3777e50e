"""Writes tests/data/texts.json anew, after a change of the generator that is meant; the change log says why.

.venv/bin/python tools/record_texts.py
"""

from __future__ import annotations

import json

import tests_path  # noqa: F401
from texts import RECORD, arms, digests, recorded

if __name__ == "__main__":
    before = recorded() if RECORD.exists() else {}
    made = {}
    for arm in arms():
        made[arm] = digests(arm)
        changed = sum(before.get(arm, {}).get(key) != digest for key, digest in made[arm].items())
        print(f"{arm}: {len(made[arm])} digests, {changed} of them new", flush=True)
    RECORD.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
