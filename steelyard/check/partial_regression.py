"""What one signal explains of another once others have had their share."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def partial(x: Array, y: Array, beside: Array) -> tuple[float, float]:
    """Slope of y on x with other columns beside, and the share of the rest of y that x explains."""
    if beside.size:
        Q = np.linalg.qr(beside / np.maximum(np.linalg.norm(beside, axis=0), 1e-12))[0]
        x, y = x - Q @ (Q.T @ x), y - Q @ (Q.T @ y)
    xx, yy, xy = float(x @ x), float(y @ y), float(x @ y)
    return (xy / xx, xy * xy / (xx * yy)) if xx > 0 and yy > 0 else (1.0, 0.0)
