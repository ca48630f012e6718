# SPDX-License-Identifier: BSD-3-Clause
"""Plaquette for callers in Python: from a configuration or an array of links to verified quark propagators.

    import plaquette
    links = plaquette.Gauge.read("configuration.ildg")
    solver = plaquette.multigrid(links, mass=0.02, csw=1.0)
    pion = solver.solve(plaquette.Source()).pion()
    print(pion, pion.verdict)

Arrays are numpy arrays with any strides; the library reads and writes them where they lie. Links and spinors may also be
arrays on a GPU, of cupy, torch, jax, numba, or DeviceArray. Axes are named by letters: x,
y, z, t of a site, m of a direction (x, y, z, t), i and j of row and column, s of a spin, c of a colour, n of a right-hand
side. What is returned has a `verdict`: it is true where the reference operator found the result right.

Objects are context managers; without `with` they end when nothing refers to them. Calls let other Python threads run, and
end within a second at Ctrl-C (docs/calling.md has the exceptions). They belong to their process: they are not pickled or
copied, and a child of fork() that has lost the library's threads is refused."""
from __future__ import annotations

import ctypes
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence

import numpy as np

from . import _c, _values
from ._arrays import DeviceArray, Given, given
from ._c import PlaquetteError, Progress

__all__ = ["Correlator", "DeviceArray", "Dirac", "FixedGauge", "Flow", "Gauge", "Lattice", "Modes", "Overlap",
           "PlaquetteError", "Progress", "Propagator", "Residuals", "Solution", "Solver", "Source", "Vectors", "Verdict", "Waves",
           "even_odd", "has_gpu", "krylov", "multigrid", "stop_function", "version"]

_DEVICES = {"cpu": _c.CPU, "gpu": _c.GPU}
_PRECISIONS = {"double": _c.DOUBLE, "single": _c.SINGLE, "half": _c.HALF}
_KINDS = {"point": _c.POINT, "wall": _c.WALL, "gaussian": _c.GAUSSIAN, "z2": _c.Z2, "z4": _c.Z4}
_SMEARINGS = {"stout": _c.STOUT, "ape": _c.APE, "hyp": _c.HYP}
_CONDITIONS = {"landau": _c.LANDAU, "coulomb": _c.COULOMB}
_STYLES = {"scidac": _c.SCIDAC, "etmc": _c.ETMC}
_MODES = {"h": _c.MODES_OF_H, "plus": _c.MODES_OF_D_PLUS, "minus": _c.MODES_OF_D_MINUS}
_EQUATIONS = {"acoustics": _c.ACOUSTICS, "maxwell": _c.MAXWELL}
_DIRECTIONS = {"x": 0, "y": 1, "z": 2, "t": 3}
_SITES = {"all": _c.ALL_SITES, "even": _c.EVEN_SITES, "odd": _c.ODD_SITES}
_BASES = {"degrand-rossi": _c.DEGRAND_ROSSI, "nonrelativistic": _c.NONRELATIVISTIC, "dirac-pauli": _c.DIRAC_PAULI,
          "openqcd": _c.OPENQCD, "tmlqcd": _c.TMLQCD}


def version() -> str:
    """Returns the version of the library."""
    return _c.library.plaquette_version().decode()


def has_gpu() -> bool:
    """Returns whether the library and this machine have a GPU to use."""
    return bool(_c.library.plaquette_has_gpu())


def stop_function(goes_on: Callable[[], Any] | None) -> None:
    """Sets a function that calls of this thread ask while they work, fifty times a second at most; None: none. It returns
    what is false to end the call. A solve then returns the best solution so far, with a verdict of code 6; Waves keep the
    state of the last step; other calls raise PlaquetteError of code 6. What the function raises leaves the call. Signals
    need none: what their handlers raise, as KeyboardInterrupt, ends a call of the main thread. What leaves a solve has the
    best solution so far as its attribute `result`. With several ranks all of them stop."""
    _c.stop_function(goes_on)


# What calls tell how far they are. It is called as a stop function is, and returns what is true to end the call.
_Told = Optional[Callable[[Progress], Any]]


_choice = _values.choice


def _ints(values: Any, count: int, name: str) -> Any:
    return (ctypes.c_int * count)(*_values.several(values, count, name))


def _doubles(values: Any, count: int, name: str) -> Any:
    return (ctypes.c_double * count)(*_values.several(values, count, name, _values.real))


def _pairs(phases: Sequence[complex]) -> Any:
    pairs = (ctypes.c_double * 2 * 4)()
    for mu, phase in enumerate(_values.several(phases, 4, "phases of x, y, z, t", _values.phase)):
        pairs[mu][0], pairs[mu][1] = phase.real, phase.imag
    return pairs


@dataclass(frozen=True)
class Residuals:
    """One right-hand side: |b - M x| / |b| as iterated, by the operators that solved, and by the reference operator."""
    iterated: float
    device: float
    reference: float
    tolerance: float
    iterations: int
    passed: bool


@dataclass(frozen=True)
class Verdict:
    """Whether a result may be used: true where every residual was recomputed and met its tolerance."""
    passed: bool
    worst: float
    tolerance: float
    code: int
    columns: tuple[Residuals, ...] = field(repr=False)
    text: str = ""

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        if self.text:
            return self.text
        if not self.passed and self.code == _c.NOT_VERIFIED and self.columns and self.tolerance == 0.0:
            return "not judged: no residual was recomputed by the reference operator"
        said = "passed" if self.passed else f"failed: {_c.text_of(self.code)}"
        return f"{said}, largest residual {self.worst:.2e}, tolerance {self.tolerance:.2e}"

    def require(self) -> None:
        """Raises PlaquetteError unless the result passed."""
        if not self.passed:
            raise PlaquetteError(self.code, str(self))

    @staticmethod
    def _of(results: Iterable[Any], code: int) -> "Verdict":
        columns = tuple(Residuals(r.iterated, r.device, r.reference, r.tolerance, r.iterations, bool(r.passed))
                        for r in results)
        worst = max((c.reference if c.reference == c.reference else float("inf") for c in columns), default=float("inf"))
        return Verdict(code == 0 and all(c.passed for c in columns), worst, max((c.tolerance for c in columns), default=0.0), code, columns)

    @staticmethod
    def _of_all(verdicts: Sequence["Verdict | None"]) -> "Verdict | None":
        """Returns the verdict on what is made of several results: it passes where all of them did."""
        if not verdicts or any(verdict is None for verdict in verdicts):
            return None
        different = list({id(verdict): verdict for verdict in verdicts}.values())
        if len(different) == 1:
            return different[0]
        failed = [verdict for verdict in different if not verdict]
        return Verdict(not failed, max(verdict.worst for verdict in different),
                       max(verdict.tolerance for verdict in different), failed[0].code if failed else 0,
                       tuple(column for verdict in different for column in verdict.columns),
                       f"of {len(different)} results the first that failed: {failed[0]}" if failed else "")


def _correlators_in(values: Any) -> list["Correlator"]:
    """Returns the correlators among arguments of numpy."""
    if isinstance(values, Correlator):
        return [values]
    if isinstance(values, dict):
        values = values.values()
    if isinstance(values, (list, tuple)) or type(values) is type({}.values()):
        return [found for value in values for found in _correlators_in(value)]
    return []


class Correlator(np.ndarray):
    """Numbers by the time coordinate of the lattice, and the verdict on the propagators that they are made of: that of a sum
    passes where those of all terms do."""
    verdict: Verdict | None

    @staticmethod
    def _of(numbers: np.ndarray, verdict: Verdict) -> "Correlator":
        correlator = numbers.view(Correlator)
        correlator.verdict = verdict
        return correlator

    def __array_finalize__(self, made_of: Any) -> None:
        self.verdict = getattr(made_of, "verdict", None)

    def _judge(self, made_of: Sequence["Correlator"]) -> None:
        self.verdict = Verdict._of_all([one.verdict for one in made_of])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        made_of = _correlators_in(inputs) + _correlators_in(options.get("where"))
        if method == "at" or options.get("out") is not None:  # what is there may stay
            made_of += _correlators_in(options.get("out"))
        plain = lambda values: tuple(v.view(np.ndarray) if isinstance(v, Correlator) else v for v in values)
        if options.get("out") is not None:
            given_out = options["out"]
            options["out"] = plain(given_out)
        else:
            given_out = ()
        if isinstance(options.get("where"), Correlator):
            options["where"] = options["where"].view(np.ndarray)
        result = getattr(ufunc, method)(*plain(inputs), **options)
        for to in given_out:
            if isinstance(to, Correlator):
                to._judge(made_of)
        if method == "at" and isinstance(inputs[0], Correlator):
            inputs[0]._judge(made_of)
        several = isinstance(result, tuple)
        made = []
        for n, one in enumerate(result if several else (result,)):
            if n < len(given_out) and given_out[n] is not None:
                one = given_out[n]
            elif isinstance(one, np.ndarray) and one.ndim > 0:
                one = one.view(Correlator)
                one._judge(made_of)
            made.append(one)
        return tuple(made) if several else made[0]

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        made_of = _correlators_in(arguments) + _correlators_in(options)
        result = super().__array_function__(function, types, arguments, options)
        if type(result) is np.ndarray and result.ndim > 0 and result.dtype.kind in "fc":
            result = result.view(Correlator)  # of concatenate and others, which return no subclass
        for one in _correlators_in(result):
            one._judge(made_of)
        if function in (np.copyto, np.put, np.place, np.putmask) and isinstance(arguments[0], Correlator):
            arguments[0]._judge(made_of)
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if _correlators_in(value):
            self._judge([self, *_correlators_in(value)])

    def __reduce__(self) -> Any:
        made, arguments, state = super().__reduce__()
        return made, arguments, (state, self.verdict)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state[0])
        self.verdict = state[1]


class _Object:
    """A handle that is freed once."""
    _handle: Any
    _free: str

    def __setattr__(self, name: str, value: Any) -> None:
        # Sizes of arrays that the library fills follow from attributes.
        if not name.startswith("_") and name in self.__dict__:
            raise AttributeError(f"{name} of a {type(self).__name__} of plaquette cannot be changed")
        super().__setattr__(name, value)

    def close(self) -> None:
        """Frees what the library holds. Objects that are made of this one stay."""
        handle = getattr(self, "_handle", None)
        if handle is not None and handle.key != 0:
            getattr(_c.library, self._free)(ctypes.byref(handle))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} of plaquette cannot be pickled or copied: it belongs to the library in "
                        "this process; send arrays or files, and make it anew there")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # pylint: disable=broad-except  # the interpreter is ending
            pass


class Lattice(_Object):
    """A periodic lattice. `comm`: a communicator of mpi4py, over whose ranks it is divided. `reproducible`: sums, and what
    Krylov solvers on the CPU make of them, have the same bits on any number of ranks and threads."""
    _free = "plaquette_lattice_free"

    def __init__(self, extents: Sequence[int], comm: Any = None, grid: Sequence[int] = (0, 0, 0, 0), threads: int = 0,
                 reproducible: bool = False):
        lengths = _ints(extents, 4, "extents")
        options = _c.LatticeOptions(grid=_ints(grid, 4, "grid"), threads=_values.whole(threads, "threads"))
        if comm is not None:
            options.has_mpi, options.communicator = 1, _values.communicator(comm)
        exact = _values.flag(reproducible, "reproducible")
        self._handle = _c.Lattice()
        self.extents = tuple(lengths)
        _c.call("plaquette_lattice_create_reproducible" if exact else "plaquette_lattice_create",
                ctypes.byref(self._handle), lengths, ctypes.byref(options))
        local, origin = (ctypes.c_int * 4)(), (ctypes.c_int * 4)()
        _c.call("plaquette_lattice_box", self._handle, local, origin)
        self.local: tuple[int, ...] = tuple(local)
        self.origin: tuple[int, ...] = tuple(origin)

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns (t, z, y, x) of the box of this rank."""
        return self.local[::-1]


def _strides(array: Given, axes: str, lengths: dict[str, int], what: str) -> tuple[Any, int, int, dict[str, int]]:
    """Returns address, reals, first and the strides of the axes in reals: the array is used where it lies."""
    found = dict(zip(_values.letters(axes), array.shape))
    if sorted(axes) != sorted(lengths) or array.ndim != len(axes) or found != lengths:
        wanted = ", ".join(f"{axis}={lengths.get(axis, '?')}" for axis in axes)
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected axes {wanted} (letters {''.join(sorted(lengths))}), "
                             f"found an array of shape {array.shape}")
    real = array.dtype.itemsize // 2
    if any(step % real for step in array.strides) or array.address % real or not array.dtype.isnative:
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected aligned numbers in the byte order of this machine")
    if any(step == 0 and length > 1 for length, step in zip(array.shape, array.strides)):
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected a place in memory for each number, found one for several, as "
                             "of numpy.broadcast_to (numpy.ascontiguousarray copies)")
    below = sum((length - 1) * step for length, step in zip(array.shape, array.strides) if step < 0)
    above = sum((length - 1) * step for length, step in zip(array.shape, array.strides) if step > 0)
    address = ctypes.c_void_p(array.address + below)
    return address, (above - below) // real + 2, -below // real, {axis: step // real for axis, step in
                                                                  zip(axes, array.strides)}


def even_odd(lattice: Lattice) -> np.ndarray:
    """Returns the places [t][z][y][x] of sites along an axis with the even ones first, as PyQUDA, QUDA and MILC have them:
    parity, t, z, y, x // 2. An array [2][t][z][y][x / 2]... of PyQUDA is one with axes p... after reshape(-1, ...)."""
    t, z, y, x = (np.arange(length).reshape(-1, *[1] * n) for n, length in zip((3, 2, 1, 0), _values.instance(
        lattice, Lattice, "lattice").shape))
    half = int(np.prod(lattice.shape)) // 2
    return (t + z + y + x) % 2 * half + (((t * lattice.shape[1] + z) * lattice.shape[2] + y) * lattice.shape[3] + x) // 2


def _site_axes(axes: str, lattice: Lattice, places: Any) -> dict[str, int]:
    """Returns the lengths of axes of sites: x, y, z, t, or p where sites have places of their own."""
    if places is None:
        return dict(zip("xyzt", lattice.local))
    if "p" not in _values.letters(axes):
        _values.refuse("axes", "the letter p for sites that have places", axes)
    return {"p": int(np.prod(lattice.local))}


def _put_sites(layout: Any, step: dict[str, int], lattice: Lattice, places: Any) -> None:
    """Puts where sites stand into a layout."""
    if places is None:
        layout.site = (ctypes.c_int64 * 4)(*(step[axis] for axis in "xyzt"))
        return
    numbers = np.asarray(places)
    if isinstance(places, np.ma.MaskedArray) or numbers.dtype.kind not in "iu" or numbers.shape != lattice.shape:
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"places: expected whole numbers [t][z][y][x] of shape {lattice.shape}, found "
                             f"{numbers.dtype} of shape {numbers.shape}")
    if numbers.min() < 0 or numbers.max() >= numbers.size:
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"places: expected numbers from 0 to {numbers.size - 1}, found "
                             f"{numbers.min()} to {numbers.max()}")
    layout.kept = np.ascontiguousarray(numbers, np.int64) * step["p"]
    layout.places = layout.kept.ctypes.data


def _links_in(array: Given, lattice: Lattice, axes: str, boundary_phase: Sequence[complex],
              staggered: bool, places: Any = None) -> tuple[Any, int, Any]:
    if array.dtype not in (np.complex128, np.complex64):
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"links: expected complex128 or complex64, found {array.dtype}")
    address, length, first, step = _strides(array, axes, dict(_site_axes(axes, lattice, places), m=4, i=3, j=3), "links")
    layout = _c.LinkLayout(
        number=int(array.dtype == np.complex64) + _c.ON_DEVICE * array.on_device,
        staggered=_values.flag(staggered, "staggered"), first=first,
        direction=(ctypes.c_int64 * 4)(*(mu * step["m"] for mu in range(4))), row=step["i"], column=step["j"],
        imaginary=1, boundary_phase=_pairs(boundary_phase))
    _put_sites(layout, step, lattice, places)
    return address, length, layout


class _Average(float):
    """A number that programs may still call, as they did when it was a method."""

    def __call__(self) -> float:
        warnings.warn("plaquette: links.plaquette is a property; leave out the parentheses", DeprecationWarning, stacklevel=2)
        return float(self)

    def __reduce__(self) -> Any:
        return float, (float(self),)


class Gauge(_Object):
    """Links in SU(3). `axes` names the axes of the array. With `places` an axis p has the sites, site (t, z, y, x) at
    places[t][z][y][x]: `even_odd` returns the places of arrays with even sites first. `boundary_phase` and `staggered` are phases that are in the
    array's links and are taken out of them."""
    _free = "plaquette_gauge_free"

    def __init__(self, lattice: Lattice, links: Any, axes: str = "tzyxmij",
                 boundary_phase: Sequence[complex] = (1, 1, 1, 1), staggered: bool = False, places: Any = None):
        _values.instance(lattice, Lattice, "lattice")
        address, length, layout = _links_in(given(links, "links"), lattice, axes, boundary_phase, staggered, places)
        self.lattice = lattice
        self._handle = _c.Gauge()
        _c.call("plaquette_gauge_create", ctypes.byref(self._handle), lattice._handle, address, length,
                ctypes.byref(layout))
        self._say_remark()

    def array(self, out: Any = None, axes: str = "tzyxmij", boundary_phase: Sequence[complex] = (1, 1, 1, 1),
              staggered: bool = False, places: Any = None) -> Any:
        """Returns the links of this rank as an array of complex128, or puts them into one of complex128 or complex64. These
        phases are folded into them."""
        if out is None:
            lengths = dict(_site_axes(axes, self.lattice, places), m=4, i=3, j=3)
            if sorted(_values.letters(axes)) != sorted(lengths):
                _values.refuse("axes", f"the letters {''.join(lengths)} in any order", axes)
            out = np.empty([lengths[axis] for axis in axes], np.complex128)
        to = given(out, "array for links")
        if not to.writeable:
            raise PlaquetteError(_c.UNUSABLE_INPUT, "array for links: expected one that can be written")
        address, length, layout = _links_in(to, self.lattice, axes, boundary_phase, staggered, places)
        _c.call("plaquette_gauge_copy", self._handle, address, length, ctypes.byref(layout))
        return out

    @classmethod
    def read(cls, file: str, lattice: Lattice | None = None) -> "Gauge":
        """Reads a file of links; without a lattice, on one of its extents in this process."""
        name = _values.path(file)
        if lattice is None:
            extents = (ctypes.c_int * 4)()
            _c.call("plaquette_gauge_file_extents", name, extents)
            lattice = Lattice(tuple(extents))
        _values.instance(lattice, Lattice, "lattice")
        links = cls.__new__(cls)
        links.lattice = lattice
        links._handle = _c.Gauge()
        _c.call("plaquette_gauge_read", ctypes.byref(links._handle), lattice._handle, name)
        links._say_remark()
        return links

    @property
    def remark(self) -> str:
        """Returns the sentence on links that were up to 1e-10 off SU(3), as updates in double precision leave them, and
        were taken back as they came; empty where there were none."""
        text = ctypes.create_string_buffer(1024)
        _c.call("plaquette_gauge_remark", self._handle, text, len(text))
        return text.value.decode()

    def _say_remark(self) -> None:
        if remark := self.remark:
            warnings.warn(f"plaquette: {remark}", stacklevel=3)

    def write(self, file: str, replace: bool = False) -> None:
        """Writes an ILDG file."""
        _c.call("plaquette_gauge_write", self._handle, _values.path(file), _values.flag(replace, "replace"))

    @property
    def plaquette(self) -> float:
        """Returns the average of Re tr P / 3."""
        average = ctypes.c_double()
        _c.call("plaquette_gauge_plaquette", self._handle, ctypes.byref(average))
        return _Average(average.value)

    def assign(self, links: Any, axes: str = "tzyxmij", boundary_phase: Sequence[complex] = (1, 1, 1, 1),
               staggered: bool = False, places: Any = None) -> None:
        """Takes other links from an array: a move. What was made of these links is refused until it follows them."""
        address, length, layout = _links_in(given(links, "links"), self.lattice, axes, boundary_phase, staggered, places)
        _c.call("plaquette_gauge_assign", self._handle, address, length, ctypes.byref(layout))
        self._say_remark()

    def heatbath(self, beta: float, sweeps: int = 1, *, first: int = 0, seed: int = 1, heatbaths: int = 1,
                 overrelaxations: int = 4, anisotropy: float = 1.0, device: str = "cpu") -> None:
        """Makes combined sweeps number first, first + 1, ..., each of some heat baths, then some over-relaxations: a move.
        The same bits on any grid. On a GPU the links stay there, and smeared, flow and fixed run there."""
        how = _c.HeatBath(device=_choice(_DEVICES, device, "device"), heatbaths=_values.whole(heatbaths, "heatbaths"),
                          overrelaxations=_values.whole(overrelaxations, "overrelaxations"),
                          sweeps=_values.whole(sweeps, "sweeps"), beta=_values.real(beta, "beta"),
                          anisotropy=_values.real(anisotropy, "anisotropy"), seed=_values.seed(seed),
                          first=_values.seed(first, "first"))
        _c.call("plaquette_gauge_heatbath", self._handle, ctypes.byref(how))

    def to_device(self, device: str) -> None:
        """Copies the links to a device, where they stay until they move or another call takes them away: no move. On a GPU
        smeared, flow, fixed and solvers that follow read them there. "cpu" takes them back and leaves the GPU."""
        _c.call("plaquette_gauge_to_device", self._handle, _choice(_DEVICES, device, "device"))

    @property
    def moves(self) -> int:
        """Returns how often the links moved."""
        moves = ctypes.c_int64()
        _c.call("plaquette_gauge_moves", self._handle, ctypes.byref(moves))
        return moves.value

    def _made(self, handle: Any) -> "Gauge":
        links = Gauge.__new__(Gauge)
        links.lattice, links._handle = self.lattice, handle
        return links

    def smeared(self, kind: str = "stout", steps: int = 1, weight: float = 0.1, spatial: bool = False,
                alpha: Sequence[float] = (0.75, 0.6, 0.3)) -> "Gauge":
        """Returns smeared links: stout (weight rho), ape (weight alpha) or hyp (with the three numbers alpha; not spatial)."""
        how = _c.Smearing(kind=_choice(_SMEARINGS, kind, "smearing"), steps=_values.whole(steps, "steps"),
                          spatial=_values.flag(spatial, "spatial"), weight=_values.real(weight, "weight"),
                          alpha=_doubles(alpha, 3, "alpha"))
        handle = _c.Gauge()
        _c.call("plaquette_gauge_smear", ctypes.byref(handle), self._handle, ctypes.byref(how))
        return self._made(handle)

    def flow(self, time: float, step: float = 0.02, progress: _Told = None) -> "Flow":
        """Returns the gradient flow up to a time; the last step may be shorter. (arXiv:1006.4518)"""
        time, step = _values.real(time, "time"), _values.real(step, "step")
        points, t0, handle = ctypes.c_size_t(), ctypes.c_double(), _c.Gauge()
        rows = int(np.ceil(time / step * (1.0 - 1e-12))) + 1 if _values.is_finite_size(time, step) else 1
        history = np.empty((rows, 3))
        with _c.telling(progress):
            _c.call("plaquette_gauge_flow", ctypes.byref(handle), self._handle, time, step,
                    history.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), history.size, ctypes.byref(points),
                    ctypes.byref(t0))
        return Flow(*history.T, None if np.isnan(t0.value) else t0.value, self._made(handle))

    def fixed(self, condition: str = "landau", tolerance: float = 1e-12, sweep_limit: int = 10000) -> "FixedGauge":
        """Returns links in Landau or Coulomb gauge. (hep-lat/0104012)"""
        handle, quality, g = _c.Gauge(), (ctypes.c_double * 2)(), np.empty((*self.lattice.shape, 3, 3), np.complex128)
        code = _c.call("plaquette_gauge_fix_by", ctypes.byref(handle), self._handle,
                       _choice(_CONDITIONS, condition, "gauge"), _values.real(tolerance, "tolerance"),
                       _values.whole(sweep_limit, "sweep_limit"), quality, g.ctypes.data,
                       2 * g.size, numbers_are_there=True)
        return FixedGauge(self._made(handle), quality[0], quality[1], code == 0, g)


@dataclass(frozen=True)
class Flow:
    """Times, <E> and topological charge by the clover field strength; t0 where t^2 E passes 0.3; the last links."""
    times: np.ndarray
    energies: np.ndarray
    charges: np.ndarray
    t0: float | None
    links: Gauge


@dataclass(frozen=True)
class FixedGauge:
    """Links g(x) U_mu(x) g(x+mu)^+, the average of Re tr U / 3, theta, whether theta met its tolerance, and g, of this
    rank: [t][z][y][x][i][j]."""
    links: Gauge
    functional: float
    theta: float
    converged: bool
    g: np.ndarray


@dataclass
class Source:
    """A right-hand side for each spin and colour, times exp(i p x), p = 2 pi momentum / L. z2 and z4 are noise on a time slice. The hops
    of a Gaussian are those of `links`, as smeared ones; without, of the solver's."""
    kind: str = "point"
    position: Sequence[int] = (0, 0, 0, 0)
    momentum: Sequence[int] = (0, 0, 0)
    radius: float = 2.0
    steps: int = 5
    seed: int = 1
    links: Gauge | None = None

    def _structure(self) -> Any:
        if self.links is not None:
            _values.instance(self.links, Gauge, "links of the source")
        return _c.Source(kind=_choice(_KINDS, self.kind, "source"), position=_ints(self.position, 4, "position"),
                         momentum=_ints(self.momentum, 3, "momentum"), steps=_values.whole(self.steps, "steps"),
                         radius=_values.real(self.radius, "radius"), seed=_values.seed(self.seed))


def _source(source: Any) -> Any:
    return _values.instance(source, Source, "source")._structure()


def _refuse_links_of(source: Source) -> None:
    if source.links is not None:
        raise PlaquetteError(_c.UNUSABLE_INPUT, "source: expected one without links of its own here")


def _mass(mass: float | None, kappa: float | None, anisotropy: float, nu: float) -> float:
    """Returns the mass: it is given, or kappa is."""
    if (mass is None) == (kappa is None):
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"quarks: expected either mass or kappa, found {'none' if mass is None else 'both'}")
    if kappa is None:
        return _values.real(mass, "mass")
    found = ctypes.c_double()
    _c.call("plaquette_mass_of_kappa", _values.real(kappa, "kappa"), _values.real(anisotropy, "anisotropy"),
            _values.real(nu, "nu"), ctypes.byref(found))
    return found.value


def _action(mass: float | None, kappa: float | None, csw: float, csw_temporal: float | None, anisotropy: float, nu: float,
            boundary_phase: Sequence[complex]) -> Any:
    csw = _values.real(csw, "csw")
    return _c.Action(mass=_mass(mass, kappa, anisotropy, nu), csw=csw,
                     csw_temporal=csw if csw_temporal is None else _values.real(csw_temporal, "csw_temporal"),
                     anisotropy=_values.real(anisotropy, "anisotropy"), nu=_values.real(nu, "nu"),
                     boundary_phase=_pairs(boundary_phase))


def _spinors(array: Any, lattice: Lattice, axes: str, basis: str, columns: int | None, what: str,
             is_written: bool = False, places: Any = None) -> tuple[Any, int, Any]:
    array = given(array, what)
    if is_written and not array.writeable:
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected an array that can be written")
    if array.dtype not in (np.complex128, np.complex64):
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected complex128 or complex64, found {array.dtype}")
    lengths = dict(_site_axes(axes, lattice, places), s=4, c=3)
    if columns is not None:
        lengths["n"] = columns
    address, length, first, step = _strides(array, axes, lengths, what)
    memory = _c.ON_DEVICE * array.on_device + _c.SINGLE * (array.dtype == np.complex64)
    layout = _c.SpinorLayout(basis=_choice(_BASES, basis, "basis"), memory=int(memory), first=first,
                             spin=step["s"], colour=step["c"], imaginary=1, column=step.get("n", 0))
    _put_sites(layout, step, lattice, places)
    return address, length, layout


def _like(array: Any, lattice: Lattice, what: str) -> Any:
    """Returns memory for results that lies as an array does: the same strides, on the GPU or not."""
    pattern = given(array, what)
    if not pattern.on_device:
        made = np.empty_like(pattern.keeps)
    else:
        made = DeviceArray(lattice, pattern.shape, pattern.dtype)
    if given(made, what).strides != pattern.strides:
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected a dense array, or one for the result with its strides")
    return made


def _rule(tolerance: float, iteration_limit: int, judge: bool) -> Any:
    return _c.Rule(tolerance=_values.real(tolerance, "tolerance"),
                   iteration_limit=_values.whole(iteration_limit, "iteration_limit"), judge=_values.flag(judge, "judge"))


@dataclass(frozen=True)
class Solution:
    """Solutions of M x = b, in the axes of b; vectors for vectors."""
    x: Any
    verdict: Verdict


class Vectors(_Object):
    """Columns of spinors on the device of a lattice, that change there. Solvers and operators on the same lattice and device
    take them. `sites`: all, even or odd; `precision`: double, single or half. Numbers are kept in a spin basis of the device:
    those of an array come back to rounding."""
    _free = "plaquette_vectors_free"

    def __init__(self, lattice: Lattice, columns: int = 12, *, sites: str = "all", precision: str = "double",
                 device: str = "cpu"):
        self.lattice = _values.instance(lattice, Lattice, "lattice")
        self.columns: int = _values.whole(columns, "columns")
        self.sites, self.precision, self.device = sites, precision, device
        options = _c.VectorsOptions(device=_choice(_DEVICES, device, "device"), columns=self.columns,
                                    sites=_choice(_SITES, sites, "sites"),
                                    precision=_choice(_PRECISIONS, precision, "precision"))
        self._handle = _c.Vectors()
        _c.call("plaquette_vectors_create", ctypes.byref(self._handle), lattice._handle, ctypes.byref(options))

    def like(self, columns: int | None = None, precision: str | None = None) -> "Vectors":
        """Returns vectors that are zero, of this shape but for what is given."""
        return Vectors(self.lattice, self.columns if columns is None else columns, sites=self.sites,
                       precision=self.precision if precision is None else precision, device=self.device)

    def copied(self) -> "Vectors":
        """Returns others with the same numbers."""
        made = self.like()
        made.copy(self)
        return made

    def zero(self) -> None:
        """Makes them zero."""
        _c.call("plaquette_vectors_zero", self._handle)

    def fill(self, source: "Source", first: int = 0) -> None:
        """Makes column n component (first + n) mod 12 of a source, component 3 spin + colour. A Gaussian needs links."""
        what = ctypes.byref(_source(source))
        hops = _c.Gauge() if source.links is None else source.links._handle
        _c.call("plaquette_vectors_fill", self._handle, what, hops, _values.whole(first, "first"))

    def fill_random(self, seed: int, first: int = 0) -> None:
        """Makes all reals normal deviates of variance 1. Column n is field first + n of this seed."""
        _c.call("plaquette_vectors_fill_random", self._handle, _values.seed(seed), _values.seed(first, "first"))

    def _columns_in(self, axes: str) -> int | None:
        return None if self.columns == 1 and "n" not in _values.letters(axes) else self.columns

    def read(self, array: Any, axes: str = "ntzyxsc", basis: str = "degrand-rossi", places: Any = None) -> None:
        """Takes all columns from an array of all sites, complex128 or complex64; it ignores sites that they lack. See Gauge
        for places."""
        address, length, layout = _spinors(array, self.lattice, axes, basis, self._columns_in(axes), "array of vectors",
                                           places=places)
        _c.call("plaquette_vectors_read", self._handle, address, length, ctypes.byref(layout))

    def array(self, out: Any = None, axes: str = "ntzyxsc", basis: str = "degrand-rossi", places: Any = None) -> Any:
        """Returns all columns as an array of all sites, or puts them into one of complex128 or complex64; sites that they
        lack are zero."""
        if out is None:
            out = _new_columns(self.lattice, axes, self.columns, places)
        address, length, layout = _spinors(out, self.lattice, axes, basis, self._columns_in(axes), "array for vectors", True,
                                           places)
        _c.call("plaquette_vectors_write", self._handle, address, length, ctypes.byref(layout))
        return out

    def copy(self, u: "Vectors") -> None:
        """Takes all columns of others on the same sites, rounded if precisions differ."""
        _c.call("plaquette_vectors_copy", self._handle, _values.instance(u, Vectors, "vectors")._handle)

    def copy_columns(self, to: int, u: "Vectors", start: int, count: int) -> None:
        """Takes columns start, start + 1, ... of others, of one precision, as columns to, to + 1, ..."""
        _c.call("plaquette_vectors_copy_columns", self._handle, _values.whole(to, "to"),
                _values.instance(u, Vectors, "vectors")._handle, _values.whole(start, "start"),
                _values.whole(count, "count"))

    def scale(self, factors: Any) -> None:
        """Multiplies columns by a number, or by one a column."""
        numbers = _factors(factors)
        _c.call("plaquette_vectors_scale", self._handle, numbers.ctypes.data, numbers.size)

    def add(self, factors: Any, u: "Vectors") -> None:
        """Adds others times a number, or times one a column."""
        numbers = _factors(factors)
        _c.call("plaquette_vectors_add", self._handle, numbers.ctypes.data, numbers.size,
                _values.instance(u, Vectors, "vectors")._handle)

    def rotate_by_gamma_5(self) -> None:
        """Multiplies by gamma_5."""
        _c.call("plaquette_vectors_rotate_by_gamma_5", self._handle)

    def dot(self, u: "Vectors") -> np.ndarray:
        """Returns <self, u> of each column, self conjugated."""
        products = np.empty(self.columns, np.complex128)
        _c.call("plaquette_vectors_dot", self._handle, _values.instance(u, Vectors, "vectors")._handle,
                products.ctypes.data, 2 * products.size)
        return products

    def norm2(self) -> np.ndarray:
        """Returns the square of each column's norm."""
        squares = np.empty(self.columns)
        _c.call("plaquette_vectors_norm2", self._handle, squares.ctypes.data, squares.size)
        return squares


def _factors(factors: Any) -> np.ndarray:
    return np.atleast_1d(_values.numbers(factors, np.complex128, "factors")).ravel()


def _mu(mu: Any) -> tuple[Any, int]:
    """Returns numbers for C, and how many."""
    if mu is None:
        return None, 0
    values = np.atleast_1d(_values.numbers(mu, np.float64, "mu")).ravel()
    return (ctypes.c_double * len(values))(*values), len(values)


def _new_columns(lattice: Lattice, axes: str, columns: int, places: Any = None) -> np.ndarray:
    """Returns room for columns of spinors. Axes without n: of one column."""
    lengths = dict(_site_axes(axes, lattice, places), s=4, c=3, n=columns)
    if columns == 1 and "n" not in _values.letters(axes):
        del lengths["n"]
    if sorted(_values.letters(axes)) != sorted(lengths):
        _values.refuse("axes", f"the letters {''.join(lengths)} in any order", axes)
    return np.empty([lengths[axis] for axis in axes], np.complex128)


class Propagator(_Object):
    """Twelve columns of M^-1 from one source."""
    _free = "plaquette_propagator_free"

    def __init__(self, lattice: Lattice, handle: Any, verdict: Verdict):
        self.lattice, self._handle, self.verdict = lattice, handle, verdict

    def _fetch(self, name: str, direction: int, dtype: Any, from_source: bool, *arguments: Any) -> Correlator:
        numbers = np.empty(self.lattice.extents[direction], dtype)
        length, begins_there = numbers.nbytes // 8, _values.flag(from_source, "from_source")
        _c.call(name, self._handle, *arguments, numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), length,
                numbers_are_there=True)
        if begins_there:
            _c.call("plaquette_from_source", self._handle, direction, numbers.ctypes.data, length)
        return Correlator._of(numbers, self.verdict)

    # Correlators begin at time 0, or at the source: `from_source` rotates them around the lattice. A nucleon that has crossed
    # the antiperiodic boundary has the opposite sign, of three quarks: from_source puts it at the last t_source times.

    def pion(self, *, from_source: bool = False) -> Correlator:
        """Returns the sum of |S|^2 over space, spins and colours. With `from_source` it begins at the source's time."""
        return self._fetch("plaquette_pion", 3, np.float64, from_source)

    def rho(self, *, from_source: bool = False) -> Correlator:
        """Returns the vector meson, averaged over polarisations."""
        return self._fetch("plaquette_rho", 3, np.float64, from_source)

    def meson(self, number: int, momentum: Sequence[int] = (0, 0, 0), along: str = "t", *,
              from_source: bool = False) -> Correlator:
        """Returns the meson of Gamma = gamma_x^a gamma_y^b gamma_z^c gamma_t^d, number = a + 2 b + 4 c + 8 d. It runs along
        x, y, z or t; the momentum is that of the other three, in this order."""
        direction = _choice(_DIRECTIONS, along, "along")
        return self._fetch("plaquette_meson_along", direction, np.complex128, from_source,
                           _values.whole(number, "meson"), direction, _ints(momentum, 3, "momentum"))

    def nucleon(self, parity: int = 1, momentum: Sequence[int] = (0, 0, 0), *, from_source: bool = False) -> Correlator:
        """Returns the proton of three such quarks, projected by (1 + parity gamma_t) / 2. At times before the source it has
        crossed the antiperiodic boundary, and has the opposite sign, of three quarks."""
        return self._fetch("plaquette_nucleon", 3, np.complex128, from_source,
                           _values.whole(parity, "parity"), _ints(momentum, 3, "momentum"))

    def smeared_sink(self, links: Gauge, radius: float = 2.0, steps: int = 5) -> "Propagator":
        """Returns the propagator with a sink smeared as Gaussian sources are, with hops of these links."""
        handle = _c.Propagator()
        _c.call("plaquette_propagator_smear", ctypes.byref(handle), self._handle,
                _values.instance(links, Gauge, "links")._handle, _values.real(radius, "radius"),
                _values.whole(steps, "steps"), numbers_are_there=True)
        return Propagator(self.lattice, handle, self.verdict)

    def write(self, file: str, style: str = "scidac", replace: bool = False) -> None:
        """Writes a LIME file as Chroma (scidac) or tmLQCD (etmc) has it."""
        _c.call("plaquette_propagator_write", self._handle, _values.path(file), _choice(_STYLES, style, "style"),
                _values.flag(replace, "replace"))

    @classmethod
    def of(cls, x: Vectors) -> "Propagator":
        """Returns the propagator of twelve vectors on all sites, column 3 spin + colour, as they are now. It has the verdict
        of Solver.solve_vectors for M x = b that made them, if they have not changed since; else it was not judged."""
        handle, results = _c.Propagator(), (_c.Result * 12)()
        _c.call("plaquette_propagator_of_vectors", ctypes.byref(handle), _values.instance(x, Vectors, "vectors")._handle)
        code = _c.call("plaquette_propagator_results", handle, results, numbers_are_there=True)
        return cls(x.lattice, handle, Verdict._of(results, code))

    @classmethod
    def read(cls, file: str, lattice: Lattice) -> "Propagator":
        """Reads a LIME file of either style. Its verdict is false: Solver.judged gives it one."""
        handle = _c.Propagator()
        _c.call("plaquette_propagator_read", ctypes.byref(handle),
                _values.instance(lattice, Lattice, "lattice")._handle, _values.path(file))
        return cls(lattice, handle, Verdict._of((), _c.NOT_VERIFIED))

    def columns(self, out: Any = None, axes: str = "ntzyxsc", basis: str = "degrand-rossi", places: Any = None) -> Any:
        """Returns the columns, 3 spin + colour of the source, as an array; or puts them into one of any strides, complex128 or
        complex64. See Gauge for places."""
        if out is None:
            out = _new_columns(self.lattice, axes, 12, places)
        address, length, layout = _spinors(out, self.lattice, axes, basis, 12, "columns", True, places)
        _c.call("plaquette_propagator_copy", self._handle, address, length, ctypes.byref(layout),
                numbers_are_there=True)
        return out


class Solver(_Object):
    """Solves M x = b; made by `krylov` and `multigrid`."""
    _free = "plaquette_solver_free"

    def __init__(self, links: Gauge, handle: Any):
        self.lattice, self._handle = links.lattice, handle

    @property
    def setup_seconds(self) -> float:
        """Returns the seconds that it took to make the solver."""
        seconds = ctypes.c_double()
        _c.call("plaquette_solver_setup_seconds", self._handle, ctypes.byref(seconds))
        return seconds.value

    def follow(self, links: Gauge) -> None:
        """Takes these links as they are now, in place of those before and in their memory. Multigrid keeps its null vectors:
        see renew."""
        _c.call("plaquette_solver_follow", self._handle, _values.instance(links, Gauge, "links")._handle)

    def renew(self, iterations: int) -> None:
        """Makes null vectors and coarse operators of multigrid anew, by inverse iterations of the null vectors: for links that
        have moved far."""
        _c.call("plaquette_solver_renew", self._handle, _values.whole(iterations, "iterations"))

    def solve(self, source: Source, tolerance: float = 1e-10, iteration_limit: int = 10000,
              judge: bool = True, progress: _Told = None) -> Propagator:
        """Returns the propagator of a source. `progress` is told how far the solve is, and stops it by what is true."""
        rule = ctypes.byref(_rule(tolerance, iteration_limit, judge))
        what = ctypes.byref(_source(source))
        with _c.telling(progress):
            if source.links is not None:
                return self._propagator("plaquette_propagator_solve_smeared", what, source.links._handle, rule)
            return self._propagator("plaquette_propagator_solve", what, rule)

    def _propagator(self, function: str, *arguments: Any) -> Propagator:
        handle, results = _c.Propagator(), (_c.Result * 12)()
        return _c.solved(function, ctypes.byref(handle), self._handle, *arguments, results, result=lambda code: Propagator(
            self.lattice, handle, Verdict._of(results, code)) if handle.key else None)

    def judged(self, quark: Propagator, source: Source, tolerance: float = 1e-10) -> Propagator:
        """Returns a propagator, as one that was read, with the verdict of the reference operator for this source."""
        _values.instance(quark, Propagator, "propagator")
        rule, what = ctypes.byref(_rule(tolerance, 1, True)), ctypes.byref(_source(source))
        if source.links is not None:
            return self._propagator("plaquette_propagator_judge_smeared", quark._handle, what, source.links._handle, rule)
        return self._propagator("plaquette_propagator_judge", quark._handle, what, rule)

    def sequential(self, through: Propagator, meson: int, time: int, momentum: Sequence[int] = (0, 0, 0),
                   tolerance: float = 1e-10, iteration_limit: int = 10000, judge: bool = True,
                   progress: _Told = None) -> Propagator:
        """Returns the propagator of the source e^(ipx) Gamma S(x) on a time slice, S another propagator."""
        with _c.telling(progress):
            return self._propagator("plaquette_propagator_sequential",
                                    _values.instance(through, Propagator, "through")._handle,
                                    _values.whole(meson, "meson"), _values.whole(time, "time"),
                                    _ints(momentum, 3, "momentum"),
                                    ctypes.byref(_rule(tolerance, iteration_limit, judge)))

    def solve_for(self, b: Any, axes: str | None = None, x: Any = None, tolerance: float = 1e-10,
                  iteration_limit: int = 10000, judge: bool = True, basis: str = "degrand-rossi",
                  places: Any = None, progress: _Told = None) -> Solution:
        """Solves for right-hand sides: one, with axes tzyxsc, or several, with axes ntzyxsc or others. Where b is on a
        GPU, so is x. See Gauge for places. If b is complex64, so is x: its verdict is that before rounding."""
        right = given(b, "right-hand sides")
        if right.dtype == np.complex64 and not right.on_device:
            return self._solve_for_single(right.keeps, x, axes=axes, tolerance=tolerance, iteration_limit=iteration_limit,
                                          judge=judge, basis=basis, places=places, progress=progress)
        if axes is None:
            axes = "n" * (right.ndim == (4 if places is not None else 7)) + ("psc" if places is not None else "tzyxsc")
        axes = _values.letters(axes)
        columns = right.shape[axes.index("n")] if "n" in axes and right.ndim == len(axes) else None
        if columns == 0:
            raise PlaquetteError(_c.UNUSABLE_INPUT, "right-hand sides: expected one or more, found none")
        if x is None:
            x = np.empty_like(right.keeps) if not right.on_device else _like(right, self.lattice, "x")
        left = given(x, "x")
        if left.shape != right.shape or left.dtype != right.dtype or left.on_device != right.on_device:
            raise PlaquetteError(_c.UNUSABLE_INPUT, f"x: expected an array of shape {right.shape} and type {right.dtype} "
                                 f"on the {'GPU' if right.on_device else 'host'}, as b, found {left.shape} and "
                                 f"{left.dtype} on the {'GPU' if left.on_device else 'host'}")
        if left.strides != right.strides:
            if right.on_device:
                raise PlaquetteError(_c.UNUSABLE_INPUT, "x: expected the strides of b, on a GPU")
            right = given(_lie_as(x, right.keeps), "right-hand sides")
        address, length, layout = _spinors(right, self.lattice, axes, basis, columns, "right-hand sides",
                                           places=places)
        to, _, _ = _spinors(left, self.lattice, axes, basis, columns, "solutions", True, places)
        results = (_c.Result * (columns or 1))()
        results[0].iterations = -1  # stays where x is not written
        with _c.telling(progress):
            return _c.solved("plaquette_solve", self._handle, to, address, length, columns or 1, ctypes.byref(layout),
                             ctypes.byref(_rule(tolerance, iteration_limit, judge)), results, result=lambda code: Solution(
                                 x, Verdict._of(results, code)) if results[0].iterations >= 0 else None)

    def _solve_for_single(self, b: np.ndarray, x: Any, **options: Any) -> Solution:
        to = None if x is None else given(x, "x")
        if to is not None and (to.shape != b.shape or to.dtype != np.complex64 or to.on_device or not to.writeable):
            raise PlaquetteError(_c.UNUSABLE_INPUT, f"x: expected an array of shape {b.shape} and type complex64 on the host, "
                                 f"as b, that can be written, found {to.shape} and {to.dtype}")

        def rounded(found: Solution) -> Solution:
            with np.errstate(over="ignore"):
                to = found.x.astype(np.complex64) if x is None else x
                if x is not None:
                    x[...] = found.x
            if found.verdict and not np.isfinite(to).all():
                return Solution(to, replace(found.verdict, passed=False, code=_c.NOT_VERIFIED,
                                            text="failed: solutions are beyond the range of complex64"))
            return Solution(to, found.verdict)

        try:
            return rounded(self.solve_for(b.astype(np.complex128), **options))
        except BaseException as raised:
            if getattr(raised, "result", None) is not None:  # a solve that was stopped
                setattr(raised, "result", rounded(getattr(raised, "result")))
            raise

    def solve_vectors(self, b: Vectors, x: Vectors | None = None, tolerance: float = 1e-10, iteration_limit: int = 10000,
                      judge: bool = True, *, dagger: bool = False, squared: bool = False, mu: Any = None,
                      progress: _Told = None) -> Solution:
        """Solves M x = b, or M^+ x = b with `dagger`, for vectors in the precision of the solutions. On even sites it solves,
        by krylov, (Mhat + i mu gamma_5) x = b, its adjoint, or with `squared` (Mhat^+ Mhat + mu^2) x = b; these are not
        judged. Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe; mu is one number or one a column."""
        x = _values.instance(b, Vectors, "vectors").like() if x is None else _values.instance(x, Vectors, "x")
        numbers, count = _mu(mu)
        system = _c.VectorSystem(dagger=_values.flag(dagger, "dagger"), squared=_values.flag(squared, "squared"),
                                 mu_count=count, mu=ctypes.cast(numbers, ctypes.c_void_p))
        results = (_c.Result * b.columns)()
        results[0].iterations = -1  # stays where x is not there
        with _c.telling(progress):
            return _c.solved("plaquette_solve_vectors", self._handle, x._handle, b._handle,
                             ctypes.byref(_rule(tolerance, iteration_limit, judge)), ctypes.byref(system), results,
                             result=lambda code: Solution(x, Verdict._of(results, code)) if results[0].iterations >= 0 else None)

    def as_linear_operator(self, tolerance: float = 1e-10) -> Any:
        """Returns M^-1 as a scipy.sparse.linalg.LinearOperator on dense vectors [t][z][y][x][s][c]. Raises where a solve
        does not pass."""
        from scipy.sparse.linalg import LinearOperator
        size = 12 * int(np.prod(self.lattice.local))

        def solve(vector: np.ndarray) -> np.ndarray:
            b = _values.numbers(vector, np.complex128, "vector").reshape(*self.lattice.shape, 4, 3)
            solution = self.solve_for(b, tolerance=tolerance)
            solution.verdict.require()
            return solution.x.reshape(-1)

        return LinearOperator((size, size), matvec=solve, dtype=np.complex128)


def _lie_as(pattern: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns values in memory that lies as that of a pattern."""
    copy = np.empty_like(pattern)
    if copy.strides != pattern.strides:
        raise PlaquetteError(_c.UNUSABLE_INPUT, "x: expected an array with the strides of b, or a dense one")
    copy[...] = values
    return copy


def krylov(links: Gauge, mass: float | None = None, csw: float = 0.0, *, kappa: float | None = None,
           csw_temporal: float | None = None, anisotropy: float = 1.0, nu: float = 1.0,
           boundary_phase: Sequence[complex] = (1, 1, 1, -1), device: str = "cpu", outer: str = "double",
           inner: str = "single", columns: int = 12) -> Solver:
    """Returns BiCGstab in mixed precision; where that stalls, other Krylov solvers take over. Give mass, or kappa =
    1 / (2 (1 + 3 nu / anisotropy + mass))."""
    action = _action(mass, kappa, csw, csw_temporal, anisotropy, nu, boundary_phase)
    options = _c.KrylovOptions(device=_choice(_DEVICES, device, "device"), outer=_choice(_PRECISIONS, outer, "outer"),
                               inner=_choice(_PRECISIONS, inner, "inner"),
                               columns=_values.whole(columns, "columns"))
    handle = _c.Solver()
    _c.call("plaquette_krylov_create", ctypes.byref(handle), _values.instance(links, Gauge, "links")._handle, ctypes.byref(action), ctypes.byref(options))
    return Solver(links, handle)


def _tristate(choice: bool | None, name: str) -> int:
    """Returns 1 for True, -1 for False, 0 for None, which leaves the choice to the library."""
    return 0 if choice is None else 1 if _values.flag(choice, name) else -1


def multigrid(links: Gauge, mass: float | None = None, csw: float = 0.0, *, kappa: float | None = None,
              csw_temporal: float | None = None, anisotropy: float = 1.0, nu: float = 1.0,
              boundary_phase: Sequence[complex] = (1, 1, 1, -1), device: str = "cpu", levels: int = 3,
              null_vectors: int = 0, tune: bool | None = None, half_cycle: bool | None = None, columns: int = 12,
              seed: int = 1, progress: _Told = None) -> Solver:
    """Returns adaptive multigrid, set up. Give mass or kappa. None for tune and half_cycle: as is best for the device (True on a
    GPU)."""
    action = _action(mass, kappa, csw, csw_temporal, anisotropy, nu, boundary_phase)
    options = _c.MultigridOptions(device=_choice(_DEVICES, device, "device"), levels=_values.whole(levels, "levels"),
                                  null_vectors=_values.whole(null_vectors, "null_vectors"),
                                  tune=_tristate(tune, "tune"), half_cycle=_tristate(half_cycle, "half_cycle"),
                                  columns=_values.whole(columns, "columns"), seed=_values.seed(seed))
    handle = _c.Solver()
    with _c.telling(progress):
        _c.call("plaquette_multigrid_create", ctypes.byref(handle), _values.instance(links, Gauge, "links")._handle,
                ctypes.byref(action), ctypes.byref(options))
    return Solver(links, handle)


class Dirac(_Object):
    """M in double precision. scipy takes it for a linear operator on dense vectors [t][z][y][x][s][c]."""
    _free = "plaquette_operator_free"

    def __init__(self, links: Gauge, mass: float | None = None, csw: float = 0.0, *, kappa: float | None = None,
                 csw_temporal: float | None = None, anisotropy: float = 1.0, nu: float = 1.0, boundary_phase: Sequence[complex] = (1, 1, 1, -1),
                 device: str = "cpu"):
        self.lattice = _values.instance(links, Gauge, "links").lattice
        self._handle = _c.Operator()
        action = _action(mass, kappa, csw, csw_temporal, anisotropy, nu, boundary_phase)
        _c.call("plaquette_operator_create", ctypes.byref(self._handle), links._handle, ctypes.byref(action),
                _choice(_DEVICES, device, "device"))
        size = 12 * int(np.prod(self.lattice.local))
        self.shape = (size, size)
        self.dtype = np.dtype(np.complex128)

    def apply(self, psi: Any, dagger: bool = False, axes: str = "tzyxsc", basis: str = "degrand-rossi",
              places: Any = None) -> Any:
        """Returns M psi, or M^+ psi, in the axes of psi; in double on the host, in the type of psi on a GPU. See Gauge for
        places."""
        if not given(psi, "psi").on_device:
            psi = psi if isinstance(psi, np.ndarray) and psi.dtype == np.complex128 else _values.numbers(
                psi, np.complex128, "psi")
            if np.empty_like(psi).strides != psi.strides:
                psi = np.ascontiguousarray(psi)
        out = _like(psi, self.lattice, "psi")
        address, length, layout = _spinors(psi, self.lattice, axes, basis, None, "psi", places=places)
        to, _, _ = _spinors(out, self.lattice, axes, basis, None, "result", places=places)
        _c.call("plaquette_operator_apply", self._handle, to, address, length, ctypes.byref(layout),
                _values.flag(dagger, "dagger"))
        return out

    def follow(self, links: Gauge) -> None:
        """Takes these links as they are now, in place of those before."""
        _c.call("plaquette_operator_follow", self._handle, _values.instance(links, Gauge, "links")._handle)

    def apply_vectors(self, x: Vectors, y: Vectors | None = None, *, dagger: bool = False, gamma_5: bool = False,
                      shift: float = 0.0, mu: Any = None) -> Vectors:
        """Returns y = G (A + shift + i mu gamma_5) x, or G (A^+ + shift - i mu gamma_5) x. A is M on all sites and
        Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe on even ones; G is gamma_5 or 1. mu is one number or one a column."""
        y = _values.instance(x, Vectors, "vectors").like() if y is None else _values.instance(y, Vectors, "y")
        numbers, count = _mu(mu)
        form = _c.OperatorForm(dagger=_values.flag(dagger, "dagger"), gamma_5=_values.flag(gamma_5, "gamma_5"),
                               mu_count=count, shift=_values.real(shift, "shift"), mu=ctypes.cast(numbers, ctypes.c_void_p))
        _c.call("plaquette_operator_apply_vectors", self._handle, y._handle, x._handle, ctypes.byref(form))
        return y

    def _on_vector(self, vector: np.ndarray, dagger: bool) -> np.ndarray:
        psi = _values.numbers(vector, np.complex128, "vector").reshape(*self.lattice.shape, 4, 3)
        return self.apply(psi, dagger).reshape(-1)

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        """Returns M v."""
        return self._on_vector(vector, False)

    def rmatvec(self, vector: np.ndarray) -> np.ndarray:
        """Returns M^+ v."""
        return self._on_vector(vector, True)

    def as_linear_operator(self) -> Any:
        """Returns a scipy.sparse.linalg.LinearOperator."""
        from scipy.sparse.linalg import LinearOperator
        return LinearOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, dtype=self.dtype)


@dataclass
class Modes:
    """Modes of H (kind h): H v = lambda v. Or of D^+ D in one chirality (plus, minus): D^+ D v = e v. Vectors are
    orthonormal arrays [n][t][z][y][x][s][c], those of one chirality with 0 in the other. `passed`: whether residuals,
    computed by the library, meet their tolerance."""
    values: np.ndarray
    vectors: Any
    residuals: np.ndarray | None = None
    passed: bool = False

    def _structure(self, lattice: Lattice, what: str) -> tuple[Any, Any]:
        values = _values.numbers(self.values, np.float64, what)
        if len(values) == 0:
            return _c.Modes(), None
        vectors = given(self.vectors, what)
        address, length, layout = _spinors(vectors, lattice, "ntzyxsc", "degrand-rossi", len(values), what)
        return _c.Modes(count=len(values), values=values.ctypes.data, vectors=address, length=length,
                        layout=ctypes.pointer(layout)), (values, vectors, layout)


class Overlap(_Object):
    """Solves for D = 1 + gamma_5 sign(H). `given`: Modes by kind that are not computed; those of H are h, those of D^+ D
    plus and minus. They are checked before they are used."""
    _free = "plaquette_overlap_free"

    def __init__(self, links: Gauge, rho: float = 1.4, kernel_modes: int = 8, modes: int = 4, *,
                 mode_tolerance: float = 1e-6, boundary_phase: Sequence[complex] = (1, 1, 1, -1), device: str = "cpu",
                 seed: int = 1, given: Mapping[str, Modes] | None = None, progress: _Told = None):
        self.lattice = _values.instance(links, Gauge, "links").lattice
        self._handle = _c.Overlap()
        for kind, modes_of in (given or {}).items():
            _choice(_MODES, kind, "kind of modes")
            _values.instance(modes_of, Modes, f"modes {kind}")
        parts = [given[kind]._structure(self.lattice, f"modes {kind}") if given and kind in given else (_c.Modes(), None)
                 for kind in _MODES]
        options = _c.OverlapOptions(device=_choice(_DEVICES, device, "device"),
                                    kernel_modes=_values.whole(kernel_modes, "kernel_modes"),
                                    modes=_values.whole(modes, "modes"), rho=_values.real(rho, "rho"),
                                    mode_tolerance=_values.real(mode_tolerance, "mode_tolerance"),
                                    boundary_phase=_pairs(boundary_phase), seed=_values.seed(seed))
        with _c.telling(progress):
            _c.call("plaquette_overlap_create_with_modes", ctypes.byref(self._handle), links._handle,
                    ctypes.byref(options), *(ctypes.byref(part[0]) for part in parts))

    def follow(self, links: Gauge, progress: _Told = None) -> None:
        """Takes these links as they are now, in place of those before. H takes them in its memory. As many modes as there were
        are found for them."""
        with _c.telling(progress):
            _c.call("plaquette_overlap_follow", self._handle, _values.instance(links, Gauge, "links")._handle)

    def modes(self, kind: str = "h") -> Modes:
        """Returns the modes of H (h), or of D^+ D in one chirality (plus, minus)."""
        number, count = _choice(_MODES, kind, "kind of modes"), ctypes.c_int()
        _c.call("plaquette_overlap_mode_count", self._handle, number, ctypes.byref(count))
        values, residuals = np.empty(count.value), np.empty(count.value)
        vectors = np.empty((count.value, *self.lattice.shape, 4, 3), np.complex128)
        code = _c.call("plaquette_overlap_mode_values", self._handle, number, values.ctypes.data, residuals.ctypes.data,
                       count.value, numbers_are_there=True)
        if count.value > 0:
            address, length, layout = _spinors(vectors, self.lattice, "ntzyxsc", "degrand-rossi", count.value, "modes")
            _c.call("plaquette_overlap_mode_vectors", self._handle, number, address, length, ctypes.byref(layout))
        return Modes(values, vectors, residuals, code == 0 and count.value > 0)

    @property
    def index(self) -> int:
        """Returns the zero modes of gamma_5 = +1 minus those of -1."""
        index = ctypes.c_int()
        _c.call("plaquette_overlap_index", self._handle, ctypes.byref(index))
        return index.value

    def solve(self, source: Source, masses: Sequence[float], tolerance: float = 1e-10, iteration_limit: int = 3000,
              judge: bool = True, progress: _Told = None) -> list[Propagator]:
        """Returns a propagator for each mass; masses ascend."""
        _refuse_links_of(_values.instance(source, Source, "source"))
        masses = _values.several(masses, None, "masses", _values.real)
        handles = (_c.Propagator * len(masses))()
        with _c.telling(progress):
            return _c.solved("plaquette_overlap_solve", handles, self._handle, ctypes.byref(_source(source)),
                             (ctypes.c_double * len(masses))(*masses), len(masses),
                             ctypes.byref(_rule(tolerance, iteration_limit, judge)),
                             result=lambda code: self._propagators(handles, code) if handles[0].key else None)

    def _propagators(self, handles: Any, code: int) -> list[Propagator]:
        quarks = []
        for handle in handles:
            own, results = _c.Propagator(handle.key), (_c.Result * 12)()
            of_this = _c.call("plaquette_propagator_results", own, results, numbers_are_there=True)
            if of_this == _c.NO_CONVERGENCE and code == _c.INTERRUPTED:
                of_this = code
            quarks.append(Propagator(self.lattice, own, Verdict._of(results, of_this)))
        return quarks


class Waves(_Object):
    """Sound (p, u, v, w) or light (Hx, Hy, Hz, Ex, Ey, Ez) in time, by nodal discontinuous Galerkin on tetrahedra of the
    caller. `vertices`: [vertex][x, y, z]; `elements`: [element][4], the numbers of vertices in any order; `media`:
    [element][2], 1/K and rho of sound, eps and mu of light. Where a face has no other element a side is; it reflects, or
    is `absorbing`. States are arrays [column][field][element][node]. With `comm` each rank has some of the elements."""
    _free = "plaquette_waves_free"

    def __init__(self, vertices: Any, elements: Any, media: Any = None, **options: Any):
        points = _values.numbers(vertices, np.float64, "vertices")
        if isinstance(elements, np.ma.MaskedArray):
            _values.refuse("elements", "an array without a mask", type(elements))
        corners, numbers = np.asarray(elements), None
        if points.ndim != 2 or points.shape[1] != 3 or corners.ndim != 2 or corners.shape[1] != 4:
            raise PlaquetteError(_c.UNUSABLE_INPUT, f"waves: expected vertices [n][3] and elements [n][4], found arrays of "
                                 f"shape {points.shape} and {corners.shape}")
        if corners.dtype.kind not in "iu" or (corners.size and not 0 <= corners.min() <= corners.max() < len(points)):
            raise PlaquetteError(_c.UNUSABLE_INPUT, f"waves: expected elements of whole numbers from 0 to "
                                 f"{len(points) - 1}, found others")
        corners = np.ascontiguousarray(corners, np.int32)
        if media is not None:
            numbers = _values.numbers(media, np.float64, "media")
            if numbers.shape != (len(corners), 2):
                raise PlaquetteError(_c.UNUSABLE_INPUT, f"waves: expected media [{len(corners)}][2], found an array of "
                                     f"shape {numbers.shape}")
        mesh = _c.WaveMesh(vertices=points.ctypes.data, vertex_count=len(points), elements=corners.ctypes.data,
                           element_count=len(corners), media=None if numbers is None else numbers.ctypes.data)
        self._make("plaquette_waves_create_on_mesh", ctypes.byref(mesh), **options)

    @classmethod
    def box(cls, cells: Sequence[int] = (4, 4, 4), low: Sequence[float] = (-1, -1, -1), high: Sequence[float] = (1, 1, 1),
            periodic: Sequence[bool] = (False, False, False), **options: Any) -> "Waves":
        """Returns waves on a box of cubes, six tetrahedra each."""
        box = _c.WaveBox(cells=_ints(cells, 3, "cells"),
                         periodic=(ctypes.c_int * 3)(*_values.several(periodic, 3, "periodic", _values.flag)),
                         low=_doubles(low, 3, "low"), high=_doubles(high, 3, "high"))
        return cls.__new__(cls)._make("plaquette_waves_create", ctypes.byref(box), **options)

    @classmethod
    def read(cls, file: str, **options: Any) -> "Waves":
        """Returns waves on the tetrahedra of a Gmsh file. One medium fills it."""
        return cls.__new__(cls)._make("plaquette_waves_create_from_file", _values.path(file), **options)

    def _make(self, function: str, shape: Any, equations: str = "acoustics", order: int = 3, columns: int = 1,
              device: str = "cpu", precision: str = "double", upwinding: float = 1.0, absorbing: bool = False,
              comm: Any = None) -> "Waves":
        how = _c.WaveOptions(equations=_choice(_EQUATIONS, equations, "equations"),
                             order=_values.whole(order, "order"), columns=_values.whole(columns, "columns"),
                             device=_choice(_DEVICES, device, "device"),
                             precision=_choice(_PRECISIONS, precision, "precision"), absorbing=_values.flag(absorbing, "absorbing"),
                             upwinding=_values.real(upwinding, "upwinding"))
        if comm is not None:
            how.has_mpi, how.communicator = 1, _values.communicator(comm)
        self._handle, extents = _c.Waves(), (ctypes.c_int64 * 4)()
        _c.call(function, ctypes.byref(self._handle), shape, ctypes.byref(how))
        _c.call("plaquette_waves_extents", self._handle, extents)
        self.shape: tuple[int, ...] = tuple(extents)
        return self

    def _filled(self, function: str, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        numbers = np.empty(shape, dtype)
        _c.call(function, self._handle, numbers.ctypes.data, numbers.size)
        return numbers

    @property
    def elements(self) -> np.ndarray:
        """Returns the numbers of this rank's elements in the whole mesh."""
        return self._filled("plaquette_waves_elements", self.shape[2:3], np.int32)

    @property
    def positions(self) -> np.ndarray:
        """Returns where nodes are: [element][node][x, y, z]."""
        return self._filled("plaquette_waves_positions", (*self.shape[2:], 3))

    @property
    def energies(self) -> np.ndarray:
        """Returns the energy of each column over all ranks."""
        return self._filled("plaquette_waves_energies", self.shape[:1])

    def _number(self, function: str) -> float:
        number = ctypes.c_double()
        _c.call(function, self._handle, ctypes.byref(number))
        return number.value

    @property
    def stable_step(self) -> float:
        """Returns a time step that is stable."""
        return self._number("plaquette_waves_stable_step")

    @property
    def time(self) -> float:
        """Returns the time of the state."""
        return self._number("plaquette_waves_time")

    def set_state(self, state: Any, time: float = 0.0) -> None:
        """Begins with a state [column][field][element][node]."""
        numbers = _values.numbers(state, np.float64, "state")
        if numbers.shape != self.shape:
            raise PlaquetteError(_c.UNUSABLE_INPUT, f"state: expected an array of shape {self.shape}, found "
                                 f"{numbers.shape}")
        _c.call("plaquette_waves_set_state", self._handle, numbers.ctypes.data, numbers.size,
                _values.real(time, "time"))

    def state(self, out: np.ndarray | None = None) -> np.ndarray:
        """Returns the state, or puts it into a dense array."""
        out = np.empty(self.shape) if out is None else out
        if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
            _values.refuse("state", "an array of numpy without a mask", type(out))
        if out.shape != self.shape or out.dtype != np.float64 or not (out.flags.c_contiguous and out.flags.writeable):
            raise PlaquetteError(_c.UNUSABLE_INPUT, f"state: expected a dense float64 array of shape {self.shape} that can "
                                 f"be written, found {out.dtype} of shape {out.shape}")
        _c.call("plaquette_waves_get_state", self._handle, out.ctypes.data, out.size)
        return out

    def advance(self, steps: int = 1, dt: float | None = None, judge: bool = True, progress: _Told = None) -> Verdict:
        """Does time steps, of `stable_step` by default. The last one is repeated by the textbook solver of the CPU, and
        no column's energy may grow. A dt that is not stable on this mesh is refused. A call that is stopped raises, and
        leaves the state of the last step that was done: `time` says which."""
        two = (ctypes.c_double * 2)()
        with _c.telling(progress):
            code = _c.call("plaquette_waves_advance", self._handle, _values.whole(steps, "steps", -2**63, 2**63 - 1),
                           self.stable_step if dt is None else _values.real(dt, "dt"), _values.flag(judge, "judge"), two,
                           numbers_are_there=True)
        failed = _c.library.plaquette_last_message().decode() if code else ""
        return Verdict(code == 0, two[0], two[1], code, (), failed or
                       f"passed, last step against the textbook {two[0]:.2e}, tolerance {two[1]:.2e}")
