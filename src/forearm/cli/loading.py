"""The arm that a command is about."""

from __future__ import annotations

import warnings

from forearm.arm.arm import Arm
from forearm.cli.terminal import complain
from forearm.errors import IgnoredWarning
from forearm.files.load import load as load_arm

IGNORED = ": ignored "


def load(source: str, hand: str | None = None, root: str | None = None) -> Arm:
    """The arm of a name or a file, as `fa.load` gives it; all that was ignored in the file is
    told in one paragraph.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = load_arm(source, hand=hand, root=root)
    ignored: dict[str, list[str]] = {}
    for warning in caught:
        where, seam, what = str(warning.message).partition(IGNORED)
        if issubclass(warning.category, IgnoredWarning) and seam:
            ignored.setdefault(where, []).append(what)
        else:
            complain(str(warning.message), kind="warning")
    for where, things in ignored.items():
        complain(f"{where}{IGNORED}{'; '.join(things)}.", kind="warning")
    return arm
