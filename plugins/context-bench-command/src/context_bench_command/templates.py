"""Placeholders such as ``{question}`` in arguments and prompts.

An argument stays one argument whatever a placeholder stands for: no shell sees it and nothing is split. ``{{question}}`` is
the text ``{question}``; braces around anything but a name are themselves.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from context_bench.prompts import prompt_texts, text_of_field

_PLACEHOLDER = re.compile(r"\{(\{?)([A-Za-z_][A-Za-z0-9_-]*)\}(\}?)")
PROMPT = "prompt"


def fill(template: str, example: Mapping[str, Any], prompt: str = "") -> str:
    """Return a template with the fields of an example in place of their names.

    >>> fill("Q: {question} {x y} {{question}}", {"question": "Where?"})
    'Q: Where? {x y} {question}'

    Args:
        template: The template.
        example: The example.
        prompt: What ``{prompt}`` stands for.

    Raises:
        ValueError: The example lacks a field.
    """

    def put(match: re.Match[str]) -> str:
        opening, name, closing = match.groups()
        if opening and closing:
            return f"{{{name}}}"
        if name == PROMPT and PROMPT not in example:
            return f"{opening}{prompt}{closing}"
        if name not in example:
            raise ValueError(
                f"the example has no field {name!r} for the placeholder {{{name}}}; it has {', '.join(map(str, example))}"
            )
        return f"{opening}{text_of_field(example[name])}{closing}"

    return _PLACEHOLDER.sub(put, template)


def names_in(templates: Iterable[str]) -> list[str]:
    """Return the names of the placeholders in templates."""
    found = (match.groups() for template in templates for match in _PLACEHOLDER.finditer(template))
    return list(
        dict.fromkeys(name for opening, name, closing in found if not (opening and closing))
    )


def default_prompt(example: Mapping[str, Any]) -> str:
    """Return context, blank line and question with its instruction as one text.

    Raises:
        ValueError: The example has neither a context nor a question.
    """
    texts = prompt_texts(example).present
    if not texts:
        raise ValueError(
            f"the example has neither a context nor a question; it has {', '.join(map(str, example))}"
        )
    return "\n\n".join(texts)


def json_line(value: Any) -> bytes:
    r"""Return a value as a line of JSON in ASCII; NaN and Infinity, which JSON does not have, are null.

    >>> json_line({"price": float("nan")})
    b'{"price": null}\n'
    """
    try:
        text = json.dumps(value, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), default=str)
    return text.encode("ascii") + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
