"""Whether a scorer gives today's value or that of the predecessor."""

from __future__ import annotations

from context_bench_scorers import UserValueError


def is_arthur(parity: str | None) -> bool:
    """Return whether the predecessor's values are wanted.

    Raises:
        UserValueError: The option is neither None nor ``"arthur"``.
    """
    if parity not in (None, "", "arthur"):
        raise UserValueError(f"parity must be 'arthur' or None, not {parity!r}.")
    return parity == "arthur"
