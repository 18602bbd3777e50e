"""What is refused: the kind of the error and its words, in one expression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from forearm.errors import ForearmError


@contextmanager
def refused(words: str) -> Iterator[None]:
    """An error of the package comes, and `KindOfError: its text` begins as this regular expression says."""
    with pytest.raises(ForearmError) as caught:
        yield
    said = f"{type(caught.value).__name__}: {caught.value}"
    assert re.match(words, said, flags=re.DOTALL), f"expected {words}, got {said}"
