"""Products of many small blocks at once, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.kernels import gram

pytestmark = pytest.mark.numerical


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6), rows=st.integers(1, 70), seed=st.integers(0, 99))
def test_every_block_gains_its_product_below_the_diagonal_and_nothing_else_is_touched(sizes, rows, seed):
    rng = np.random.default_rng(seed)
    operand = rng.normal(size=(sum(sizes) + 3, rows))
    gap = 2  # between blocks, of the operand and of what is found
    firsts = np.cumsum([1, *sizes[:-1]])
    starts = np.cumsum([gap, *(m * m + gap for m in sizes[:-1])])
    before = rng.normal(size=starts[-1] + sizes[-1] ** 2 + gap)
    out = before.copy()
    gram.add(np.column_stack([firsts, sizes, starts]), operand, out)
    expected = before.copy()
    for first, m, start in zip(firsts, sizes, starts, strict=True):
        X = operand[first : first + m]
        expected[start : start + m * m] += np.tril(X @ X.T).ravel()
    assert np.allclose(out, expected, rtol=0, atol=1e-13 * rows)
    assert np.array_equal(out[expected == before], before[expected == before])


@pytest.mark.parametrize(("features", "widest"), [({"avx512f": True}, None), ({"avx2": True}, gram.NARROW), ({}, 48)])
def test_with_few_registers_wide_blocks_are_left_to_blas(monkeypatch, features, widest):
    from llvmlite import binding

    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: features)
    assert gram.widest() == widest
