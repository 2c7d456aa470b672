"""pass@k, estimated without bias from n samples."""

from __future__ import annotations

import math


def pass_at_k(n: int, c: int, k: int) -> float:
    """The probability that at least one of k samples passes, from n samples of which c passed.

    The unbiased estimate 1 - C(n-c, k) / C(n, k) of Chen et al. (2021), arXiv:2107.03374, as a product, which neither
    overflows nor loses digits. The value for a benchmark is the mean over its problems.

    >>> round(pass_at_k(10, 3, 1), 4), round(pass_at_k(10, 3, 5), 4)
    (0.3, 0.9167)

    Raises:
        ValueError: Not 0 <= c <= n, or not 1 <= k <= n, or one of them is no whole number.
    """
    if any(number % 1 for number in (n, c, k)):
        raise ValueError(f"pass_at_k() takes whole numbers, not n={n!r}, c={c!r}, k={k!r}.")
    if not 0 <= c <= n:
        raise ValueError(
            f"pass_at_k() was told that {c} of {n} samples passed; c must be from 0 to n."
        )
    if not 1 <= k <= n:
        raise ValueError(f"pass_at_k() cannot draw {k} of {n} samples; k must be from 1 to n.")
    if n - c < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(n - c + 1, n + 1))
