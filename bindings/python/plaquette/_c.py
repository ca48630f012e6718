# SPDX-License-Identifier: BSD-3-Clause
"""plaquette.h by ctypes: the names of _declarations, the library, and errors as exceptions."""
from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import sys
import threading
from ctypes import c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Iterator, TypeVar

from ._declarations import *

ABI = 1


class PlaquetteError(RuntimeError):
    """What the library refused or failed to do. `code` is that of plaquette.h."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> Any:  # multiprocessing sends it
        return type(self), (self.code, str(self))


def _open() -> ctypes.CDLL:
    """PLAQUETTE_LIBRARY; else the library in this package; else that of the prefix it is installed in; else the system's."""
    here = os.path.dirname(os.path.abspath(__file__))
    prefix = os.path.normpath(os.path.join(here, *[os.pardir] * 4))
    name = f"libplaquette_c.so.{ABI}"
    candidates = [os.environ["PLAQUETTE_LIBRARY"]] if os.environ.get("PLAQUETTE_LIBRARY") else [
        *glob.glob(os.path.join(here, name)),
        *(path for pattern in ("lib", "lib64", os.path.join("lib", "*"))
          for path in sorted(glob.glob(os.path.join(prefix, pattern, name)))), name]
    errors = []
    for path in candidates:
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            errors.append(str(error))
    raise ImportError("plaquette: the C library was not found: " + "; ".join(errors) +
                      f". Install it, or set PLAQUETTE_LIBRARY to the path of {name}")


library = _open()
for _name, (_result, _arguments) in FUNCTIONS.items():
    _function = getattr(library, _name)
    _function.argtypes, _function.restype = _arguments, _result

if library.plaquette_abi() != ABI:
    raise ImportError(f"plaquette: expected a library with binary interface {ABI}, found {library.plaquette_abi()}")


def text_of(code: int) -> str:
    """Returns what a code means."""
    return library.plaquette_error_text(code).decode()


@dataclass(frozen=True)
class Progress:
    """How far a call has come. `what` is the part of the call: "solve", "multigrid setup", "modes of H", "steps of waves",
    ... `step` counts iterations, cycles of a search or steps; `limit` is the most of them, 0 if not known. `residual` is
    the largest of all columns or modes, NaN if not known; `tolerance` is what it shall meet, 0 if there is none."""
    what: str
    step: int
    limit: int
    residual: float
    tolerance: float
    seconds: float


class _Thread(threading.local):
    """What calls of a thread ask, and what that raised."""
    goes_on: Callable[[], Any] | None = None
    progress: Callable[[Progress], Any] | None = None
    raised: BaseException | None = None
    is_asked = False


_thread = _Thread()


def _goes_on(data: Any) -> int:
    """Answers the library. Python runs handlers of signals here, in the main thread. One that raises before the first line
    is told to sys.unraisablehook, which remembers it for the next question."""
    try:
        if _thread.raised is not None:
            return 0
        return 1 if _thread.goes_on is None or _thread.goes_on() else 0
    except BaseException as raised:  # pylint: disable=broad-except
        _thread.raised = raised
        return 0


_asked = StopFunction(_goes_on)


def _stops(reached: Any, data: Any) -> int:
    """Tells the progress function how far a call is. What that raises ends the call, as in _goes_on."""
    try:
        if _thread.raised is not None:
            return 1
        at = reached.contents
        return 1 if _thread.progress is not None and _thread.progress(Progress(
            at.what.decode(), at.step, at.limit, at.residual, at.tolerance, at.seconds)) else 0
    except BaseException as raised:  # pylint: disable=broad-except
        _thread.raised = raised
        return 1


_told = ProgressFunction(_stops)


@contextlib.contextmanager
def telling(progress: Callable[[Progress], Any] | None) -> Iterator[None]:
    """Lets calls of this thread tell a function how far they are; None: as before."""
    if progress is not None and not callable(progress):
        raise PlaquetteError(UNUSABLE_INPUT, f"progress: expected a function to call, found {progress!r}")
    before = _thread.progress
    if progress is not None:
        _thread.progress = progress
        library.plaquette_progress_function(ctypes.cast(_told, c_void_p), None)
    try:
        yield
    finally:
        _thread.progress = before
        if before is None:
            library.plaquette_progress_function(None, None)


def stop_function(goes_on: Callable[[], Any] | None) -> None:
    """Sets the function that calls of this thread ask while they work; see plaquette.stop_function."""
    if goes_on is not None and not callable(goes_on):
        raise PlaquetteError(UNUSABLE_INPUT, f"stop function: expected one to call, found {goes_on!r}")
    _thread.goes_on = goes_on


def _stoppable(function: Any, arguments: tuple[Any, ...]) -> tuple[int, BaseException | None]:
    """Calls a function of the library that asks _goes_on. Returns its code, and what that has met."""
    is_main = threading.current_thread() is threading.main_thread()
    if (is_main or _thread.goes_on is not None) and not _thread.is_asked:
        library.plaquette_stop_function(ctypes.cast(_asked, c_void_p), None)
        _thread.is_asked = True
    if not is_main:
        code = function(*arguments)
    else:
        before = sys.unraisablehook

        def keep(met: Any) -> None:
            if met.object in (_goes_on, _stops) or "ctypes callback" in (met.err_msg or ""):
                _thread.raised = met.exc_value
            else:
                before(met)

        sys.unraisablehook = keep
        try:
            code = function(*arguments)
        finally:
            sys.unraisablehook = before
    raised, _thread.raised = _thread.raised, None
    return code, raised


def call(name: str, *arguments: Any, numbers_are_there: bool = False) -> int:
    """Calls a function and returns its code. Raises where it failed; but a result that did not pass is returned where
    its numbers are there. What a handler of a signal, as of Ctrl-C, or the stop function raises ends the call."""
    code, raised = _stoppable(getattr(library, name), arguments)
    if raised is not None:
        raise raised
    if code == SUCCESS or (numbers_are_there and code in (NOT_VERIFIED, NO_CONVERGENCE)):
        return code
    raise PlaquetteError(code, library.plaquette_last_message().decode())


_Made = TypeVar("_Made")


def solved(name: str, *arguments: Any, result: Callable[[int], _Made | None]) -> _Made:
    """Calls a function that returns what it has when it is stopped. What a handler of a signal, the stop function or the
    progress function raises takes that with it, as its attribute `result`. `result` makes it from the code, or None if
    the numbers are not there."""
    code, raised = _stoppable(getattr(library, name), arguments)
    message = library.plaquette_last_message().decode() if code else ""
    made = result(code) if code in (SUCCESS, NOT_VERIFIED, NO_CONVERGENCE, INTERRUPTED) else None
    if raised is not None:
        setattr(raised, "result", made)
        raise raised
    if made is None:
        raise PlaquetteError(code, message)
    return made
