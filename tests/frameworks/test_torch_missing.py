"""Without PyTorch."""

from __future__ import annotations

import pytest

import forearm as fa


def test_a_missing_package_is_said_with_the_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.kernels.kernel.find_spec", lambda name: None)
    with pytest.raises(
        fa.InputError, match=r"^k\.torch needs PyTorch, .*: pip install 'forearm\[torch\]'\.$"
    ):
        fa.compile(fa.load("ascher2")).torch  # noqa: B018
