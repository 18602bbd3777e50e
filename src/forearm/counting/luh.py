"""Newton-Euler by the accounting that yields the printed counts of Luh, Walker and Paul, 150n - 48
multiplications and 131n - 48 additions. Swartz (1)-(10); Dhanaraj Table 1.1, Mata Table 1.

Their paper is not at hand; this accounting was found by trial. A rotation takes 9 mul and 6 add, a product of
vectors 6 and 3, w x (w x p) as w (w p) - p (w w) 12 and 7, a sum of vectors 3 add, whatever is 0 in them.
The velocities of (3) count though no torque needs them, and (10) does not count. Only the motion of the base
(w and its derivative) and the force and moment beyond the hand are omitted as 0.
"""

from __future__ import annotations

import numpy as np

from forearm.counting.counts import GENERAL, Convention, CountedRun, conventional
from forearm.counting.mata import CountedChain
from forearm.counting.models import chain
from forearm.model import Array, Note, cross, silent, steps
from forearm.symbols.counts import Counts
from forearm.symbols.recorder import Recorder


def run_luh(n: int) -> CountedRun:
    """The recursion for n revolute joints with standard parameters, over recording scalars."""
    graph = Recorder()
    model = conventional(chain(n, dh="standard").model(), graph, Convention(dense=True))
    at = steps(model, graph.inputs("q", n))
    on = CountedChain(model, at, graph.inputs("qd", n), graph.inputs("qdd", n), -model.g[2], graph)
    noted = []
    moments, unused = moments_of_luh(on, lambda *given: noted.append(given))
    return CountedRun(graph, [moments, unused], noted, GENERAL)


def count_luh(n: int) -> Counts:
    """The operations of `run_luh`."""
    return run_luh(n).counts


def moments_of_luh(on: CountedChain, note: Note = silent) -> tuple[list[Array], list[Array]]:
    """n_i of every link, in its axes, and the values that no torque needs: tau_i = n_i . (A Z0) by (10)."""
    at, bodies = on.at, on.model.bodies
    levers, arms = [on.given(body.s) for body in bodies], [on.given(body.r) for body in bodies]
    still = np.zeros(3)
    w, wd, v, a = still, still, on.opened(still), on.opened(np.array([0.0, 0.0, on.gravity]))
    F, N, unused = [], [], []
    for i, body in enumerate(bodies):
        step, p, s = at[i], levers[i], arms[i]
        spin, change = on.given(body.z * on.qd[i]), on.given(body.z * on.qdd[i])  # Z0 qd, Z0 qdd in link axes
        w_in = step.down(w)
        w = w_in + spin  # (1)
        note("w", i, w)
        wd = step.down(wd) + change + cross(w_in, spin)  # (2)
        note("wd", i, wd)
        v = cross(w, p) + step.down(v)  # (3)
        note("v", i, v)
        unused.append(v)
        a = cross(wd, p) + centripetal(w, p) + step.down(a)  # (4)
        note("vd", i, a)
        ac = cross(wd, s) + centripetal(w, s) + a  # (5)
        note("vd*", i, ac)
        F.append(body.m * ac)  # (6)
        note("F", i, F[i])
        N.append(body.I @ wd + cross(w, body.I @ w))  # (7)
        note("N", i, N[i])

    f, n, R = still, still, on.opened(on.model.R_hand)
    moments: list[Array] = []
    for i in reversed(range(len(bodies))):
        lever = R.T @ levers[i]  # at the hand too, where f is 0
        n = R @ (n + cross(lever, f)) + cross(levers[i] + arms[i], F[i]) + N[i]  # (9)
        note("n", i, n)
        moments.insert(0, n)
        f = R @ f + F[i]  # (8)
        note("f", i, f)
        unused += [lever, f]
        R = at[i].R
    return moments, unused


def centripetal(w: Array, p: Array) -> Array:
    """w x (w x p)."""
    along = w @ p
    return w * along - p * (w @ w)
