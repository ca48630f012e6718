# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of callers, checked before C sees them: ctypes would cut whole numbers to 32 bits and turn anything into text.
Each function returns a value of the type that is wanted, or raises PlaquetteError with a sentence."""
from __future__ import annotations

import math
import operator
import os
from typing import Any, NoReturn

import numpy as np

from . import _c
from ._c import PlaquetteError

_LEAST, _MOST = -2**31, 2**31 - 1  # of int in C


def refuse(name: str, expected: str, found: Any) -> NoReturn:
    """Raises PlaquetteError for an argument that cannot be used."""
    shown = repr(found)
    raise PlaquetteError(_c.UNUSABLE_INPUT,
                         f"{name}: expected {expected}, found {shown if len(shown) <= 80 else shown[:77] + '...'}")


def whole(value: Any, name: str, least: int = _LEAST, most: int = _MOST) -> int:
    """Returns a whole number within bounds."""
    expected = f"a whole number from {least} to {most}"
    if isinstance(value, (bool, np.bool_, np.ma.MaskedArray)):
        refuse(name, expected, value)
    try:
        number = operator.index(value)
    except TypeError:
        refuse(name, expected, value)
    if not least <= number <= most:
        refuse(name, expected, number)
    return number


def seed(value: Any, name: str = "seed") -> int:
    """Returns a seed of 64 bits."""
    return whole(value, name, 0, 2**64 - 1)


def flag(value: Any, name: str) -> int:
    """Returns 1 for True, 0 for False."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return int(value)
    refuse(name, "True or False", value)


def real(value: Any, name: str) -> float:
    """Returns a real number; nan and inf are for the library to refuse."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray, complex, np.complexfloating, np.ma.MaskedArray)):
        refuse(name, "a real number", value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        refuse(name, "a real number", value)


def phase(value: Any, name: str) -> complex:
    """Returns a complex number."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray, np.ma.MaskedArray)):
        refuse(name, "a complex number", value)
    try:
        return complex(value)
    except (TypeError, ValueError, OverflowError):
        refuse(name, "a complex number", value)


def several(values: Any, count: int | None, name: str, of: Any = whole) -> list[Any]:
    """Returns a list of `count` values, each as `of` returns it; None: of any number of them."""
    expected = f"{'some' if count is None else count} numbers"
    if isinstance(values, (str, bytes, dict, set, np.ma.MaskedArray)):
        refuse(name, expected, values)
    try:
        found = list(values)
    except TypeError:
        refuse(name, expected, values)
    if count is not None and len(found) != count:
        refuse(name, expected, values)
    return [of(value, name) for value in found]


def path(value: Any, name: str = "file") -> bytes:
    """Returns the name of a file for C."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        refuse(name, "a path", value)
    encoded = os.fsencode(value)
    if not encoded or b"\0" in encoded:
        refuse(name, "a path of some characters without a zero", value)
    return encoded


def choice(names: dict[str, int], value: Any, name: str) -> int:
    """Returns the number of a word."""
    if not isinstance(value, str) or value not in names:
        refuse(name, f"one of {', '.join(names)}", value)
    return names[value]


def letters(value: Any, name: str = "axes") -> str:
    """Returns letters of axes."""
    if not isinstance(value, str):
        refuse(name, "letters, one an axis", value)
    return value


def instance(value: Any, kind: type, name: str) -> Any:
    """Returns an object of a class of this package."""
    if not isinstance(value, kind):
        refuse(name, f"a {kind.__name__}", value)
    return value


def communicator(comm: Any) -> int:
    """Returns the number in Fortran of a communicator of mpi4py."""
    try:
        is_between, number = comm.Is_inter(), comm.py2f()
    except AttributeError:
        refuse("comm", "a communicator of mpi4py", comm)
    if is_between:
        refuse("comm", "a communicator of one group of ranks", comm)
    return number


def numbers(array: Any, dtype: Any, name: str) -> np.ndarray:
    """Returns a dense array of a type on the host. Refuses a mask, and numbers that the type cannot hold."""
    if isinstance(array, np.ma.MaskedArray):
        refuse(name, "an array without a mask", type(array))
    try:
        found = np.asarray(array)
    except (TypeError, ValueError):
        refuse(name, "an array of numbers", array)
    wanted = np.dtype(dtype)
    if found.dtype.kind not in ("iuf" if wanted.kind == "f" else "iufc"):
        refuse(name, f"numbers of {'real' if wanted.kind == 'f' else 'complex'} type", found.dtype)
    return np.ascontiguousarray(found, wanted)


def is_finite_size(length: float, step: float) -> bool:
    """Returns whether a length has at most a million steps."""
    return step > 0.0 and math.isfinite(length / step) and 0.0 <= length / step <= 1e6
