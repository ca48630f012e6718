# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of callers: of numpy, and on a GPU by __cuda_array_interface__ or DLPack, which cupy, torch, jax and numba have."""
from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _c, _values
from ._c import PlaquetteError

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13  # kinds of devices of DLPack


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h, and what manages it."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5}
_NAME = b"dltensor"
_Delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _api))
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_exported: dict[int, Any] = {}  # what tensors that others hold need, and last a list of the capsule


@_Delete
def _forget(tensor: int) -> None:
    _exported.pop(tensor, None)


def _holders(held: list) -> int:
    return sys.getrefcount(held[0])


_ONLY_OURS = _holders([object()])


def forget_unused() -> None:
    """Frees what was not taken. A destructor of the capsule would lose the exception that ends it: Python code runs there."""
    for tensor, kept in list(_exported.items()):
        if _holders(kept[-1]) <= _ONLY_OURS and _is_valid(kept[-1][0], _NAME):  # else its consumer forgets
            _exported.pop(tensor, None)


def to_dlpack(owner: Any, address: int, shape: tuple[int, ...], dtype: Any, device: tuple[int, int]) -> Any:
    """Returns a capsule of DLPack for dense memory that `owner` keeps."""
    lengths = (ctypes.c_int64 * len(shape))(*shape)
    tensor = _Tensor(data=address, device_type=device[0], device_id=device[1], ndim=len(shape), code=_CODES[dtype.kind],
                     bits=8 * dtype.itemsize, lanes=1, shape=lengths, deleter=ctypes.cast(_forget, ctypes.c_void_p))
    forget_unused()
    at = ctypes.addressof(tensor)
    capsule = _new(at, _NAME, None)
    _exported[at] = (tensor, lengths, owner, [capsule])
    return capsule


@dataclass(frozen=True)
class Given:
    """An array where it lies. Strides are in bytes."""
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]
    address: int
    on_device: bool
    writeable: bool
    keeps: Any

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("the address of an array cannot be pickled or copied")

    @property
    def ndim(self) -> int:
        """Returns the number of axes."""
        return len(self.shape)


def _dense(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple(size * int(np.prod(shape[n + 1:])) for n in range(len(shape)))


def _from_dlpack(array: Any, what: str) -> Given:
    # The library waits for all that is queued. Such a tensor does not say whether it may be written: it is not.
    capsule = array.__dlpack__(stream=-1)
    t = _Tensor.from_address(_pointer_in(capsule, _NAME))
    kinds = {code: kind for kind, code in _CODES.items()}
    if t.code not in kinds or t.lanes != 1 or t.bits % 8 != 0:
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected complex numbers, found type {t.code} of DLPack")
    dtype, shape = np.dtype(f"{kinds[t.code]}{t.bits // 8}"), tuple(t.shape[:t.ndim])
    strides = tuple(dtype.itemsize * step for step in t.strides[:t.ndim]) if t.strides else _dense(shape, dtype.itemsize)
    return Given(shape, dtype, strides, (t.data or 0) + t.byte_offset, True, False, capsule)


def given(array: Any, what: str) -> Given:
    """Returns an array of numpy, of the GPU, or what numpy makes one of."""
    if isinstance(array, Given):
        return array
    if isinstance(array, np.ma.MaskedArray):
        raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected an array without a mask")
    if not isinstance(array, np.ndarray):
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            if interface.get("mask") is not None:
                raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected an array without a mask")
            dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
            return Given(shape, dtype, interface.get("strides") or _dense(shape, dtype.itemsize), interface["data"][0],
                         True, not interface["data"][1], array)
        if hasattr(array, "__dlpack__"):
            kind = array.__dlpack_device__()[0]
            if kind in (_CUDA, _CUDA_MANAGED):
                return _from_dlpack(array, what)
            if kind not in (_CPU, _CUDA_HOST):
                raise PlaquetteError(_c.UNUSABLE_INPUT, f"{what}: expected memory of the host or of a CUDA GPU, found "
                                     f"device {kind} of DLPack")
            array = np.from_dlpack(array)
        else:
            array = np.asarray(array)
    return Given(array.shape, array.dtype, array.strides, array.ctypes.data, False, array.flags.writeable, array)


class DeviceArray:
    """A dense array on the GPU of this rank. cupy, torch and numba take it by __cuda_array_interface__, jax by DLPack."""

    def __init__(self, lattice: Any, shape: tuple[int, ...], dtype: Any = np.complex128):
        self.shape = tuple(_values.several(shape, None, "shape", lambda n, name: _values.whole(n, name, 0, 2**40)))
        self.dtype, self.lattice = np.dtype(dtype), lattice
        forget_unused()
        self.nbytes = self.dtype.itemsize * int(np.prod(self.shape))
        self._handle, address, number = _c.DeviceMemory(), ctypes.c_void_p(), ctypes.c_int()
        _c.call("plaquette_device_memory_create", ctypes.byref(self._handle), lattice._handle, self.nbytes,
                ctypes.byref(address), ctypes.byref(number))
        self.address, self.device = address.value, number.value

    @classmethod
    def of(cls, lattice: Any, array: np.ndarray) -> "DeviceArray":
        """Returns a copy of an array of numpy."""
        if isinstance(array, np.ma.MaskedArray):
            _values.refuse("array", "one without a mask", type(array))
        array = np.ascontiguousarray(array)
        made = cls(lattice, array.shape, array.dtype)
        _c.call("plaquette_device_memory_write", made._handle, ctypes.c_void_p(array.ctypes.data), array.nbytes)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a DeviceArray cannot be pickled or copied: its memory is of this process; send numpy() of it")

    def numpy(self) -> np.ndarray:
        """Returns a copy in memory of the host."""
        array = np.empty(self.shape, self.dtype)
        _c.call("plaquette_device_memory_read", self._handle, ctypes.c_void_p(array.ctypes.data), array.nbytes)
        return array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}

    def __dlpack__(self, stream: Any = None) -> Any:  # what the library wrote is there
        return to_dlpack(self, self.address, self.shape, self.dtype, self.__dlpack_device__())

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.device

    def __del__(self) -> None:
        try:
            _c.library.plaquette_device_memory_free(ctypes.byref(self._handle))
        except Exception:  # pylint: disable=broad-except  # the interpreter is ending, or nothing was made
            pass
