"""Functions of an arm inside CasADi itself: expressions, derivatives, threads, files, IPOPT, and the page of
the documentation.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.frameworks.casadi_external import write_shared_object
from forearm.kernels import shared_object

casadi: Any = pytest.importorskip("casadi", reason="needs CasADi: make test-frameworks")
pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
ROOT = Path(__file__).parent.parent.parent
ARM = random_arm(5, 3)
SMOOTH = random_arm(5, 3, drives=False)
STEP = 1e-6


def states(count: int, seed: int = 1) -> list[Any]:
    return list(np.random.default_rng(seed).uniform(-1.0, 1.0, (count, ARM.n)))


def test_values_and_names() -> None:
    k, given = fa.compile(ARM), states(3)
    f = k.casadi("inverse_dynamics", derivatives=1)
    assert (f.name_in(), f.name_out()) == (["q", "qd", "qdd"], ["tau"])
    assert f(*given).full().ravel().tobytes() == k.inverse_dynamics(*given).tobytes()
    by_name = f(q=given[0], qd=given[1], qdd=given[2])["tau"]
    np.testing.assert_array_equal(by_name.full(), f(*given).full())
    T = k.casadi("forward_kinematics", derivatives=0)(given[0]).full()
    np.testing.assert_array_equal(T, k.forward_kinematics(given[0]))


def test_jacobians_of_expressions_are_the_kernels() -> None:
    k, given = fa.compile(ARM), states(3)
    f = k.casadi("inverse_dynamics", derivatives=1)
    q, qd, qdd = (casadi.MX.sym(name, ARM.n) for name in ("q", "qd", "qdd"))
    tau = f(q, qd, qdd)
    slopes = casadi.Function("slopes", [q, qd, qdd], [casadi.jacobian(tau, x) for x in (q, qd, qdd)])
    for made, expected in zip(slopes(*given), k.inverse_dynamics_derivatives(*given), strict=True):
        np.testing.assert_allclose(made.full(), expected, rtol=1e-10, atol=1e-10)
    for g in (f.jacobian(), f.forward(1), f.reverse(1), f.forward(3), f.reverse(2)):
        assert g.n_out() >= 1


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_hessians_agree_with_differences(name: str) -> None:
    f, given, weight = fa.compile(SMOOTH).casadi(name), states(3), states(1, 4)[0]
    z = casadi.MX.sym("z", 3 * ARM.n)
    value = casadi.dot(weight, f(*casadi.vertsplit(z, ARM.n))) ** 2
    H, g = casadi.hessian(value, z)
    hessian, gradient = casadi.Function("H", [z], [H]), casadi.Function("g", [z], [g])
    at = np.concatenate(given)
    columns = [
        (gradient(at + STEP * e) - gradient(at - STEP * e)).full()[:, 0] / (2 * STEP) for e in np.eye(len(at))
    ]
    scale = np.abs(columns).max()
    np.testing.assert_allclose(hessian(at).full() / scale, np.array(columns).T / scale, atol=1e-7)


def test_sensitivities_of_an_integrator() -> None:
    """How the end of a motion depends on the start, by CVODES with derivatives of forward dynamics, against
    forearm's simulation.
    """
    f, (q, qd, tau) = fa.compile(SMOOTH).casadi("forward_dynamics"), states(3)
    x, n = casadi.MX.sym("x", 2 * ARM.n), ARM.n
    ode = {"x": x, "ode": casadi.vertcat(x[n:], f(x[:n], x[n:], tau))}
    end = casadi.integrator("end", "cvodes", ode, 0.0, 0.1, {"abstol": 1e-12, "reltol": 1e-12})
    rate = np.concatenate(states(2, 9))

    def simulated(s: float) -> Any:
        start = np.concatenate([q, qd]) + s * rate
        run = fa.simulate(SMOOTH, start[:n], start[n:], 0.1, torque=tau, method="rk4", step=1e-4)
        return np.concatenate([run.q[-1], run.qd[-1]])

    start = casadi.MX.sym("start", 2 * n)
    along = casadi.Function("along", [start], [casadi.jtimes(end(x0=start)["xf"], start, casadi.DM(rate))])
    expected = (simulated(1e-4) - simulated(-1e-4)) / 2e-4
    made = along(np.concatenate([q, qd])).full()[:, 0]
    np.testing.assert_allclose(made, expected, atol=1e-6 * np.abs(expected).max())


def test_threads_share_a_function() -> None:
    f, many = (
        fa.compile(SMOOTH).casadi("inverse_dynamics", derivatives=1),
        np.random.default_rng(3).uniform(-1, 1, (3, ARM.n, 400)),
    )
    np.testing.assert_array_equal(f.map(400, "thread", 4)(*many).full(), f.map(400)(*many).full())


def test_without_derivatives_casadi_refuses_them() -> None:
    f, x = fa.compile(SMOOTH).casadi("gravity", derivatives=0), casadi.MX.sym("x", ARM.n)
    with pytest.raises(RuntimeError, match=r"[Dd]erivative|[Jj]acobian"):
        casadi.Function("J", [x], [casadi.jacobian(f(x), x)])(states(1)[0])


def test_a_file_is_all_that_another_process_needs(tmp_path: Path) -> None:
    if not shared_object.is_possible():
        pytest.skip("no shared object is written on this machine")
    k, (q,) = fa.compile(SMOOTH), states(1)
    k.casadi("gravity", file=tmp_path / "arm.so")
    text = (
        "import sys, casadi; f = casadi.external('gravity', './arm.so'); "
        f"print(*f({q.tolist()}).full().ravel().tolist()); print(f.jacobian()); "
        "assert 'forearm' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    values, jacobian = done.stdout.splitlines()
    np.testing.assert_array_equal(np.array(values.split(), dtype=float), k.gravity(q))
    assert jacobian.startswith("jac_gravity:(q[3],out_gravity[3x1,0nz])")


def test_a_file_written_again_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    (q,) = states(1)
    for arm in (SMOOTH, SMOOTH.with_payload(3.0, longest=0.2), SMOOTH):
        k = fa.compile(arm)
        made = k.casadi("gravity", file=tmp_path / "arm.so", derivatives=0)(q)
        np.testing.assert_allclose(made.full().ravel(), k.gravity(q), rtol=1e-12)


def test_a_file_that_casadi_has_loaded_itself_is_not_taken_either(tmp_path: Path) -> None:
    heavier, (q,) = fa.compile(SMOOTH.with_payload(3.0, longest=0.2)), states(1)
    path = write_shared_object(fa.compile(SMOOTH), "gravity", tmp_path / "arm.so", derivatives=0)
    light = casadi.external("gravity", str(path))
    for _ in range(2):
        heavy = heavier.casadi("gravity", file=path, derivatives=0)
        np.testing.assert_allclose(heavy(q).full().ravel(), heavier.gravity(q), rtol=1e-12)
    np.testing.assert_allclose(light(q).full().ravel(), fa.compile(SMOOTH).gravity(q), rtol=1e-12)


def test_other_systems_compile_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    monkeypatch.setattr(shared_object, "is_possible", lambda: False)
    k, given = fa.compile(ARM), states(3)
    for file in (None, tmp_path / "arm.so"):
        f = k.casadi("inverse_dynamics", file=file, derivatives=1)
        np.testing.assert_allclose(f(*given).full().ravel(), k.inverse_dynamics(*given), rtol=1e-9, atol=1e-9)
        blocks = f.jacobian()(*given, casadi.DM(ARM.n, 1))
        for made, expected in zip(blocks, k.inverse_dynamics_derivatives(*given), strict=True):
            np.testing.assert_allclose(made.full(), expected, rtol=1e-9, atol=1e-9)
    assert (tmp_path / "arm.c").is_file()


BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "casadi.md").read_text(encoding="utf-8"), flags=re.M | re.S
)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_page_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[number], f"casadi.md, block {number + 1}", "exec"), names)
    if "opti" in names:
        assert names["spent"] == pytest.approx(66.0, abs=0.1)
        assert names["usually"] == pytest.approx(89.5, abs=0.1)
        assert names["spent_in_run"] == pytest.approx(66.6, abs=0.1)
