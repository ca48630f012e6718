# SPDX-License-Identifier: BSD-3-Clause
"""Constants, structures and functions of plaquette.h. Written by tools/mirrors.py: do not edit."""
import ctypes
from ctypes import (POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64,
                    c_void_p)
from typing import Any, Dict, Tuple

from ._structure import Handle, Options

SUCCESS = 0
NOT_VERIFIED = 1
UNUSABLE_INPUT = 2
NO_CONVERGENCE = 3
OUT_OF_MEMORY = 4
OUTPUT_FAILED = 5
INTERRUPTED = 6
NOT_AVAILABLE = 7
INVALID_HANDLE = 8
INTERNAL_ERROR = 70
CPU = 0
GPU = 1
ON_DEVICE = 16
X_FASTEST = 0
T_FASTEST = 1
DOUBLE = 0
SINGLE = 1
HALF = 2
STOUT = 0
APE = 1
HYP = 2
LANDAU = 0
COULOMB = 1
DEGRAND_ROSSI = 0
NONRELATIVISTIC = 1
DIRAC_PAULI = 2
OPENQCD = 3
TMLQCD = 4
POINT = 0
WALL = 1
GAUSSIAN = 2
Z2 = 3
Z4 = 4
SCIDAC = 0
ETMC = 1
ALL_SITES = 0
EVEN_SITES = 1
ODD_SITES = 2
MODES_OF_H = 0
MODES_OF_D_PLUS = 1
MODES_OF_D_MINUS = 2
ACOUSTICS = 0
MAXWELL = 1


class Reached(Options):
    _fields_ = [("size", c_size_t), ("what", c_char_p), ("step", c_int64), ("limit", c_int64), ("residual", c_double),
                ("tolerance", c_double), ("seconds", c_double)]


class Lattice(Handle):
    pass


class Gauge(Handle):
    pass


class Solver(Handle):
    pass


class Operator(Handle):
    pass


class Overlap(Handle):
    pass


class Propagator(Handle):
    pass


class DeviceMemory(Handle):
    pass


class Vectors(Handle):
    pass


class Waves(Handle):
    pass


class LatticeOptions(Options):
    _fields_ = [("size", c_size_t), ("grid", c_int * 4), ("has_mpi", c_int), ("communicator", c_int),
                ("threads", c_int)]


class LinkLayout(Options):
    _fields_ = [("size", c_size_t), ("number", c_int), ("staggered", c_int), ("first", c_int64), ("site", c_int64 * 4),
                ("direction", c_int64 * 4), ("row", c_int64), ("column", c_int64), ("imaginary", c_int64),
                ("places", c_void_p), ("boundary_phase", c_double * 2 * 4)]


class Smearing(Options):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("steps", c_int), ("spatial", c_int), ("reserved", c_int),
                ("weight", c_double), ("alpha", c_double * 3)]


class HeatBath(Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("heatbaths", c_int), ("overrelaxations", c_int),
                ("sweeps", c_int), ("beta", c_double), ("anisotropy", c_double), ("seed", c_uint64),
                ("first", c_uint64)]


class Action(Options):
    _fields_ = [("size", c_size_t), ("mass", c_double), ("csw", c_double), ("csw_temporal", c_double),
                ("anisotropy", c_double), ("nu", c_double), ("boundary_phase", c_double * 2 * 4)]


class SpinorLayout(Options):
    _fields_ = [("size", c_size_t), ("basis", c_int), ("memory", c_int), ("first", c_int64), ("site", c_int64 * 4),
                ("spin", c_int64), ("colour", c_int64), ("imaginary", c_int64), ("column", c_int64),
                ("places", c_void_p)]


class Result(ctypes.Structure):
    _fields_ = [("iterated", c_double), ("device", c_double), ("reference", c_double), ("tolerance", c_double),
                ("iterations", c_int), ("passed", c_int)]


class Rule(Options):
    _fields_ = [("size", c_size_t), ("tolerance", c_double), ("iteration_limit", c_int), ("judge", c_int)]


class Source(Options):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("position", c_int * 4), ("momentum", c_int * 3), ("steps", c_int),
                ("radius", c_double), ("seed", c_uint64)]


class KrylovOptions(Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("outer", c_int), ("inner", c_int), ("columns", c_int)]


class MultigridOptions(Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("levels", c_int), ("null_vectors", c_int), ("tune", c_int),
                ("half_cycle", c_int), ("columns", c_int), ("seed", c_uint64)]


class VectorsOptions(Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("columns", c_int), ("sites", c_int), ("precision", c_int)]


class VectorSystem(Options):
    _fields_ = [("size", c_size_t), ("dagger", c_int), ("squared", c_int), ("mu_count", c_int), ("reserved", c_int),
                ("mu", c_void_p)]


class OperatorForm(Options):
    _fields_ = [("size", c_size_t), ("dagger", c_int), ("gamma_5", c_int), ("mu_count", c_int), ("reserved", c_int),
                ("shift", c_double), ("mu", c_void_p)]


class OverlapOptions(Options):
    _fields_ = [("size", c_size_t), ("device", c_int), ("kernel_modes", c_int), ("modes", c_int), ("reserved", c_int),
                ("rho", c_double), ("mode_tolerance", c_double), ("boundary_phase", c_double * 2 * 4),
                ("seed", c_uint64)]


class Modes(Options):
    _fields_ = [("size", c_size_t), ("count", c_int), ("reserved", c_int), ("values", c_void_p), ("vectors", c_void_p),
                ("length", c_size_t), ("layout", POINTER(SpinorLayout))]


class WaveOptions(Options):
    _fields_ = [("size", c_size_t), ("equations", c_int), ("order", c_int), ("columns", c_int), ("device", c_int),
                ("precision", c_int), ("absorbing", c_int), ("has_mpi", c_int), ("communicator", c_int),
                ("upwinding", c_double)]


class WaveBox(Options):
    _fields_ = [("size", c_size_t), ("cells", c_int * 3), ("periodic", c_int * 3), ("low", c_double * 3),
                ("high", c_double * 3)]


class WaveMesh(Options):
    _fields_ = [("size", c_size_t), ("vertices", c_void_p), ("vertex_count", c_size_t), ("elements", c_void_p),
                ("element_count", c_size_t), ("media", c_void_p)]


StopFunction = ctypes.CFUNCTYPE(c_int, c_void_p)
ProgressFunction = ctypes.CFUNCTYPE(c_int, POINTER(Reached), c_void_p)

# name: (type of the result, types of the arguments)
FUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {
    "plaquette_error_text": (c_char_p, (c_int,)),
    "plaquette_last_message": (c_char_p, ()),
    "plaquette_version": (c_char_p, ()),
    "plaquette_abi": (c_int, ()),
    "plaquette_stop_function": (c_int, (c_void_p, c_void_p)),
    "plaquette_progress_function": (c_int, (c_void_p, c_void_p)),
    "plaquette_has_gpu": (c_int, ()),
    "plaquette_lattice_free": (c_int, (POINTER(Lattice),)),
    "plaquette_gauge_free": (c_int, (POINTER(Gauge),)),
    "plaquette_solver_free": (c_int, (POINTER(Solver),)),
    "plaquette_operator_free": (c_int, (POINTER(Operator),)),
    "plaquette_overlap_free": (c_int, (POINTER(Overlap),)),
    "plaquette_propagator_free": (c_int, (POINTER(Propagator),)),
    "plaquette_device_memory_free": (c_int, (POINTER(DeviceMemory),)),
    "plaquette_vectors_free": (c_int, (POINTER(Vectors),)),
    "plaquette_waves_free": (c_int, (POINTER(Waves),)),
    "plaquette_lattice_create": (c_int, (POINTER(Lattice), c_int * 4, POINTER(LatticeOptions))),
    "plaquette_lattice_create_reproducible": (c_int, (POINTER(Lattice), c_int * 4, POINTER(LatticeOptions))),
    "plaquette_lattice_box": (c_int, (Lattice, c_int * 4, c_int * 4)),
    "plaquette_device_memory_create": (c_int, (POINTER(DeviceMemory), Lattice, c_size_t, POINTER(c_void_p),
                                               POINTER(c_int))),
    "plaquette_device_memory_write": (c_int, (DeviceMemory, c_void_p, c_size_t)),
    "plaquette_device_memory_read": (c_int, (DeviceMemory, c_void_p, c_size_t)),
    "plaquette_link_layout_dense": (c_int, (POINTER(LinkLayout), c_int * 4, c_int)),
    "plaquette_gauge_create": (c_int, (POINTER(Gauge), Lattice, c_void_p, c_size_t, POINTER(LinkLayout))),
    "plaquette_gauge_copy": (c_int, (Gauge, c_void_p, c_size_t, POINTER(LinkLayout))),
    "plaquette_gauge_read": (c_int, (POINTER(Gauge), Lattice, c_char_p)),
    "plaquette_gauge_file_extents": (c_int, (c_char_p, c_int * 4)),
    "plaquette_gauge_write": (c_int, (Gauge, c_char_p, c_int)),
    "plaquette_gauge_remark": (c_int, (Gauge, c_char_p, c_size_t)),
    "plaquette_gauge_plaquette": (c_int, (Gauge, POINTER(c_double))),
    "plaquette_gauge_smear": (c_int, (POINTER(Gauge), Gauge, POINTER(Smearing))),
    "plaquette_gauge_flow": (c_int, (POINTER(Gauge), Gauge, c_double, c_double, c_void_p, c_size_t, POINTER(c_size_t),
                                     POINTER(c_double))),
    "plaquette_gauge_fix": (c_int, (POINTER(Gauge), Gauge, c_int, c_double, c_int, c_double * 2)),
    "plaquette_gauge_fix_by": (c_int, (POINTER(Gauge), Gauge, c_int, c_double, c_int, c_double * 2, c_void_p,
                                       c_size_t)),
    "plaquette_gauge_assign": (c_int, (Gauge, c_void_p, c_size_t, POINTER(LinkLayout))),
    "plaquette_gauge_heatbath": (c_int, (Gauge, POINTER(HeatBath))),
    "plaquette_gauge_to_device": (c_int, (Gauge, c_int)),
    "plaquette_gauge_moves": (c_int, (Gauge, POINTER(c_int64))),
    "plaquette_solver_follow": (c_int, (Solver, Gauge)),
    "plaquette_solver_renew": (c_int, (Solver, c_int)),
    "plaquette_operator_follow": (c_int, (Operator, Gauge)),
    "plaquette_overlap_follow": (c_int, (Overlap, Gauge)),
    "plaquette_mass_of_kappa": (c_int, (c_double, c_double, c_double, POINTER(c_double))),
    "plaquette_spinor_layout_dense": (c_int, (POINTER(SpinorLayout), c_int * 4, c_int)),
    "plaquette_krylov_create": (c_int, (POINTER(Solver), Gauge, POINTER(Action), POINTER(KrylovOptions))),
    "plaquette_multigrid_create": (c_int, (POINTER(Solver), Gauge, POINTER(Action), POINTER(MultigridOptions))),
    "plaquette_solver_setup_seconds": (c_int, (Solver, POINTER(c_double))),
    "plaquette_solve": (c_int, (Solver, c_void_p, c_void_p, c_size_t, c_int, POINTER(SpinorLayout), POINTER(Rule),
                                POINTER(Result))),
    "plaquette_propagator_solve": (c_int, (POINTER(Propagator), Solver, POINTER(Source), POINTER(Rule),
                                           POINTER(Result))),
    "plaquette_propagator_solve_smeared": (c_int, (POINTER(Propagator), Solver, POINTER(Source), Gauge, POINTER(Rule),
                                                   POINTER(Result))),
    "plaquette_propagator_sequential": (c_int, (POINTER(Propagator), Solver, Propagator, c_int, c_int, c_int * 3,
                                                POINTER(Rule), POINTER(Result))),
    "plaquette_propagator_results": (c_int, (Propagator, Result * 12)),
    "plaquette_pion": (c_int, (Propagator, c_void_p, c_size_t)),
    "plaquette_rho": (c_int, (Propagator, c_void_p, c_size_t)),
    "plaquette_meson": (c_int, (Propagator, c_int, c_int * 3, c_void_p, c_size_t)),
    "plaquette_meson_along": (c_int, (Propagator, c_int, c_int, c_int * 3, c_void_p, c_size_t)),
    "plaquette_nucleon": (c_int, (Propagator, c_int, c_int * 3, c_void_p, c_size_t)),
    "plaquette_from_source": (c_int, (Propagator, c_int, c_void_p, c_size_t)),
    "plaquette_propagator_smear": (c_int, (POINTER(Propagator), Propagator, Gauge, c_double, c_int)),
    "plaquette_propagator_write": (c_int, (Propagator, c_char_p, c_int, c_int)),
    "plaquette_propagator_read": (c_int, (POINTER(Propagator), Lattice, c_char_p)),
    "plaquette_propagator_copy": (c_int, (Propagator, c_void_p, c_size_t, POINTER(SpinorLayout))),
    "plaquette_propagator_judge": (c_int, (POINTER(Propagator), Solver, Propagator, POINTER(Source), POINTER(Rule),
                                           POINTER(Result))),
    "plaquette_propagator_judge_smeared": (c_int, (POINTER(Propagator), Solver, Propagator, POINTER(Source), Gauge,
                                                   POINTER(Rule), POINTER(Result))),
    "plaquette_operator_create": (c_int, (POINTER(Operator), Gauge, POINTER(Action), c_int)),
    "plaquette_operator_apply": (c_int, (Operator, c_void_p, c_void_p, c_size_t, POINTER(SpinorLayout), c_int)),
    "plaquette_vectors_create": (c_int, (POINTER(Vectors), Lattice, POINTER(VectorsOptions))),
    "plaquette_vectors_zero": (c_int, (Vectors,)),
    "plaquette_vectors_fill": (c_int, (Vectors, POINTER(Source), Gauge, c_int)),
    "plaquette_vectors_fill_random": (c_int, (Vectors, c_uint64, c_uint64)),
    "plaquette_vectors_read": (c_int, (Vectors, c_void_p, c_size_t, POINTER(SpinorLayout))),
    "plaquette_vectors_write": (c_int, (Vectors, c_void_p, c_size_t, POINTER(SpinorLayout))),
    "plaquette_vectors_copy": (c_int, (Vectors, Vectors)),
    "plaquette_vectors_copy_columns": (c_int, (Vectors, c_int, Vectors, c_int, c_int)),
    "plaquette_vectors_scale": (c_int, (Vectors, c_void_p, c_int)),
    "plaquette_vectors_add": (c_int, (Vectors, c_void_p, c_int, Vectors)),
    "plaquette_vectors_rotate_by_gamma_5": (c_int, (Vectors,)),
    "plaquette_vectors_dot": (c_int, (Vectors, Vectors, c_void_p, c_size_t)),
    "plaquette_vectors_norm2": (c_int, (Vectors, c_void_p, c_size_t)),
    "plaquette_solve_vectors": (c_int, (Solver, Vectors, Vectors, POINTER(Rule), POINTER(VectorSystem),
                                        POINTER(Result))),
    "plaquette_operator_apply_vectors": (c_int, (Operator, Vectors, Vectors, POINTER(OperatorForm))),
    "plaquette_propagator_of_vectors": (c_int, (POINTER(Propagator), Vectors)),
    "plaquette_overlap_create": (c_int, (POINTER(Overlap), Gauge, POINTER(OverlapOptions))),
    "plaquette_overlap_index": (c_int, (Overlap, POINTER(c_int))),
    "plaquette_overlap_solve": (c_int, (POINTER(Propagator), Overlap, POINTER(Source), c_void_p, c_int, POINTER(Rule))),
    "plaquette_overlap_mode_count": (c_int, (Overlap, c_int, POINTER(c_int))),
    "plaquette_overlap_mode_values": (c_int, (Overlap, c_int, c_void_p, c_void_p, c_size_t)),
    "plaquette_overlap_mode_vectors": (c_int, (Overlap, c_int, c_void_p, c_size_t, POINTER(SpinorLayout))),
    "plaquette_overlap_create_with_modes": (c_int, (POINTER(Overlap), Gauge, POINTER(OverlapOptions), POINTER(Modes),
                                                    POINTER(Modes), POINTER(Modes))),
    "plaquette_waves_create": (c_int, (POINTER(Waves), POINTER(WaveBox), POINTER(WaveOptions))),
    "plaquette_waves_create_on_mesh": (c_int, (POINTER(Waves), POINTER(WaveMesh), POINTER(WaveOptions))),
    "plaquette_waves_create_from_file": (c_int, (POINTER(Waves), c_char_p, POINTER(WaveOptions))),
    "plaquette_waves_extents": (c_int, (Waves, c_int64 * 4)),
    "plaquette_waves_elements": (c_int, (Waves, c_void_p, c_size_t)),
    "plaquette_waves_positions": (c_int, (Waves, c_void_p, c_size_t)),
    "plaquette_waves_set_state": (c_int, (Waves, c_void_p, c_size_t, c_double)),
    "plaquette_waves_get_state": (c_int, (Waves, c_void_p, c_size_t)),
    "plaquette_waves_time": (c_int, (Waves, POINTER(c_double))),
    "plaquette_waves_energies": (c_int, (Waves, c_void_p, c_size_t)),
    "plaquette_waves_stable_step": (c_int, (Waves, POINTER(c_double))),
    "plaquette_waves_advance": (c_int, (Waves, c_int64, c_double, c_int, c_double * 2)),
}
