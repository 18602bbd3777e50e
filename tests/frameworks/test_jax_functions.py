"""k.jax against the kernels, finite differences and JAX's own checks of derivatives."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.errors import InputError

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel

jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks")
from jax import lax  # noqa: E402
from jax import numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

Array = NDArray[np.float64]
pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
STEP, CLOSE = 1e-5, 1e-8  # of central differences, and what they leave of values near 1
ROUNDING = 1e-12  # what two orders of the same operations may differ by, relative
EVERY = [name for name in FUNCTIONS if "inverse_kinematics" not in name]
GEAR = fa.Transmission(efficiency=((0.01, 0.35), (0.09, 0.56), (0.5, 0.8)), rated_torque=40.0, breakaway=0.6)


def driven_arm() -> fa.Arm:
    """Rotors, and friction that does not depend on the load: every torque has an acceleration."""
    return random_arm(4, 3, drives=False).with_drives(
        motor=fa.Motor(gear_ratio=30.0, rotor_inertia=2e-4), friction=fa.Friction(viscous=0.3, coulomb=0.7)
    )


@pytest.fixture(autouse=True)
def _in_float64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return fa.compile(driven_arm())


@pytest.fixture(scope="module")
def opened() -> Kernel:
    arm = random_arm(3, 3)
    return fa.compile(arm, parameters=[f"{arm.links[-1].name}.mass", "gravity"])


def states(count: int, *shape: int, seed: int = 0) -> Any:
    return list(np.random.default_rng(seed).uniform(-1.0, 1.0, (count, *shape)))


def given_to(kernel: Kernel, name: str, *leading: int) -> Any:
    sizes = [slot.shape for slot in kernel.compiled(name).inputs if slot.name != "parameters"]
    rng = np.random.default_rng(len(name))
    return [rng.uniform(-1.0, 1.0, leading + shape) for shape in sizes]


@pytest.mark.parametrize("name", EVERY)
def test_every_function_gives_the_kernels_bits(kernel: Kernel, name: str) -> None:
    expected = kernel.fused([name])
    for leading in ((), (1,), (5,), (2, 3), (0,)):
        given = given_to(kernel, name, *leading)
        made = getattr(kernel.jax, name)(*given)
        made = made if isinstance(made, tuple) else (made,)
        flat = [x.reshape(-1, x.shape[-1]) for x in given]
        for one, (key, other) in zip(made, expected(*flat).items(), strict=True):
            shape = leading + expected.outputs[key]
            assert (one.shape, one.dtype) == (shape, np.float64)
            assert np.array_equal(one, other.reshape(shape))


def test_inverse_kinematics_both_ways() -> None:
    kernel, q = fa.compile(fa.load("puma560")), np.array([[0.3, -0.7, 0.4, 0.5, 0.6, -0.8]])
    poses = kernel.jax.forward_kinematics(q)
    branches = kernel.jax.inverse_kinematics(poses)
    assert np.array_equal(branches, kernel.inverse_kinematics(np.asarray(poses)), equal_nan=True)
    assert np.nanmin(np.abs(branches - q[:, None]).max(axis=-1)) < 1e-9
    found, error = kernel.jax.numeric_inverse_kinematics(q + 0.1, poses)
    assert np.abs(error).max() < 1e-9
    np.testing.assert_allclose(kernel.jax.forward_kinematics(found), poses, atol=1e-8)
    which = int(np.nanargmin(np.abs(branches - q[:, None]).max(axis=-1)))

    def there_and_back(q: Any) -> Any:
        return kernel.jax.inverse_kinematics(kernel.jax.forward_kinematics(q))[which]

    for way in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(way(there_and_back)(q[0]), np.eye(6), atol=1e-12)
    with pytest.raises(InputError, match="numeric_inverse_kinematics is iterative and has no derivative"):
        jax.jacfwd(kernel.jax.numeric_inverse_kinematics)(q, poses)


def test_arguments_broadcast_and_come_by_name(kernel: Kernel) -> None:
    (q,), (qd,), n = states(1, 4, 1, 3), states(1, 5, 3), kernel.arm.n
    expected = kernel.inverse_dynamics(
        np.broadcast_to(q, (4, 5, n)).reshape(-1, n), np.broadcast_to(qd, (4, 5, n)).reshape(-1, n), 0.5
    )
    made = kernel.jax.inverse_dynamics(q, qdd=0.5, qd=qd)
    assert np.array_equal(made.reshape(-1, n), expected)
    assert np.array_equal(kernel.jax.gravity([0.1, 0.2, 0.3]), kernel.gravity([0.1, 0.2, 0.3]))
    traced = jax.jit(lambda x: kernel.jax.gravity([x, 0.2, 2 * x]))(0.1)
    assert np.array_equal(traced, kernel.gravity([0.1, 0.2, 0.2]))


@pytest.mark.parametrize("name", EVERY)
def test_derivatives_of_every_function_by_jaxs_check(kernel: Kernel, name: str) -> None:
    given = given_to(kernel, name)
    order = 1 if "derivatives" in name or "regressor" in name else 2
    check_grads(getattr(kernel.jax, name), given, order=order, modes=("fwd", "rev"), eps=1e-4, rtol=1e-5)


def test_derivatives_of_a_batch_and_of_friction_that_depends_on_the_load() -> None:
    arm = driven_arm().with_drives(transmission=GEAR)
    kernel = fa.compile(arm)
    given = states(3, 4, arm.n, seed=3)
    for function in (kernel.jax.inverse_dynamics, kernel.jax.forward_dynamics):
        check_grads(function, given, order=1, modes=("fwd", "rev"), eps=1e-5, rtol=1e-4)


def test_hessian_four_ways_against_differences_of_gradients(kernel: Kernel) -> None:
    q, qd, qdd = states(3, 3)

    def power(q: Any) -> Any:
        return kernel.jax.inverse_dynamics(q, qd, qdd) @ qd

    def slope(q: Array) -> Any:
        return qd @ kernel.inverse_dynamics_derivatives(q, qd, qdd)[0]

    expected = np.stack([(slope(q + d) - slope(q - d)) / (2.0 * STEP) for d in STEP * np.eye(3)])
    for inner in (jax.jacfwd, jax.jacrev):
        for outer in (jax.jacfwd, jax.jacrev):
            np.testing.assert_allclose(outer(inner(power))(q), expected, rtol=CLOSE, atol=CLOSE)
    third = [jax.jacfwd(jax.hessian(power))(q), jax.jacrev(jax.jacrev(jax.jacrev(power)))(q)]
    np.testing.assert_allclose(third[0], third[1], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(third[0], np.transpose(third[0], (2, 1, 0)), rtol=1e-10, atol=1e-10)


def test_what_is_linear_is_transposed_there_and_back(kernel: Kernel) -> None:
    given, rate, weight = states(3, 3), states(3, 3, seed=1), states(1, 3, seed=2)[0]
    out, back = jax.vjp(kernel.jax.inverse_dynamics, *given)
    (there,) = jax.linear_transpose(back, out)(tuple(map(jnp.asarray, rate)))
    _, expected = jax.jvp(kernel.jax.inverse_dynamics, given, rate)
    np.testing.assert_allclose(there, expected, rtol=ROUNDING, atol=ROUNDING)
    # g -> g^T J is linear: its derivative along g is itself, and takes no function of the second order.
    _, moved = jax.jvp(back, (out,), (jnp.asarray(weight),))
    for one, other in zip(moved, back(jnp.asarray(weight)), strict=True):
        assert np.array_equal(one, other)


def test_open_parameters_shared_and_for_each(opened: Kernel) -> None:
    given, arm = states(3, 4, 3), opened.arm
    own = np.array(list(opened.parameters.values()))
    rows = own * (1.0 + 0.1 * states(1, 4, len(own), seed=5)[0])
    inverse = opened.jax.inverse_dynamics
    assert np.array_equal(inverse(*given), opened.inverse_dynamics(*given))
    assert np.array_equal(inverse(*given, parameters=own), opened.inverse_dynamics(*given))
    expected = opened.inverse_dynamics(*given, parameters=rows)
    assert np.array_equal(inverse(*given, parameters=rows), expected)
    one_each = jax.vmap(lambda p: inverse(given[0][0], given[1][0], given[2][0], parameters=p))(rows)
    assert one_each.shape == (4, arm.n)
    mapped = jax.vmap(lambda *x: inverse(*x[:3], parameters=x[3]))(*given, rows)
    assert np.array_equal(mapped, expected)
    both = jax.vmap(lambda p: inverse(*given, parameters=p))(rows[:2])
    assert np.array_equal(both[1], opened.inverse_dynamics(*given, parameters=rows[1]))
    mass = next(iter(opened.parameters))
    named = inverse(*given, parameters={mass: rows[:, 0]})
    assert np.array_equal(named, opened.inverse_dynamics(*given, parameters={mass: rows[:, 0]}))
    for values in (own, rows):
        check_grads(
            lambda *x: inverse(*x[:3], parameters=x[3]), [*given, values], order=2, eps=1e-4, rtol=1e-5
        )


def test_vmap_of_any_axis_is_the_loop(kernel: Kernel) -> None:
    q, qd, qdd = states(3, 4, 3)
    inverse, kernels = kernel.jax.inverse_dynamics, kernel.inverse_dynamics
    expected = np.stack([kernels(q[k], qd[0], qdd[k]) for k in range(4)])
    assert np.array_equal(jax.vmap(inverse, (0, None, 1))(q, qd[0], qdd.T), expected)
    twice = jax.vmap(jax.vmap(inverse, (None, 0, None)), (0, None, 0), out_axes=1)(q, qd, qdd)
    for i in range(4):
        for k in range(4):
            assert np.array_equal(twice[i, k], kernels(q[k], qd[i], qdd[k]))
    batched = jax.jit(jax.vmap(jax.grad(lambda *x: (inverse(*x) ** 2).sum())))(q, qd, qdd)
    alone = [jax.grad(lambda *x: (inverse(*x) ** 2).sum())(q[k], qd[k], qdd[k]) for k in range(4)]
    assert np.array_equal(batched, np.stack(alone))


def test_scan_is_a_rollout_with_a_gradient(kernel: Kernel) -> None:
    """Explicit steps by lax.scan: the same states as in NumPy, and slopes by differences."""
    q0, qd0, tau = states(3, 3, seed=7)
    step, count = 0.01, 20

    def rolled(q: Any, qd: Any, tau: Any, forward: Any, scan: Any) -> Any:
        def move(state: Any, _: Any) -> Any:
            q, qd = state
            qdd = forward(q, qd, tau)
            qd = qd + step * qdd
            return (q + step * qd, qd), q

        (q, _), path = scan(move, (q, qd), None, count)
        return q, path

    def in_numpy(move: Any, state: Any, _: Any, count: int) -> Any:
        for _ in range(count):
            state, _ = move(state, None)
        return state, None

    def end(q0: Any, qd0: Any, tau: Any) -> Any:
        return rolled(q0, qd0, tau, kernel.jax.forward_dynamics, lax.scan)[0]

    expected, _ = rolled(q0, qd0, tau, kernel.forward_dynamics, in_numpy)
    np.testing.assert_allclose(jax.jit(end)(q0, qd0, tau), expected, rtol=1e-12)
    check_grads(jax.jit(end), (q0, qd0, tau), order=2, modes=("fwd", "rev"), eps=1e-4, rtol=1e-5)
    saved = jax.checkpoint(kernel.jax.forward_dynamics)
    again = jax.grad(lambda q: rolled(q, qd0, tau, saved, lax.scan)[0].sum())(q0)
    np.testing.assert_allclose(again, jax.grad(lambda q: end(q, qd0, tau).sum())(q0), rtol=1e-12)


def test_fused_functions_come_by_name(kernel: Kernel) -> None:
    given = states(3, 2, 3)
    names = ["inverse_dynamics", "inertia_matrix"]
    made, expected = kernel.jax.fused(names)(*given), kernel.fused(names)(*given)
    assert made.keys() == expected.keys()
    assert all(np.array_equal(made[key], expected[key]) for key in made)
    check_grads(kernel.jax.fused(names), given, order=1)


def test_float32_without_and_with_float64(kernel: Kernel) -> None:
    single = fa.compile(kernel.arm, dtype="float32")
    given: Any = [x.astype("float32") for x in states(3, 2, 3)]
    expected = single.inverse_dynamics(*given)
    for switched in (False, True):
        jax.config.update("jax_enable_x64", switched)
        made = single.jax.inverse_dynamics(*given)
        assert made.dtype == np.float32
        assert np.array_equal(made, expected)
        check_grads(single.jax.inverse_dynamics, given, order=1, eps=1e-2, rtol=2e-2, atol=2e-2)


def test_nothing_known_comes_of_what_is_not(kernel: Kernel) -> None:
    q, qd, qdd = states(3, 4, 3)
    q[2, 1] = np.nan
    made = jax.jit(kernel.jax.inverse_dynamics)(q, qd, qdd)
    assert np.isnan(made).all(axis=1).tolist() == [False, False, True, False]


def test_jit_may_be_switched_off(kernel: Kernel) -> None:
    q = np.array([[0.3, -0.7, 1.1], [0.2, 0.4, -0.9]])
    slope = jax.grad(lambda q: kernel.jax.gravity(q).sum())
    with jax.disable_jit():
        assert np.array_equal(kernel.jax.gravity(q), kernel.gravity(q))
        made = slope(q)
        run = fa.compile(kernel.arm.rigid()).jax.simulate(q, q, steps=3, step=0.01)
    np.testing.assert_allclose(made, slope(q), rtol=ROUNDING)
    assert np.array_equal(run.q, fa.compile(kernel.arm.rigid()).simulate(q, q, steps=3, step=0.01).q)


def test_arrays_may_be_donated(kernel: Kernel) -> None:
    q = jnp.asarray(states(1, 6, 3)[0])
    expected = kernel.gravity(np.asarray(q))
    made = jax.jit(kernel.jax.gravity, donate_argnums=0)(q)
    assert np.array_equal(made, expected)


MISTAKES: dict[str, Callable[[Any], object]] = {
    "q: 'random4' has 3 joints, expected shape (..., 3), got (4,)": lambda k: k.gravity(np.zeros(4)),
    "inverse_dynamics: leading axes do not broadcast: q (2,), qd (3,), qdd ().": lambda k: k.inverse_dynamics(
        np.zeros((2, 3)), np.zeros((3, 3)), 0.0
    ),
    "bias: expected q, qd, got 1 of them.": lambda k: k.bias(np.zeros(3)),
    "bias: expected q, qd, got 1 of them and speed=.": lambda k: k.bias(np.zeros(3), speed=1),
    "q: expected an array of real numbers, got 'zero'.": lambda k: k.gravity("zero"),
    "q: expected real numbers, got an array of complex128.": lambda k: k.gravity(np.zeros(3) * 1j),
    'q: this kernel computes in float64, got an array of float32; use q.astype("float64"), or '
    'fa.compile(arm, dtype="float32").': lambda k: k.gravity(np.zeros(3, dtype="float32")),
    'got an array of bfloat16; use q.astype("float64").': lambda k: k.gravity(jnp.zeros(3, "bfloat16")),
    "parameters: this kernel has no open parameters": lambda k: k.gravity(np.zeros(3), parameters=[1.0]),
    "fused: expected the names of functions": lambda k: k.fused([]),
    "got 'gravty'; did you mean 'gravity'?": lambda k: k.fused(["gravty"]),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_told(kernel: Kernel, message: str) -> None:
    with pytest.raises(InputError) as caught:
        MISTAKES[message](kernel.jax)
    assert message in str(caught.value)


def test_wrong_parameters_are_told(opened: Kernel) -> None:
    with pytest.raises(
        InputError, match=r"parameters: 4 are left open; expected shape \(4,\), or \(..., 4\)"
    ):
        opened.jax.gravity(np.zeros(3), parameters=np.zeros(3))
    with pytest.raises(InputError, match="parameters left open: "):
        opened.jax.gravity(np.zeros(3), parameters={"weight": 1.0})


def test_switched_off_float64_is_told_with_both_remedies(kernel: Kernel) -> None:
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(InputError) as caught:
        kernel.jax.gravity(np.zeros(3))
    assert str(caught.value) == (
        "q: this kernel computes in float64, which JAX disables by default, got float32; "
        'call jax.config.update("jax_enable_x64", True) before creating arrays, or use '
        'fa.compile(arm, dtype="float32").'
    )


def test_functions_are_copied_and_pickled(kernel: Kernel) -> None:
    q = np.array([0.3, -0.7, 1.1])
    expected = kernel.gravity(q)
    both = kernel.jax.fused(["gravity", "jacobian"])
    assert np.array_equal(kernel.jax.gravity(q), expected)
    ways: list[Callable[[Any], Any]] = [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
    for there_and_back in ways:
        assert np.array_equal(there_and_back(kernel.jax).gravity(q), expected)
        assert np.array_equal(there_and_back(kernel.jax.gravity)(q), expected)
        assert np.array_equal(there_and_back(both)(q)["gravity"], expected)


def test_names(kernel: Kernel) -> None:
    assert set(FUNCTIONS) <= set(dir(kernel.jax))
    assert repr(kernel.jax.bias) == "<bias(q, qd) of 'random4' for JAX>"
    with pytest.raises(AttributeError, match="inverse_dynamics"):
        kernel.jax.inverse_dynamic  # noqa: B018
    assert not hasattr(kernel.jax, "_unknown")


def test_functions_that_are_not_linear_are_not_transposed(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="gravity of 'random4' is not linear"):
        jax.linear_transpose(kernel.jax.gravity, np.zeros(3))(np.zeros(3))


def test_other_platforms_are_refused(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="kernels support cpu and cuda, got tpu"):
        jax.jit(kernel.jax.gravity).trace(jnp.zeros(3)).lower(lowering_platforms=("tpu",))


SHARDED = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
import forearm as fa
from jax.sharding import Mesh, NamedSharding, PartitionSpec
kernel, rng = fa.compile(fa.load("ascher2")), np.random.default_rng(0)
n = kernel.arm.n
given = rng.uniform(-1.0, 1.0, (3, 10, n))
for mesh in (jax.make_mesh((2,), ("states",)), Mesh(jax.devices(), ("states",))):
    rows = NamedSharding(mesh, PartitionSpec("states"))
    sharded = [jax.device_put(x, rows) for x in given]
    function = jax.jit(kernel.jax.inverse_dynamics)
    made = function(*sharded)
    assert made.sharding.is_equivalent_to(rows, 2), made.sharding
    text = function.lower(*sharded).compile().as_text()
    assert "all-gather" not in text, text
def mapped(*x):
    spec = PartitionSpec("states")
    function = lambda q: kernel.jax.inverse_dynamics(q, x[1][0], 0.1)
    return jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec)(x[0])
def alone(*x):
    return kernel.jax.inverse_dynamics(x[0], x[1][0], 0.1)
assert np.array_equal(mapped(*given), alone(*given))
slopes = [jax.grad(lambda *x: (f(*x) ** 2).sum(), argnums=(0, 1))(*given[:2]) for f in (mapped, alone)]
for a, b in zip(*slopes):
    assert np.allclose(a, b, rtol=1e-12)
assert np.array_equal(made, kernel.inverse_dynamics(*given))
print("as one")
"""


def test_a_batch_that_is_sharded_stays_where_it_is() -> None:
    done = subprocess.run([sys.executable, "-c", SHARDED], capture_output=True, text=True, check=False)
    assert done.stdout == "as one\n", done.stderr


KEPT = """
import sys
import jax
from jax import monitoring
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
for least in ("min_compile_time_secs", "min_entry_size_bytes"):
    jax.config.update(f"jax_persistent_cache_{least}", 0)
hits = []
monitoring.register_event_listener(lambda name, **_: hits.append(name) if "cache_hit" in name else None)
import numpy as np
import forearm as fa
k, q = fa.compile(fa.load("ascher2")), np.array([[0.3, 0.2], [0.1, -0.4]])
made = jax.jit(jax.grad(lambda q: k.jax.gravity(q).sum()))(q)
print(np.asarray(made).tobytes().hex(), len(hits))
"""


def test_programs_that_jax_keeps_on_disk_find_their_functions_again(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KEPT, str(tmp_path)]
    first, then = (subprocess.check_output(command, text=True).split() for _ in range(2))
    assert first[0] == then[0]
    assert (first[1], then[1]) == ("0", "1")
