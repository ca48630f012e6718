# SPDX-License-Identifier: BSD-3-Clause
"""plaquette.h by ctypes: structures, functions, and errors as exceptions."""
from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import sys
import threading
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Iterator, TypeVar

ABI = 1
SUCCESS, NOT_VERIFIED, UNUSABLE_INPUT, NO_CONVERGENCE, INTERRUPTED = 0, 1, 2, 3, 6
ON_DEVICE = 16


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


class _Handle(ctypes.Structure):
    _fields_ = [("key", c_uint64)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a handle of plaquette cannot be pickled or copied: it names an object of this process")


class Lattice(_Handle):
    pass


class Gauge(_Handle):
    pass


class Solver(_Handle):
    pass


class Operator(_Handle):
    pass


class Overlap(_Handle):
    pass


class DeviceMemory(_Handle):
    pass


class Propagator(_Handle):
    pass


class Vectors(_Handle):
    pass


class Waves(_Handle):
    pass


class _Options(ctypes.Structure):
    def __init__(self, **values: Any):
        super().__init__(size=ctypes.sizeof(type(self)), **values)


class LatticeOptions(_Options):
    _fields_ = [("size", c_size_t), ("grid", c_int * 4), ("has_mpi", c_int), ("communicator", c_int), ("threads", c_int)]


class LinkLayout(_Options):
    _fields_ = [("size", c_size_t), ("number", c_int), ("staggered", c_int), ("first", c_int64), ("site", c_int64 * 4),
                ("direction", c_int64 * 4), ("row", c_int64), ("column", c_int64), ("imaginary", c_int64),
                ("places", c_void_p), ("boundary_phase", c_double * 2 * 4)]


class Action(_Options):
    _fields_ = [("size", c_size_t), ("mass", c_double), ("csw", c_double), ("csw_temporal", c_double),
                ("anisotropy", c_double), ("nu", c_double), ("boundary_phase", c_double * 2 * 4)]


class SpinorLayout(_Options):
    _fields_ = [("size", c_size_t), ("basis", c_int), ("memory", c_int), ("first", c_int64), ("site", c_int64 * 4),
                ("spin", c_int64), ("colour", c_int64), ("imaginary", c_int64), ("column", c_int64),
                ("places", c_void_p)]


class Result(ctypes.Structure):
    _fields_ = [("iterated", c_double), ("device", c_double), ("reference", c_double), ("tolerance", c_double),
                ("iterations", c_int), ("passed", c_int)]


class Rule(_Options):
    _fields_ = [("size", c_size_t), ("tolerance", c_double), ("iteration_limit", c_int), ("judge", c_int)]


class Source(_Options):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("position", c_int * 4), ("momentum", c_int * 3), ("steps", c_int),
                ("radius", c_double), ("seed", c_uint64)]


class Smearing(_Options):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("steps", c_int), ("spatial", c_int), ("reserved", c_int),
                ("weight", c_double), ("alpha", c_double * 3)]


class KrylovOptions(_Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("outer", c_int), ("inner", c_int), ("columns", c_int)]


class MultigridOptions(_Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("levels", c_int), ("null_vectors", c_int), ("tune", c_int),
                ("half_cycle", c_int), ("columns", c_int), ("seed", c_uint64)]


class OverlapOptions(_Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("kernel_modes", c_int), ("modes", c_int), ("reserved", c_int),
                ("rho", c_double), ("mode_tolerance", c_double), ("boundary_phase", c_double * 2 * 4),
                ("seed", c_uint64)]


class HeatBath(_Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("heatbaths", c_int), ("overrelaxations", c_int), ("sweeps", c_int),
                ("beta", c_double), ("anisotropy", c_double), ("seed", c_uint64), ("first", c_uint64)]


class VectorsOptions(_Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("columns", c_int), ("sites", c_int), ("precision", c_int)]


class VectorSystem(_Options):
    _fields_ = [("size", c_size_t), ("dagger", c_int), ("squared", c_int), ("mu_count", c_int), ("reserved", c_int),
                ("mu", POINTER(c_double))]


class OperatorForm(_Options):
    _fields_ = [("size", c_size_t), ("dagger", c_int), ("gamma_5", c_int), ("mu_count", c_int), ("reserved", c_int),
                ("shift", c_double), ("mu", POINTER(c_double))]


class WaveOptions(_Options):
    _fields_ = [("size", c_size_t), ("equations", c_int), ("order", c_int), ("columns", c_int), ("device", c_int),
                ("precision", c_int), ("absorbing", c_int), ("has_mpi", c_int), ("communicator", c_int),
                ("upwinding", c_double)]


class WaveBox(_Options):
    _fields_ = [("size", c_size_t), ("cells", c_int * 3), ("periodic", c_int * 3), ("low", c_double * 3),
                ("high", c_double * 3)]


class WaveMesh(_Options):
    _fields_ = [("size", c_size_t), ("vertices", c_void_p), ("vertex_count", c_size_t), ("elements", c_void_p),
                ("element_count", c_size_t), ("media", c_void_p)]


class Modes(_Options):
    _fields_ = [("size", c_size_t), ("count", c_int), ("reserved", c_int), ("values", c_void_p), ("vectors", c_void_p),
                ("length", c_size_t), ("layout", POINTER(SpinorLayout))]


library = _open()


def _declare(name: str, *arguments: Any, result: Any = c_int) -> None:
    function = getattr(library, name)
    function.argtypes, function.restype = arguments, result


_numbers = POINTER(c_double)
_declare("plaquette_error_text", c_int, result=c_char_p)
_declare("plaquette_last_message", result=c_char_p)
_declare("plaquette_version", result=c_char_p)
_declare("plaquette_abi")
_declare("plaquette_has_gpu")
_StopFunction = ctypes.CFUNCTYPE(c_int, c_void_p)
_declare("plaquette_stop_function", c_void_p, c_void_p)
_declare("plaquette_progress_function", c_void_p, c_void_p)
for _kind, _type in (("lattice", Lattice), ("gauge", Gauge), ("solver", Solver), ("operator", Operator),
                     ("overlap", Overlap), ("propagator", Propagator), ("device_memory", DeviceMemory),
                     ("vectors", Vectors), ("waves", Waves)):
    _declare(f"plaquette_{_kind}_free", POINTER(_type))
_declare("plaquette_lattice_create", POINTER(Lattice), c_int * 4, POINTER(LatticeOptions))
_declare("plaquette_lattice_create_reproducible", POINTER(Lattice), c_int * 4, POINTER(LatticeOptions))
_declare("plaquette_lattice_box", Lattice, c_int * 4, c_int * 4)
_declare("plaquette_gauge_create", POINTER(Gauge), Lattice, c_void_p, c_size_t, POINTER(LinkLayout))
_declare("plaquette_gauge_assign", Gauge, c_void_p, c_size_t, POINTER(LinkLayout))
_declare("plaquette_gauge_heatbath", Gauge, POINTER(HeatBath))
_declare("plaquette_gauge_moves", Gauge, POINTER(c_int64))
_declare("plaquette_solver_follow", Solver, Gauge)
_declare("plaquette_solver_renew", Solver, c_int)
_declare("plaquette_operator_follow", Operator, Gauge)
_declare("plaquette_gauge_copy", Gauge, c_void_p, c_size_t, POINTER(LinkLayout))
_declare("plaquette_gauge_read", POINTER(Gauge), Lattice, c_char_p)
_declare("plaquette_gauge_file_extents", c_char_p, c_int * 4)
_declare("plaquette_gauge_write", Gauge, c_char_p, c_int)
_declare("plaquette_gauge_remark", Gauge, c_char_p, c_size_t)
_declare("plaquette_gauge_plaquette", Gauge, POINTER(c_double))
_declare("plaquette_gauge_smear", POINTER(Gauge), Gauge, POINTER(Smearing))
_declare("plaquette_gauge_flow", POINTER(Gauge), Gauge, c_double, c_double, _numbers, c_size_t, POINTER(c_size_t),
         POINTER(c_double))
_declare("plaquette_gauge_fix", POINTER(Gauge), Gauge, c_int, c_double, c_int, _numbers)
_declare("plaquette_gauge_fix_by", POINTER(Gauge), Gauge, c_int, c_double, c_int, _numbers, c_void_p, c_size_t)
_declare("plaquette_device_memory_create", POINTER(DeviceMemory), Lattice, c_size_t, POINTER(c_void_p), POINTER(c_int))
_declare("plaquette_device_memory_write", DeviceMemory, c_void_p, c_size_t)
_declare("plaquette_device_memory_read", DeviceMemory, c_void_p, c_size_t)
_declare("plaquette_mass_of_kappa", c_double, c_double, c_double, POINTER(c_double))
_declare("plaquette_krylov_create", POINTER(Solver), Gauge, POINTER(Action), POINTER(KrylovOptions))
_declare("plaquette_multigrid_create", POINTER(Solver), Gauge, POINTER(Action), POINTER(MultigridOptions))
_declare("plaquette_solver_setup_seconds", Solver, POINTER(c_double))
_declare("plaquette_solve", Solver, c_void_p, c_void_p, c_size_t, c_int, POINTER(SpinorLayout), POINTER(Rule), c_void_p)
_declare("plaquette_propagator_solve", POINTER(Propagator), Solver, POINTER(Source), POINTER(Rule), c_void_p)
_declare("plaquette_propagator_solve_smeared", POINTER(Propagator), Solver, POINTER(Source), Gauge, POINTER(Rule), c_void_p)
_declare("plaquette_propagator_sequential", POINTER(Propagator), Solver, Propagator, c_int, c_int, c_int * 3, POINTER(Rule),
         c_void_p)
_declare("plaquette_propagator_judge", POINTER(Propagator), Solver, Propagator, POINTER(Source), POINTER(Rule), c_void_p)
_declare("plaquette_propagator_judge_smeared", POINTER(Propagator), Solver, Propagator, POINTER(Source), Gauge,
         POINTER(Rule), c_void_p)
_declare("plaquette_propagator_smear", POINTER(Propagator), Propagator, Gauge, c_double, c_int)
_declare("plaquette_propagator_write", Propagator, c_char_p, c_int, c_int)
_declare("plaquette_propagator_read", POINTER(Propagator), Lattice, c_char_p)
_declare("plaquette_propagator_results", Propagator, c_void_p)
_declare("plaquette_pion", Propagator, _numbers, c_size_t)
_declare("plaquette_rho", Propagator, _numbers, c_size_t)
_declare("plaquette_meson", Propagator, c_int, c_int * 3, _numbers, c_size_t)
_declare("plaquette_meson_along", Propagator, c_int, c_int, c_int * 3, _numbers, c_size_t)
_declare("plaquette_nucleon", Propagator, c_int, c_int * 3, _numbers, c_size_t)
_declare("plaquette_from_source", Propagator, c_int, c_void_p, c_size_t)
_declare("plaquette_propagator_copy", Propagator, c_void_p, c_size_t, POINTER(SpinorLayout))
_declare("plaquette_operator_create", POINTER(Operator), Gauge, POINTER(Action), c_int)
_declare("plaquette_operator_apply", Operator, c_void_p, c_void_p, c_size_t, POINTER(SpinorLayout), c_int)
_declare("plaquette_vectors_create", POINTER(Vectors), Lattice, POINTER(VectorsOptions))
_declare("plaquette_vectors_zero", Vectors)
_declare("plaquette_vectors_fill", Vectors, POINTER(Source), Gauge, c_int)
_declare("plaquette_vectors_fill_random", Vectors, c_uint64, c_uint64)
_declare("plaquette_vectors_read", Vectors, c_void_p, c_size_t, POINTER(SpinorLayout))
_declare("plaquette_vectors_write", Vectors, c_void_p, c_size_t, POINTER(SpinorLayout))
_declare("plaquette_vectors_copy", Vectors, Vectors)
_declare("plaquette_vectors_copy_columns", Vectors, c_int, Vectors, c_int, c_int)
_declare("plaquette_vectors_scale", Vectors, c_void_p, c_int)
_declare("plaquette_vectors_add", Vectors, c_void_p, c_int, Vectors)
_declare("plaquette_vectors_rotate_by_gamma_5", Vectors)
_declare("plaquette_vectors_dot", Vectors, Vectors, c_void_p, c_size_t)
_declare("plaquette_vectors_norm2", Vectors, c_void_p, c_size_t)
_declare("plaquette_solve_vectors", Solver, Vectors, Vectors, POINTER(Rule), POINTER(VectorSystem), c_void_p)
_declare("plaquette_operator_apply_vectors", Operator, Vectors, Vectors, POINTER(OperatorForm))
_declare("plaquette_propagator_of_vectors", POINTER(Propagator), Vectors)
_declare("plaquette_overlap_create", POINTER(Overlap), Gauge, POINTER(OverlapOptions))
_declare("plaquette_overlap_create_with_modes", POINTER(Overlap), Gauge, POINTER(OverlapOptions), *[POINTER(Modes)] * 3)
_declare("plaquette_overlap_mode_count", Overlap, c_int, POINTER(c_int))
_declare("plaquette_overlap_mode_values", Overlap, c_int, c_void_p, c_void_p, c_size_t)
_declare("plaquette_overlap_mode_vectors", Overlap, c_int, c_void_p, c_size_t, POINTER(SpinorLayout))
_declare("plaquette_overlap_index", Overlap, POINTER(c_int))
_declare("plaquette_overlap_solve", c_void_p, Overlap, POINTER(Source), POINTER(c_double), c_int, POINTER(Rule))
_declare("plaquette_waves_create", POINTER(Waves), POINTER(WaveBox), POINTER(WaveOptions))
_declare("plaquette_waves_create_on_mesh", POINTER(Waves), POINTER(WaveMesh), POINTER(WaveOptions))
_declare("plaquette_waves_create_from_file", POINTER(Waves), c_char_p, POINTER(WaveOptions))
_declare("plaquette_waves_extents", Waves, c_int64 * 4)
_declare("plaquette_waves_elements", Waves, c_void_p, c_size_t)
_declare("plaquette_waves_positions", Waves, c_void_p, c_size_t)
_declare("plaquette_waves_set_state", Waves, c_void_p, c_size_t, c_double)
_declare("plaquette_waves_get_state", Waves, c_void_p, c_size_t)
_declare("plaquette_waves_time", Waves, POINTER(c_double))
_declare("plaquette_waves_energies", Waves, c_void_p, c_size_t)
_declare("plaquette_waves_stable_step", Waves, POINTER(c_double))
_declare("plaquette_waves_advance", Waves, c_int64, c_double, c_int, _numbers)

if library.plaquette_abi() != ABI:
    raise ImportError(f"plaquette: expected a library with binary interface {ABI}, found {library.plaquette_abi()}")


def text_of(code: int) -> str:
    """Returns what a code means."""
    return library.plaquette_error_text(code).decode()


class _Reached(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("what", c_char_p), ("step", c_int64), ("limit", c_int64), ("residual", c_double),
                ("tolerance", c_double), ("seconds", c_double)]


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


_asked = _StopFunction(_goes_on)


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


_told = ctypes.CFUNCTYPE(c_int, POINTER(_Reached), c_void_p)(_stops)


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
    progress function raises takes that with it, as its attribute `result`.
    \param result  makes it of the code; None if the numbers are not there"""
    code, raised = _stoppable(getattr(library, name), arguments)
    message = library.plaquette_last_message().decode() if code else ""
    made = result(code) if code in (SUCCESS, NOT_VERIFIED, NO_CONVERGENCE, INTERRUPTED) else None
    if raised is not None:
        setattr(raised, "result", made)
        raise raised
    if made is None:
        raise PlaquetteError(code, message)
    return made
