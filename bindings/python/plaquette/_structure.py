# SPDX-License-Identifier: BSD-3-Clause
"""What structures of plaquette.h have in common."""
import ctypes
from typing import Any


class Handle(ctypes.Structure):
    """The key of an object."""
    _fields_ = [("key", ctypes.c_uint64)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a handle of plaquette cannot be pickled or copied: it names an object of this process")


class Options(ctypes.Structure):
    """A structure that begins with its size; other members are 0 unless they are given."""

    def __init__(self, **values: Any):
        super().__init__(size=ctypes.sizeof(type(self)), **values)
