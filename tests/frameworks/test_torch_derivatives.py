"""Derivatives of `k.torch` against finite differences (`gradcheck`) and whole Jacobians of the kernel, and
backwards against forwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from frameworks.torch_states import states, torch, variables

import forearm as fa
from forearm.files.builtin import arms

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
# What differences with gradcheck's step of 1e-6 leave of derivatives near 100, as those of accelerations are.
CLOSE = 1e-4
NAMES = (
    "inverse_dynamics", "inertia_matrix", "bias", "gravity", "coriolis_matrix", "forward_kinematics",
    "jacobian", "jacobian_derivative", "kinetic_energy", "potential_energy", "regressor",
    "base_regressor", "reactions",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_of_every_function(name: str) -> None:
    arm = random_arm(3, 2)
    function = getattr(fa.compile(arm).torch, name)
    given = variables(*states(arm, 2, count=len(function.inputs)))
    assert gradcheck(function, given, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(function, given)


@pytest.mark.parametrize(
    "name", ["forward_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"]
)
def test_of_accelerations_and_of_derivatives(name: str) -> None:
    """With friction that depends on the load; torques are those of an acceleration, so that there is one."""
    arm = random_arm(3, 2)
    k = fa.compile(arm)
    q, qd, qdd = states(arm, 2)
    third = qdd if name.startswith("inverse") else k.torch.inverse_dynamics(q, qd, qdd)
    given = variables(q, qd, third)
    function = getattr(k.torch, name)
    assert gradcheck(function, given, check_forward_ad=True, atol=CLOSE)
    assert gradgradcheck(function, given, atol=10.0 * CLOSE)


@pytest.mark.parametrize("name", [name for name in arms() if not name.startswith("chain")])
def test_jacobian_is_that_of_the_kernel(name: str) -> None:
    """Backwards and forwards against dtau/dq, dtau/dqd and dtau/dqdd written out."""
    k = fa.compile(fa.load(name))
    given = states(k.arm)
    expected = k.inverse_dynamics_derivatives(*(x.numpy() for x in given))
    for ways in (torch.func.jacrev, torch.func.jacfwd):
        made = ways(k.torch.inverse_dynamics, argnums=(0, 1, 2))(*given)
        for one, other in zip(made, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("each", [False, True], ids=["shared", "each"])
def test_of_open_parameters(each: bool) -> None:
    arm = random_arm(3, 2)
    k = fa.compile(arm, parameters=[f"{arm.links[-1].name}.mass", "gravity"])
    values = torch.tensor(list(k.parameters.values()), dtype=torch.float64)
    if each:
        values = values * torch.linspace(0.9, 1.2, 3, dtype=torch.float64)[:, None]

    def function(q: Any, qd: Any, qdd: Any, p: Any) -> Any:
        return k.torch.inverse_dynamics(q, qd, qdd, parameters=p)

    given = variables(*states(arm, 3), values)
    assert gradcheck(function, given, check_forward_ad=True)
    assert gradgradcheck(function, given)


def test_of_arguments_that_are_broadcast() -> None:
    arm = random_arm(3, 2)
    q, qd, qdd = states(arm, 3)
    given = variables(q[:, None], qd[0], qdd[None])
    assert gradcheck(fa.compile(arm).torch.inverse_dynamics, given, check_forward_ad=True)


def test_of_closed_form_inverse_kinematics() -> None:
    """q -> pose -> the branch that is q: its derivative is the identity, both ways."""
    k = fa.compile(fa.load("puma560"))
    q = torch.tensor([0.45, 0.28, 0.31, 0.41, 0.39, 0.29], dtype=torch.float64)
    branches = k.torch.inverse_kinematics(k.torch.forward_kinematics(q))
    here = int((branches - q).abs().sum(-1).nan_to_num(torch.inf).argmin())

    def back(q: Any) -> Any:
        return k.torch.inverse_kinematics(k.torch.forward_kinematics(q))[here]

    for ways in (torch.func.jacrev, torch.func.jacfwd):
        np.testing.assert_allclose(ways(back)(q).numpy(), np.eye(6), atol=1e-10)


def test_of_a_long_chain() -> None:
    """Forwards and backwards through accelerations, whose derivatives are never written out there."""
    k = fa.compile(fa.load("chain14"))
    q, qd, qdd = states(k.arm)
    tau = k.torch.inverse_dynamics(q, qd, qdd)
    expected = k.forward_dynamics_derivatives(q.numpy(), qd.numpy(), tau.numpy())
    for ways in (torch.func.jacrev, torch.func.jacfwd):
        made = ways(k.torch.forward_dynamics, argnums=(0, 1, 2))(q, qd, tau)
        for one, other in zip(made, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-6, atol=1e-6 * np.abs(other).max())


def test_third_derivatives_are_refused() -> None:
    arm = random_arm(3, 2)
    k = fa.compile(arm)
    (q,) = states(arm, count=1)
    third = torch.func.jacrev(torch.func.jacrev(torch.func.jacrev(lambda q: k.torch.gravity(q).sum())))
    with pytest.raises(fa.InputError, match="gravity: third derivatives are not supported; use"):
        third(q)


def test_numeric_inverse_kinematics_has_no_derivatives() -> None:
    k = fa.compile(fa.load("puma560"))
    (q,) = states(k.arm, count=1)
    found, _ = k.torch.numeric_inverse_kinematics(q, k.torch.forward_kinematics(q).requires_grad_())
    with pytest.raises(fa.InputError, match="it has no derivatives; use inverse_kinematics, the closed form"):
        found.sum().backward()


def test_the_kernel_may_be_gone_when_derivatives_are_taken() -> None:
    arm = random_arm(3, 2)
    given = variables(*states(arm, 4))
    tau = fa.compile(arm).torch.inverse_dynamics(*given)
    once = torch.autograd.grad(tau.square().sum(), given)
    kept = fa.compile(arm)
    again = torch.autograd.grad(kept.torch.inverse_dynamics(*given).square().sum(), given)
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
