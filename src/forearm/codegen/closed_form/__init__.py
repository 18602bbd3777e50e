"""Closed forms of small arms: what a program computes, multiplied out, shortened and
grouped for people to read.

`closed_form` is the way in: a program is multiplied out (`expansion`, of `angles` and `polynomial`) into a
normal form, that is shortened by the identities of cosines and sines (`shortening`) and grouped
(`collecting`) as it is written (`writing`).
"""

from forearm.codegen.closed_form.expansion import closed_form
from forearm.codegen.closed_form.sums import (
    MOST_TERMS,
    NOISE,
    PARAMETER,
    Factor,
    FunctionCall,
    Sum,
    SymbolicClosedForm,
    Term,
    Trig,
)

__all__ = [
    "MOST_TERMS",
    "NOISE",
    "PARAMETER",
    "Factor",
    "FunctionCall",
    "Sum",
    "SymbolicClosedForm",
    "Term",
    "Trig",
    "closed_form",
]
