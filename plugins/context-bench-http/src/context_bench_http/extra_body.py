"""Request fields that the user adds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def read_extra_body(
    extra_body: Mapping[str, Any] | str | None, reserved: Mapping[str, str]
) -> dict[str, Any]:
    """Return request fields that are given as a mapping or as JSON text.

    Args:
        extra_body: The fields.
        reserved: Fields that may not be among them, each with what to use instead.

    Raises:
        ValueError: They are no object, or one of them is reserved.
    """
    if isinstance(extra_body, str):
        try:
            extra_body = json.loads(extra_body or "{}")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"extra_body is no JSON object: {error}.") from None
    if extra_body is None:
        return {}
    if not isinstance(extra_body, Mapping):
        raise ValueError(
            f"extra_body must be a mapping of request fields, not {type(extra_body).__name__}."
        )
    for field, instead in reserved.items():
        if field in extra_body:
            raise ValueError(f"extra_body may not hold {field!r}: use {instead}.")
    return dict(extra_body)
