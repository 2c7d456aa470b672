"""BFCL's AST match: the calls of a response against the values that each argument may have.

Patil et al., "The Berkeley Function Calling Leaderboard", https://gorilla.cs.berkeley.edu/leaderboard.html. An expected call is
``{name: {argument: [accepted values]}}``; the empty text among them says that the argument may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_agents.calls import FunctionCall, calls_of, parse_calls

Expected = Mapping[str, Mapping[str, Sequence[Any]]]


class BFCLMatch:
    """1.0 where a response makes exactly the expected calls, in any order, else 0.0.

    Names have to agree, an argument that is not expected is wrong, and so is a missing one that may not be left out. Texts are
    compared without case, white space and ``,./-_*^``; a whole number is accepted for a real one. Where no call is expected, a
    response without calls is right.

    Score keys: ``bfcl_ast``.
    """

    name = "bfcl_ast"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``ground_truth``, a list of expected calls or of calls as texts.
            processed: The output: ``response`` with calls as Python or JSON, or ``tool_calls``.

        Returns:
            ``{"bfcl_ast": 0.0 or 1.0}``; ``{}`` where the expected calls are not known, or there is no response.
        """
        expected = expected_calls(original.get("ground_truth"))
        if expected is None or (not isinstance(processed.get("response"), str) and not processed.get("tool_calls")):
            return {}
        calls = calls_of(processed) or []
        return {"bfcl_ast": float(len(calls) == len(expected) and _all_match(calls, expected))}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def expected_calls(ground_truth: Any) -> list[Expected] | None:
    """Return the expected calls; None where a ground truth does not tell them, as the result of a request does not."""
    if not isinstance(ground_truth, list | tuple):
        return None
    found: list[Expected] = []
    for each in ground_truth:
        if isinstance(each, Mapping):
            found.append(each)
            continue
        calls = parse_calls(each) if isinstance(each, str) else None
        if not calls:
            return None
        found.extend({call.name: {name: [accepted(value)] for name, value in call.arguments.items()}} for call in calls)
    return found


def accepted(value: Any) -> Any:
    """Return a value in the form in which expected calls hold it: tables hold a list of accepted values for each key."""
    if isinstance(value, Mapping):
        return {key: [accepted(inner)] for key, inner in value.items()}
    return [accepted(inner) for inner in value] if isinstance(value, list | tuple) else value


def written(expected: Expected) -> str:
    """Return an expected call as Python, with the first of its accepted values.

    >>> written({"area": {"base": [10], "unit": ["", "cm"]}})
    'area(base=10)'
    """
    [(name, arguments)] = expected.items()
    given = {key: values[0] for key, values in arguments.items() if values and values[0] != ""}
    return f"{name}({', '.join(f'{key}={_plain(value)!r}' for key, value in given.items())})"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        first = {key: _listed(inner)[0] for key, inner in value.items() if _listed(inner)}
        return {key: _plain(inner) for key, inner in first.items() if inner != ""}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _all_match(calls: Sequence[FunctionCall], expected: Sequence[Expected]) -> bool:
    """Whether the calls can be paired with the expected ones, each once (augmenting paths, as there may be many)."""
    fits = [[_matches(call, each) for each in expected] for call in calls]
    partner: dict[int, int] = {}

    def pair(call: int, seen: set[int]) -> bool:
        for each in range(len(expected)):
            if fits[call][each] and each not in seen:
                seen.add(each)
                if each not in partner or pair(partner[each], seen):
                    partner[each] = call
                    return True
        return False

    return all(pair(call, set()) for call in range(len(calls)))


def _matches(call: FunctionCall, expected: Expected) -> bool:
    [(name, arguments)] = expected.items()
    if call.name not in (name, name.replace(".", "_")):
        return False
    return _table_matches(call.arguments, arguments)


def _table_matches(given: Mapping[str, Any], expected: Mapping[str, Sequence[Any]]) -> bool:
    if any(key not in expected for key in given):
        return False
    return all(
        any(_equal(given[key], value) for value in values) if key in given else not values or "" in values
        for key, values in expected.items()
    )


def _equal(given: Any, value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(given, Mapping) and _table_matches(given, {k: _listed(v) for k, v in value.items()})
    if isinstance(value, list | tuple):
        if not isinstance(given, list | tuple) or len(given) != len(value):
            return False
        return all(_equal(ours, theirs) for ours, theirs in zip(given, value, strict=True))
    if isinstance(value, str) and isinstance(given, str):
        return _bare(given) == _bare(value)
    if isinstance(value, bool) or isinstance(given, bool):
        return isinstance(value, bool) and isinstance(given, bool) and given == value
    if isinstance(value, int | float) and isinstance(given, int | float):
        return given == value
    return bool(given == value)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _bare(text: str) -> str:
    return re.sub(r"[ \,\.\/\-\_\*\^]", "", text).lower().replace("'", '"')
