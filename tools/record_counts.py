"""Writes src/forearm/counting/general.json anew, after a change of a formulation that is meant.

.venv/bin/python tools/record_counts.py
"""

from __future__ import annotations

import json
from pathlib import Path

from forearm.counting import stored

if __name__ == "__main__":
    path = Path(stored.__file__).parent / stored.FILE
    path.write_text(json.dumps(stored.document(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path.name}")
