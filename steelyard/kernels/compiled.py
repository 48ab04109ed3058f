"""How kernels are compiled: at their first call, once a machine (numba's cache), without the interpreter's lock.

Sums may be reordered and multiply-adds fused, so that loops vectorise; NaN and infinity keep their meaning.
``exactly`` keeps the order of sums, for arithmetic that lives on rounding.
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
    """The function as machine code; plain loops over C-contiguous arrays."""
    return _compile(function, {"reassoc", "contract", "nsz"})


def exactly(function: F) -> F:
    """The same with every sum in the order it is written."""
    return _compile(function, {"contract"})


def _compile(function: F, fast: set[str]) -> F:
    made: Any = njit(cache=True, nogil=True, fastmath=fast, error_model="numpy")(function)
    _stamp(made)
    return cast(F, made)


def _stamp(kernel: Any) -> None:
    """Keep a cached kernel only while no file of this folder changes; the one place that knows numba from inside.

    The cache knows a kernel by its own file alone, but its machine code holds that of kernels in other files.
    """
    if hasattr(kernel, "_cache"):  # with NUMBA_DISABLE_JIT it is the function itself
        kernel._cache._cache_file._source_stamp = STAMP


def _copy_lanes(_: Any, source: Any, k: Any, out: Any, at: Any) -> Any:
    """``out[at : at + 16] = source[k : k + 16]`` as packed moves: the loop itself would not be packed."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = ir.VectorType(ir.DoubleType(), LANES).as_pointer()
        a, b = (context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 2))
        start, goal = (builder.bitcast(builder.gep(x, [arguments[i]]), lanes) for x, i in ((a, 1), (b, 3)))
        builder.store(builder.load(start, align=8), goal, align=8)
        return context.get_dummy_value()

    return types.void(source, k, out, at), code


copy_lanes: Callable[..., None] = intrinsic(_copy_lanes)
