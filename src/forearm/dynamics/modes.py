"""Natural frequencies and mode shapes of an arm with elastic joints at a configuration: M xdd + C xd + K x =
0, linearised about rest, with motors locked and with motors free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.elastic import expanded, has_spinning_rotors, link_side
from forearm.drives.elasticity import deflection_of, pressed, spring_stiffness
from forearm.drives.joint import drives_of
from forearm.dynamics.elastic import ElasticDrive, check_elastic, elastic_drives, gaps_of
from forearm.dynamics.forward import singular
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.reference import gravity as gravity_torques
from forearm.dynamics.reference import inertia_matrix
from forearm.dynamics.taylor import Taylor
from forearm.errors import InputError
from forearm.kinematics.arguments import one_state
from forearm.model import model_of
from forearm.spatial import Flags, Floats
from forearm.tables import Report, number
from forearm.values import frozen

ROUNDING = 1e-13  # of the largest eigenvalue: less than this is 0
SAME = 1e-6  # of a unit motion: a smaller remainder is already spanned by the others


@frozen
class ModeSet:
    """Modes in order of increasing frequency, one row each.

    Attributes:
        frequency_hz: undamped natural frequencies (m,), Hz; negative where gravity exceeds the stiffness: the
            arm does not oscillate but diverges, by a factor e in 1 / (2 pi |f|) s.
        damping_ratio: (m,), 1 for critical damping; NaN if the frequency is not above 0.
        links: joint amplitudes (m, n); the largest entry of a mode, links and rotors together, is 1 or -1,
            the first entry of at least half of that is positive.
        rotors: amplitudes of the rotors of elastic joints (m, e), as motor angle / N.
        is_rigid: (m,), whether a mode is a rigid-body mode; n of them with motors free.
    """

    frequency_hz: Floats
    damping_ratio: Floats
    links: Floats
    rotors: Floats
    is_rigid: Flags

    def _report(self, title: str, joints: tuple[str, ...], rotors: tuple[str, ...]) -> Report:
        shown = [*joints, *(f"rotor of {name}" for name in rotors if self.rotors.any())]
        rows = []
        for k, f in enumerate(self.frequency_hz):
            shape = [*self.links[k], *(self.rotors[k] if self.rotors.any() else ())]
            what = "falls" if f < 0.0 else "rigid body" if self.is_rigid[k] else "elastic"
            ratio = None if np.isnan(self.damping_ratio[k]) else float(self.damping_ratio[k])
            figures = [number(float(f), 4), number(ratio, 3), *(f"{round(x, 3) + 0.0:.3f}" for x in shape)]
            rows.append([str(k + 1), what, *figures])
        return Report(["mode", "what", "Hz", "damping ratio", *shown], rows, title)


@frozen
class Modes:
    """Modes of an arm with elastic joints at a configuration.

    Attributes:
        arm: name of the arm.
        joints: names of the joints, in the order of q.
        rotors: names of the elastic joints, in the order of rotors.
        q: the configuration (n,), rad (m).
        load: torques in the springs there (e,), N m (N).
        stiffness: spring stiffness at that load (e,), N m / rad (N / m).
        locked: modes with all motors locked, rigid joints included: one per elastic joint.
        free: modes with all motors free, n + e, of which n are rigid-body modes.
        notes: remarks on the result.
    """

    arm: str
    joints: tuple[str, ...]
    rotors: tuple[str, ...]
    q: Floats
    load: Floats
    stiffness: Floats
    locked: ModeSet
    free: ModeSet
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> Report:
        """The modes as tables."""
        least = ROUNDING * np.abs(self.load).max()
        springs = [
            [name, number(float(y) if abs(y) > least else 0.0, 5), number(float(k), 5)]
            for name, y, k in zip(self.rotors, self.load, self.stiffness, strict=True)
        ]
        header = ["spring", "load N m (N)", "stiffness N m/rad (N/m)"]
        at = " ".join(number(float(x), 4) for x in self.q)
        parts = [
            self.locked._report("Motors locked", self.joints, ()),
            self.free._report("Motors free", self.joints, self.rotors),
        ]
        if self.notes:
            parts.append(Report(after=[f"- {note}" for note in self.notes], under="  "))
        return Report(header, springs, f"Modes of {self.arm} at q = {at}", parts=parts)

    def __str__(self) -> str:
        return self.report.text()

    def _repr_html_(self) -> str:
        return self.report.html()


def modes(arm: Arm, q: ArrayLike, load: ArrayLike | None = None, gravity: bool = True) -> Modes:
    """Natural frequencies, damping ratios and mode shapes of an arm with elastic joints, at rest.

    Springs have the stiffness of their curve at the present load. Gravity's stiffness dg/dq is that of the
    equilibrium at q; with motors free their torques are constant, so that under gravity the arm oscillates or
    diverges as a whole where it would be at rest without. Damping ratios are those of each undamped mode by
    itself, phi^T C phi / (2 omega) with C from the springs' damping and viscous friction, which is accurate
    for light damping. Dry friction, bristles and gear losses are not included.

    Args:
        arm: an arm with elastic joints.
        q: joint coordinates (n,), rad (m).
        load: torques in the springs, (n,) or one number, N m (N); those of rigid joints are ignored; None:
            the torques that hold the arm at q against gravity.
        gravity: whether gravity's stiffness is included; without it n modes with motors free have frequency
            0.
    """
    check_elastic(arm, "modes")
    given = {} if load is None else {"load": load}
    q, *loads = one_state(arm, "modes", q=q, **given)
    if not all(np.isfinite(x).all() for x in (q, *loads)):
        raise InputError("q and load must be finite numbers.", "modes")
    springs, n = elastic_drives(arm), arm.n
    own = [spring.freedom for spring in springs]
    carried = (loads[0] if loads else gravity_torques(link_side(arm), q))[own]
    K = np.array([_stiffness(s, y) for s, y in zip(springs, carried.tolist(), strict=True)])
    M, C = _inertia(arm, q, springs), _damping(arm, springs)
    G = gravity_stiffness(arm, q) if gravity else np.zeros((n, n))
    # the effect of springs on links and rotors: K or D times (rotor - link)
    pull = np.concatenate([-np.eye(n)[own], np.eye(len(own))], axis=1)
    D = np.array([spring.elasticity.damping for spring in springs])
    stiffness, damping = pull.T @ (K[:, None] * pull), C + pull.T @ (D[:, None] * pull)
    stiffness[:n, :n] += G
    held = np.ix_(own, own)
    of_links, of_rotors = np.split(np.eye(n + len(own)), [n], axis=1)
    joints = tuple(joint.name for joint in arm.joints)
    return Modes(
        arm.name,
        joints,
        tuple(joints[j] for j in own),
        q,
        carried,
        K,
        _mode_set(arm, q, (M[held], stiffness[held], damping[held]), of_links[own], 0.0 * of_rotors[own], 0),
        _mode_set(arm, q, (M, stiffness, damping), of_links, of_rotors, n),
        tuple(_notes(arm, n - len(own))),
    )


def gravity_stiffness(arm: Arm, q: Floats) -> Floats:
    """dg/dq of the links, (n, n): the change of the gravity torques with the configuration.

    Args:
        arm: the arm.
        q: joint coordinates (n,).
    """
    model = model_of(link_side(arm))
    moved = [Taylor(np.full(arm.n, x), unit) for x, unit in zip(q, np.eye(arm.n), strict=True)]
    rest = [0.0] * len(model.bodies)
    torques = model.gathered(newton_euler(model, model.coordinates(moved), rest, rest))
    rates = [torque.rate if isinstance(torque, Taylor) else 0.0 for torque in torques]
    G = np.array([np.broadcast_to(rate, arm.n) for rate in rates], dtype=np.float64).reshape(arm.n, arm.n)
    return np.asarray(0.5 * (G + G.T))


def _stiffness(spring: ElasticDrive, load: float) -> float:
    """The stiffness of a spring under a load, with backlash at its flank."""
    elasticity = spring.elasticity
    return float(spring_stiffness(elasticity, pressed(elasticity, deflection_of(elasticity, load))))


def _inertia(arm: Arm, q: Floats, springs: list[ElasticDrive]) -> Floats:
    """M of links and rotors together."""
    if has_spinning_rotors(arm):
        return inertia_matrix(expanded(arm), np.concatenate([q, q[[s.freedom for s in springs]]]))
    n, e = arm.n, len(springs)
    M = np.zeros((n + e, n + e))
    M[:n, :n] = inertia_matrix(link_side(arm), q)
    M[n:, n:] = np.diag([float(spring.motor.rotor) for spring in springs])
    return M


def _damping(arm: Arm, springs: list[ElasticDrive]) -> Floats:
    """Viscous friction at links and rotors, without springs."""
    viscous = np.zeros(arm.n + len(springs))
    for drive in drives_of(link_side(arm)):
        viscous[drive.freedom] += drive.multiplier**2 * drive.at_joint.viscous
    for k, spring in enumerate(springs):
        viscous[arm.n + k] = spring.motor.at_joint.viscous
    return np.diag(viscous)


def _mode_set(
    arm: Arm, q: Floats, matrices: tuple[Floats, ...], links: Floats, rotors: Floats, rigid: int
) -> ModeSet:
    """The modes of M, K and C, lowest first, with normalised shapes, expanded from the solved coordinates to
    links and rotors; so many are rigid-body modes.
    """
    M, K, C = matrices
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise singular(link_side(arm), q) from None
    inverse = np.linalg.inv(L)
    A = inverse @ K @ inverse.T
    squares, turned = np.linalg.eigh(0.5 * (A + A.T))
    squares[np.abs(squares) <= ROUNDING * np.abs(squares).max()] = 0.0
    shapes = inverse.T @ turned
    none = squares == 0.0
    shapes[:, none] = _in_order(shapes[:, none], M)
    with np.errstate(all="ignore"):
        ratios = np.einsum("ik,ij,jk->k", shapes, C, shapes) / (2.0 * np.sqrt(squares))
    rows = shapes.T / np.abs(shapes).max(axis=0)[:, None]
    first = np.argmax(np.abs(rows) >= 0.5, axis=1)
    rows = rows * np.sign(rows[np.arange(len(rows)), first])[:, None]
    frequency = np.sign(squares) * np.sqrt(np.abs(squares)) / (2.0 * np.pi)
    ratios = np.where(squares > 0.0, ratios, np.nan)
    return ModeSet(frequency, ratios, rows @ links, rows @ rotors, np.arange(len(rows)) < rigid)


def _in_order(shapes: Floats, M: Floats) -> Floats:
    """Choose a unique basis of modes with one frequency: M-orthonormal, nearest to a motion of the first
    joint, then of the second, and so on.
    """
    made: list[Floats] = []
    for unit in np.eye(len(M)):
        if len(made) == shapes.shape[1]:
            break
        part = shapes @ (shapes.T @ (M @ unit))
        for _ in range(2):  # twice is enough for rounding
            for other in made:
                part = part - other * (other @ M @ part)
        size = np.sqrt(part @ M @ part)
        if size > SAME * np.sqrt(unit @ M @ unit):
            made.append(part / size)
    return np.array(made).T if len(made) == shapes.shape[1] and made else shapes


def _notes(arm: Arm, rigid: int) -> list[str]:
    gaps = gaps_of(arm)
    notes = {
        f"backlash of {', '.join(gaps)}: these are the modes at a flank, with the gap closed; between the "
        "flanks there is no stiffness, and small vibrations through the gap have a lower frequency": gaps,
        "joints without elasticity are fixed while motors are locked, and move with their rotors while "
        "motors are free": rigid,
    }
    return [note for note, applies in notes.items() if applies]
