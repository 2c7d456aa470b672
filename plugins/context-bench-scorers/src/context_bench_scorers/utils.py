"""What the page's submodule of this name holds."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def suppress_warnings(logger_name: str) -> Iterator[None]:
    """Let a logger say nothing below an error for as long as the block lasts.

    >>> with suppress_warnings("some.library"):
    ...     logging.getLogger("some.library").warning("not shown")

    Args:
        logger_name: Name of the logger.
    """
    logger = logging.getLogger(logger_name)
    before = logger.level
    logger.setLevel(max(logging.ERROR, logger.getEffectiveLevel()))
    try:
        yield
    finally:
        logger.setLevel(before)
