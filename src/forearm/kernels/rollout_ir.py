"""A simulation as machine code: fixed steps of an explicit method, one lane per simulation, no Python."""

from __future__ import annotations

from typing import Any

from forearm.codegen.functions import Traced
from forearm.codegen.simulation_step import (
    STATES,
    TracedPlant,
    traced_accelerations,
    traced_requirement,
    traced_step,
)
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.kernels.ir import compute, function_text, module_text, result
from forearm.kernels.llvm import IRFunction, Value
from forearm.kernels.transpose import load_columns, store_columns
from forearm.kernels.vectors import Body, InMemory, Target

RECORDED = ("q", "qd")
COUNTS = ("count", "steps", "every", "u_state", "u_step")


def plant_text(name: str, plant: TracedPlant, tableau: tuple[Any, ...], target: Target) -> str:
    """The module of one function: `rollout` by the method of a tableau, `accelerate`, or, where friction can
    hold a joint, `require`.

    `void rollout(q, qd, friction_sign, is_free, load_guess, contact, u, out_q, out_qd, count, steps, every,
    u_state, u_step, h, slope)`: count simulations, states (count, m) in and out, inputs (n) at u + state
    u_state + step u_step, and a record (count, steps / every + 1, m) for each output; `slope` is 0 if inputs
    are held and 1 if they are interpolated linearly.
    `void accelerate(q, qd, u, friction_sign, is_free, contact, out, count)`, `void require(q, qd, u,
    friction_sign, contact, out, count)`: on rows of states.
    """
    if name == "rollout":
        text = _Rollout(traced_step(plant, ExplicitMethod(*tableau)), target).text()
    else:
        traced = traced_accelerations(plant) if name == "accelerate" else traced_requirement(plant)
        text = function_text(name, traced, target)
    return module_text([text], target)


class _Rollout:
    """The loop over blocks of simulations, and over the steps of each."""

    def __init__(self, traced: Traced, target: Target) -> None:
        self.traced, self.target = traced, target
        self.widths = {a.name: a.size for a in traced.outputs if a.size}
        self.count, self.inputs = self.widths["q"], next(a.size for a in traced.inputs if a.name == "u")
        pointers = dict.fromkeys([*STATES, "u", *(f"out_{name}" for name in RECORDED)], "ptr")
        numbers = dict.fromkeys(COUNTS, "i64") | dict.fromkeys(("h", "slope"), target.scalar)
        self.f = IRFunction("rollout", pointers | numbers)
        self.given = dict(zip([*pointers, *numbers], self.f.arguments, strict=True))
        self.body = Body(target, f=self.f)
        for name, size in self.widths.items():
            self.body.space(f"%lanes.{name}", size * target.lanes)
            self.body.space(f"%rows.{name}", size * target.lanes)

    def text(self) -> str:
        """The complete text."""
        f, body, given, lanes = self.f, self.body, self.given, self.target.lanes
        h, slope = (body.spread(given[name]) for name in ("h", "slope"))
        records = given["steps"] // given["every"] + 1
        with f.loop(0, given["count"], lanes) as at:
            left = given["count"] - at
            some = f.chosen(left >= lanes, lanes, left)
            there = {name: f.at(given[name], at, self.target.scalar, m) for name, m in self.widths.items()}
            sizes = {name: some * m for name, m in self.widths.items()}
            for name, m in self.widths.items():
                f.call("copied", f"%rows.{name}", there[name], sizes[name], m * lanes)
                body.keep(f"%lanes.{name}", load_columns(body, f"%rows.{name}", m))
            first = at * records
            self._record(some, first, records)
            with f.loop(0, given["steps"]) as k:
                self._step(*self._inputs(at, some, k, slope), h)
                after = k + 1
                with f.when((after % given["every"]).equals(0)):
                    self._record(some, first + after // given["every"], records)
            for name, m in self.widths.items():
                self._to_rows(name, m)
                f.call("copied", there[name], f"%rows.{name}", sizes[name], sizes[name])
        f.ret()
        return f.text()

    def _step(self, u: list[Value], change: list[Value], h: Value) -> None:
        """Emit the traced step, reading from the lanes and writing back to them."""
        body, traced = self.body, self.traced
        lanes = self.target.lanes
        held: dict[str, list[Any]] = {
            name: [InMemory(f"%lanes.{name}", j * lanes) for j in range(m)] for name, m in self.widths.items()
        }
        held |= {"u": u, "change": change, "h": [h]}
        places = {leaf: place for place, leaf in traced.graph.leaves.items()}
        values = {places[f"{name}[{j}]"]: x for name, some in held.items() for j, x in enumerate(some)}
        compute(body, traced.graph, traced.results, values)
        made = {name: [result(body, e, values) for e in traced.results[name]] for name in self.widths}
        for name, some in made.items():
            body.keep(f"%lanes.{name}", some)

    def _inputs(self, at: Value, some: Value, k: Value, slope: Value) -> tuple[list[Value], list[Value]]:
        """The inputs of a step, and their change until the next."""
        f, body, scalar = self.f, self.body, self.target.scalar
        so_far, pointers = k * self.given["u_step"], []
        for lane in range(self.target.lanes):
            row = f.chosen(some > lane, at + lane, at)
            place = row * self.given["u_state"] + so_far
            pointers.append(f.at(self.given["u"], place, scalar))
        ahead = [f.at(pointer, self.given["u_step"], scalar) for pointer in pointers]
        now, then = (
            [body.joined([body.load(p, j, 1) for p in rows], 1) for j in range(self.inputs)]
            for rows in (pointers, ahead)
        )
        changes = [b - a for a, b in zip(now, then, strict=True)]
        return now, [change * slope for change in changes]

    def _record(self, some: Value, first: Value, records: Value) -> None:
        """Store positions and velocities in their rows, the first lane's at `first`."""
        f, n, scalar = self.f, self.count, self.target.scalar
        for name in RECORDED:
            self._to_rows(name, n)
            with f.loop(0, some) as lane:
                row = first + lane * records
                to = f.at(self.given[f"out_{name}"], row, scalar, n)
                f.call("copied", to, f.at(f"%rows.{name}", lane, scalar, n), n, n)

    def _to_rows(self, name: str, size: int) -> None:
        store_columns(self.body, f"%rows.{name}", self.body.vectors(f"%lanes.{name}", size), size)
