"""Compilation of kernels: at their first call, cached on disk by numba, without the interpreter's lock.

Sums may be reordered and multiply-adds fused, so that loops vectorise; NaN and infinity keep their meaning.
``exactly`` keeps the order of operations, for arithmetic that relies on rounding.

Kernels borrow their arrays from the caller: they are compiled without numba's runtime, whose counting of references
(atomic, two for each slice) took a third of an online step. So they cannot allocate: what would is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from steelyard.kernels.tree import LANES

F = TypeVar("F", bound=Callable[..., object])
STAMP = tuple((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(Path(__file__).parent.glob("*.py")))


def compiled(function: F) -> F:
    """Compile a function: plain loops over C-contiguous arrays."""
    return _compile(function, {"reassoc", "contract", "nsz"})


def exactly(function: F) -> F:
    """Compile a function without reordering its operations."""
    return _compile(function, {"contract"})


def inlined(function: F) -> F:
    """Insert a function where it is called: only so can it return a slice."""
    return cast(F, njit(inline="always")(function))


def _compile(function: F, fast: set[str]) -> F:
    without: dict[str, Any] = {"_nrt": False}  # not documented by numba, as is the stamp
    kernel: Any = njit(cache=True, nogil=True, fastmath=fast, error_model="numpy", **without)(function)
    _stamp(kernel)
    return cast(F, kernel)


def _stamp(kernel: Any) -> None:
    """Invalidate a cached kernel when any file of this folder changes.

    numba's cache depends on a kernel's own file alone, but its machine code includes kernels of other files.
    """
    if hasattr(kernel, "_cache"):  # with NUMBA_DISABLE_JIT it is a plain function
        kernel._cache._cache_file._source_stamp = STAMP


def _copy_lanes(_: Any, source: Any, k: Any, out: Any, at: Any) -> Any:
    """``out[at : at + 16] = source[k : k + 16]`` as vector moves, since the plain loop does not vectorise."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = ir.VectorType(ir.DoubleType(), LANES).as_pointer()
        a, b = (context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 2))
        start, goal = (builder.bitcast(builder.gep(x, [arguments[i]]), lanes) for x, i in ((a, 1), (b, 3)))
        builder.store(builder.load(start, align=8), goal, align=8)
        return context.get_dummy_value()

    return types.void(source, k, out, at), code


@compiled
def copy(source: Any, out: Any) -> None:
    """``out[:] = source`` of one dimension; numba's own allocates a copy in case they overlap."""
    for i in range(len(out)):
        out[i] = source[i]


copy_lanes: Callable[..., None] = intrinsic(_copy_lanes)
