"""What is said where JAX is missing or too old; nothing of it is imported before it is asked for."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import forearm as fa
from forearm.errors import InputError
from forearm.frameworks.jax_functions import check_jax


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    check_jax.cache_clear()


def test_jax_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(InputError) as caught:
        fa.compile(fa.load("ascher2")).jax  # noqa: B018
    assert str(caught.value) == "k.jax: JAX is not installed: pip install 'forearm[jax]'."


def test_jax_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = SimpleNamespace(__version__="0.4.38", __version_info__=(0, 4, 38))
    monkeypatch.setitem(sys.modules, "jax", old)
    with pytest.raises(InputError) as caught:
        fa.compile(fa.load("ascher2")).jax  # noqa: B018
    assert str(caught.value) == (
        "k.jax: expected JAX 0.7 or later, got 0.4.38: pip install --upgrade 'forearm[jax]'."
    )


@pytest.mark.slow
def test_jax_is_not_imported_with_forearm() -> None:
    text = "import sys, forearm as fa; fa.compile(fa.load('ascher2')); print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
