"""How kernels are compiled: at their first call, once a machine (numba's cache), without the interpreter's lock.

Sums may be reordered and multiply-adds fused, so that loops vectorise; NaN and infinity keep their meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function as machine code; plain loops over C-contiguous arrays."""
    fast = {"reassoc", "contract", "nsz"}
    return cast(F, njit(cache=True, nogil=True, fastmath=fast, error_model="numpy")(function))
