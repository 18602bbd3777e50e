"""Joint 3 of three that position a point, the other two eliminated: an equation of degree one, two or four.
Pieper 1968.

With x the unknown, E(x) = sum of weight form(x)^2 + form(x) = 0, where a form is k0 + k1 cos x + k2 sin x for
a revolute joint and k0 + k1 x + k2 x^2 for a prismatic one; only k0 depends on the pose. If all forms depend
on the same combination of k1 and k2, as with parallel or meeting axes, E is a quadratic in it and square
roots suffice.
"""

from __future__ import annotations

from forearm.kinematics.closed_form.geometry import Position
from forearm.kinematics.closed_form.linear import Scalar
from forearm.kinematics.closed_form.subproblems import Turn, about, fixed_turn, quadratic
from forearm.portable import atan2, hypot
from forearm.portable import total as summed
from forearm.values import frozen

Form = tuple[Scalar, float, float]

# Relative size below which coefficients of a form are negligible.
NOTHING = 1e-11


@frozen
class Carried:
    """The point after joint 2 as forms of joint 3: along x, y, z and the square of its length."""

    x: Form
    y: Form
    z: Form
    square: Form


@frozen
class Equation:
    """E(x) = sum of weight form^2 over `squares` + `rest`."""

    squares: tuple[tuple[float, Form], ...]
    rest: Form


def carried(position: Position) -> Carried:
    """The point in the frame of joint 2 (rotated by its angle, or by its constant turn if prismatic)."""
    ux, uy, uz = position.u
    a, c, s = position.second.a, position.second.c, position.second.s
    if position.revolute[2]:
        return Carried(
            x=(a, ux, -uy),
            y=(-s * uz, c * uy, c * ux),
            z=(c * uz, s * uy, s * ux),
            square=(a * a + ux * ux + uy * uy + uz * uz, 2.0 * a * ux, -2.0 * a * uy),
        )
    x, y, z = a + ux, c * uy - s * uz, s * uy + c * uz
    return Carried(
        (x, 0.0, 0.0), (y, -s, 0.0), (z, c, 0.0), (x * x + y * y + z * z, 2.0 * (z * c - y * s), 1.0)
    )


def equation(position: Position, px: Scalar, py: Scalar, pz: Scalar) -> Equation:
    """Joints 1 and 2 eliminated, for the point (px, py, pz) in the frame of the first axis."""
    f, link, d = carried(position), position.first, position.second.d
    a, c, s = link.a, link.c, link.s
    height = plus(f.z, d)  # g_z, if joint 2 is revolute
    if position.revolute[:2] == (True, True):
        # |p|^2 = |g|^2 + a^2 + 2 a g_x and p_z = s g_y + c g_z, with g_x^2 + g_y^2 = |f|^2 - f_z^2.
        far = minus(px * px + py * py + pz * pz - a * a - d * d, total(f.square, times(2.0 * d, f.z)))
        up = minus(pz, times(c, height))
        if a == 0.0:
            return Equation((), far)
        if s == 0.0:
            return Equation((), up)
        w = 4.0 * a * a
        return Equation(((s * s, far), (w, up), (w * s * s, f.z)), times(-w * s * s, f.square))
    if position.revolute[:2] == (False, True):
        # p_x = a + g_x and p_y = c g_y - s g_z.
        aside = plus(times(s, height), py)
        if c == 0.0:
            return Equation((), aside)
        across = px - a
        return Equation(
            ((1.0, aside), (c * c, f.z)), plus(times(-c * c, f.square), c * c * (across * across))
        )
    gx, gy = turned(position, f)
    if position.revolute[:2] == (True, False):
        # p_x^2 + p_y^2 = (a + g_x)^2 + (c g_y - s g_z)^2 and p_z = s g_y + c g_z.
        level = plus(gy, -s * pz)
        if c == 0.0:
            return Equation((), level)
        return Equation(((-c * c, plus(gx, a)), (-1.0, level)), (c * c * (px * px + py * py), 0.0, 0.0))
    return Equation((), plus(times(-1.0, gx), px - a))


def turned(position: Position, f: Carried) -> tuple[Form, Form]:
    """g_x and g_y for a prismatic joint 2: the point rotated by its constant angle."""
    t = fixed_turn(position.turns[1])
    return total(times(t.c, f.x), times(-t.s, f.y)), total(times(t.s, f.x), times(t.c, f.y))


def one_combination(forms: list[Form]) -> tuple[float, float] | None:
    """The unit combination (k1, k2) shared by all forms, (0, 0) if none depends on x, or None."""
    longest = max(forms, key=lambda form: hypot(form[1], form[2]))
    size = hypot(longest[1], longest[2])
    if size == 0.0:
        return 0.0, 0.0
    k1, k2 = longest[1] / size, longest[2] / size
    if any(abs(form[1] * k2 - form[2] * k1) > NOTHING * size for form in forms):
        return None
    return k1, k2


def needs_quartic(position: Position) -> bool:
    """Whether joint 3 needs a quartic: no two of the three axes are suitably parallel or intersecting."""
    E = equation(position, 0.1, 0.2, 0.3)  # any pose: it enters k0 only
    return (
        not is_quadratic_slide(position, E)
        and one_combination([E.rest, *(form for _, form in E.squares)]) is None
    )


def third_joint(position: Position, px: Scalar, py: Scalar, pz: Scalar) -> list[Turn]:
    """Every candidate for joint 3 by square roots; for a prismatic joint `angle` is its coordinate, c and s
    are those of its turn.
    """
    E = equation(position, px, py, pz)
    if is_quadratic_slide(position, E):
        return [slid(position, x) for x in slides_of(E)]
    combination = one_combination([E.rest, *(form for _, form in E.squares)])
    assert combination is not None, "a quartic: see quartic.py"
    k1, k2 = combination
    values = [form_of(form, k1, k2) for _, form in E.squares]
    rest = form_of(E.rest, k1, k2)
    e0 = summed((w * (k * k) for (w, _), (k, _) in zip(E.squares, values, strict=True)), rest[0])
    e1 = summed(((2.0 * w * m) * k for (w, _), (k, m) in zip(E.squares, values, strict=True)), rest[1])
    e2 = float(summed(w * m * m for (w, _), (_, m) in zip(E.squares, values, strict=True)))
    levels = one_or_two_roots(e0, e1, e2, max((abs(w) for w, _ in E.squares), default=1.0))
    if position.revolute[2]:
        middle = fixed_turn(atan2(k2, k1))
        return [turn for level in levels for turn in about(middle, level)]
    # k1 x + k2 x^2 = level
    return [
        slid(position, x)
        for level in levels
        for x in (quadratic(-level, k1, k2) if k2 else (level * (1.0 / k1),))
    ]


def is_quadratic_slide(position: Position, E: Equation) -> bool:
    """Whether joint 3 is prismatic and the squared forms are linear in it, so that E is of degree one or
    two.
    """
    return not position.revolute[2] and all(form[2] == 0.0 for _, form in E.squares)


def slides_of(E: Equation) -> tuple[Scalar, ...]:
    """The roots of E for a prismatic joint with linear squared forms."""
    e0 = summed((w * (k0 * k0) for w, (k0, _, _) in E.squares), E.rest[0])
    e1 = summed(((2.0 * w * k1) * k0 for w, (k0, k1, _) in E.squares), E.rest[1])
    e2 = float(summed((w * k1 * k1 for w, (_, k1, _) in E.squares), E.rest[2]))
    return one_or_two_roots(e0, e1, e2, 1.0)


def one_or_two_roots(e0: Scalar, e1: Scalar, e2: float, size: float) -> tuple[Scalar, ...]:
    """The roots of e0 + e1 x + e2 x^2, a single one if e2 is negligible relative to `size`."""
    if abs(e2) > NOTHING * size:
        return quadratic(e0, e1, e2)
    return (-e0 * (1.0 / e1) if isinstance(e1, float) else -e0 / e1,)


def slid(position: Position, x: Scalar) -> Turn:
    """A prismatic coordinate with the cosine and sine of the constant turn after it."""
    turn = fixed_turn(position.turns[2])
    return Turn(x, turn.c, turn.s)


def value(form: Form, position: Position, third: Turn) -> Scalar:
    """The form at a value of joint 3."""
    k0, k1, k2 = form
    if position.revolute[2]:
        return k0 + k1 * third.c + k2 * third.s
    x = third.angle
    return k0 + k1 * x + (k2 * (x * x) if k2 else 0.0)


def form_of(form: Form, k1: float, k2: float) -> tuple[Scalar, float]:
    """(k0, m) with the form being k0 + m times the common combination."""
    return form[0], form[1] * k1 + form[2] * k2


def plus(form: Form, constant: Scalar) -> Form:
    """form + constant."""
    return form[0] + constant, form[1], form[2]


def minus(constant: Scalar, form: Form) -> Form:
    """constant - form."""
    return constant - form[0], -form[1], -form[2]


def times(factor: float, form: Form) -> Form:
    """factor form."""
    return factor * form[0], factor * form[1], factor * form[2]


def total(first: Form, second: Form) -> Form:
    """The sum of two forms."""
    return first[0] + second[0], first[1] + second[1], first[2] + second[2]
