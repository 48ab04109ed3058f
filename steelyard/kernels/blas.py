"""Two routines of BLAS and LAPACK on fixed buffers, called without the interpreter's lock.

SciPy's wrappers copy arrays that are not in Fortran order and hold the lock; these use the addresses that SciPy exports
to compiled code. X is C-ordered (m, k), m columns and k rows of the equations, so Xᵀ in Fortran order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from steelyard.spatial import Array

WIDE = 128  # columns: block size of dtpqrt is 8 up to this width, 16 beyond; others are slower


def gram(X: Array, G: Array) -> Callable[[], None]:
    """Return a function that adds X Xᵀ to the lower triangle of G (m, m)."""
    m, k = X.shape
    return _bound("dsyrk", cython_blas, b"U", b"T", m, k, 1.0, X, k, 1.0, G, m)


def triangle(X: Array, R: Array) -> Callable[[], None]:
    """Return a function that updates the triangle R by the rows Xᵀ: R'ᵀR' = RᵀR + X Xᵀ, by Householder reflections.

    R is stored transposed; X is overwritten.
    """
    m, k = X.shape
    nb = min(8 if m <= WIDE else 16, m)
    T, work = np.empty(nb * m), np.empty(nb * m)
    return _bound("dtpqrt", cython_lapack, k, m, 0, nb, R, m, X, k, T, nb, work, 0)


def _bound(name: str, library: Any, *arguments: bytes | int | float | Array) -> Callable[[], None]:
    """Bind a routine to its arguments, all by reference; arrays are kept alive with it."""
    function, kept, pointers = _routine(name, library), list[Any](), list[Any]()
    for x in arguments:
        if isinstance(x, np.ndarray):
            assert x.flags.c_contiguous and x.dtype == np.float64
            kept.append(x)
            pointers.append(ctypes.c_void_p(x.ctypes.data))
            continue
        value = (
            ctypes.c_char(x) if isinstance(x, bytes) else ctypes.c_int(x) if isinstance(x, int) else ctypes.c_double(x)
        )
        kept.append(value)
        pointers.append(ctypes.c_void_p(ctypes.addressof(value)))
    routine = function(len(pointers))

    def call(_alive: list[Any] = kept) -> None:
        routine(*pointers)

    return call


def _routine(name: str, library: Any) -> Callable[[int], Any]:
    capsule = library.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return lambda count: ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)
