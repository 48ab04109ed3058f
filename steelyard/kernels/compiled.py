"""How kernels are compiled: at their first call, once a machine (numba's cache), without the interpreter's lock.

The cache knows a kernel by its own file alone, but its machine code holds that of kernels in other files; so each is
stamped with all files of this folder. Sums may be reordered and multiply-adds fused, so that loops vectorise; NaN and
infinity keep their meaning. ``exactly`` keeps the order of sums, for arithmetic that lives on rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from steelyard.kernels.tree import LANES

F = TypeVar("F", bound=Callable[..., object])
STAMP = tuple((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(Path(__file__).parent.glob("*.py")))


def _compile(function: F, fast: set[str]) -> F:
    made: Any = njit(cache=True, nogil=True, fastmath=fast, error_model="numpy")(function)
    if hasattr(made, "_cache"):  # with NUMBA_DISABLE_JIT it is the function itself
        made._cache._cache_file._source_stamp = STAMP
    return cast(F, made)


def compiled(function: F) -> F:
    """The function as machine code; plain loops over C-contiguous arrays."""
    return _compile(function, {"reassoc", "contract", "nsz"})


def exactly(function: F) -> F:
    """The same with every sum in the order it is written."""
    return _compile(function, {"contract"})


def _copy_lanes(_: Any, source: Any, k: Any, out: Any, at: Any) -> Any:
    """``out[at : at + 16] = source[k : k + 16]`` as two or four packed moves: the loop itself would not be packed."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2))
        start, goal = builder.gep(a.data, [arguments[1]]), builder.gep(b.data, [arguments[3]])
        move: Callable[..., None] = cgutils.raw_memcpy
        move(builder, goal, start, context.get_constant(types.intp, LANES), 8)
        return context.get_dummy_value()

    return types.void(source, k, out, at), code


copy_lanes: Callable[..., None] = intrinsic(_copy_lanes)
