"""What an instruction comes down to."""

from __future__ import annotations

from collections.abc import Callable

Check = Callable[[str], bool]
"""Says of a response that is not blank whether it follows the instruction."""
