"""BFCL's AST match: the calls of a response against the values that each argument may have.

Patil et al., "The Berkeley Function Calling Leaderboard", https://gorilla.cs.berkeley.edu/leaderboard.html. An expected call is
``{name: {argument: [accepted values]}}``; the empty text among them says that the argument may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from context_bench.answers import marks_calls, plain_value, reply_of
from context_bench_agents.arguments import is_accepted, is_described, standard
from context_bench_agents.calls import FunctionCall, calls_of, decoded_calls, parse_calls
from context_bench_agents.foreign import TYPES, written_in


class Expected(NamedTuple):
    """An expected call: the accepted values of each argument, and whether its types count.

    They do not where a call was given as Python, since BFCL runs such a call and compares what it returns.
    """

    name: str
    arguments: Mapping[str, Sequence[Any]]
    has_types: bool = True


class BFCLMatch:
    """1.0 where a response makes exactly the expected calls, in any order, else 0.0.

    Names have to agree, an argument that is not expected is wrong, and so is a missing one that may not be left out. Texts are
    compared without case, white space and ``,./-_*^``; a whole number is accepted for a real one. Where the example describes the
    function (``tools``), an argument has to be of its type. Where no call is expected, a response without calls is right; where
    only ``relevance`` counts, any call is.

    Score keys: ``bfcl_ast``.

    Args:
        parity: "bfcl" reads of a text what BFCL's own decoder of prompted models reads, to reproduce its numbers: calls in a
            fence with a language, among words or as JSON are none. Left out, these are read.

    Raises:
        ValueError: ``parity`` is something else.
    """

    name = "bfcl_ast"

    def __init__(self, parity: str | None = None) -> None:
        if parity not in (None, "bfcl"):
            raise ValueError(f"parity of BFCLMatch must be 'bfcl' or left out, not {parity!r}.")
        self.parity = parity

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``ground_truth``, a list of expected calls or of calls as texts, ``tools``, the functions, and
                ``language``, "java" or "javascript" where it is one of them; or ``relevance``, which is true where any call
                is right.
            processed: The output: ``response`` with calls as source or JSON, or ``tool_calls``.

        Returns:
            ``{"bfcl_ast": 0.0 or 1.0}``; ``{}`` where the expected calls are not known, or there is no response.
        """
        returned = plain_value(processed.get("tool_calls"))
        if not isinstance(processed.get("response"), str) and not returned:
            return {}
        language = original["language"] if original.get("language") in tuple(TYPES) else "python"
        calls = calls_of(processed, language, decoded_calls if self.parity else None) or []
        if original.get("relevance"):
            return {"bfcl_ast": float(bool(calls))}
        expected = expected_calls(_plain_tree(original.get("ground_truth")))
        if expected is None:
            return {}
        if not expected and not self.parity and marks_calls(reply_of(processed) or ""):
            return {"bfcl_ast": 0.0}  # it calls where it should not, in mark-up that may be broken
        if (
            self.parity
            and not returned
            and {call.name for call in calls} != {each.name for each in expected}
        ):
            return {"bfcl_ast": 0.0}  # only models that call by an interface may write a_b for a.b
        return {
            "bfcl_ast": float(
                _all_match(
                    calls, expected, _described(_plain_tree(original.get("tools"))), language
                )
            )
        }

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score."""
        return {"parity": self.parity} if self.parity else {}


def _plain_tree(value: Any) -> Any:
    """A value with the arrays inside it, which Parquet makes of lists, as lists."""
    value = plain_value(value)
    if isinstance(value, Mapping):
        return {key: _plain_tree(inner) for key, inner in value.items()}
    return [_plain_tree(inner) for inner in value] if isinstance(value, list) else value


def expected_calls(ground_truth: Any) -> list[Expected] | None:
    """Return the expected calls; None where a ground truth does not tell them, as the result of a request does not."""
    if not isinstance(ground_truth, list | tuple):
        return None
    found: list[Expected] = []
    for each in ground_truth:
        if isinstance(each, Mapping):
            [(name, arguments)] = each.items()
            found.append(Expected(name, arguments))
            continue
        calls = parse_calls(each) if isinstance(each, str) else None
        if not calls:
            return None
        found += [
            Expected(call.name, {k: [accepted(v)] for k, v in call.arguments.items()}, False)
            for call in calls
        ]
    return found


def accepted(value: Any) -> Any:
    """Return a value in the form in which expected calls hold it: tables hold a list of accepted values for each key."""
    if isinstance(value, Mapping):
        return {key: [accepted(inner)] for key, inner in value.items()}
    return [accepted(inner) for inner in value] if isinstance(value, list | tuple) else value


def right_reply(expected: Sequence[Expected], tools: Any, language: str = "python") -> str | None:
    """Return calls that are right, each with the first of its accepted values; None where none are.

    None are where the release contradicts itself: a function needs an argument of which no value is accepted, say.
    """
    described = _described(tools)
    calls = ", ".join(written(each, described.get(each.name), language) for each in expected)
    reply = f"[{calls}]" if expected else ""
    return (
        reply
        if _all_match(parse_calls(reply, language) or [], expected, described, language)
        else None
    )


def written(
    expected: Expected, described: Mapping[str, Any] | None = None, language: str = "python"
) -> str:
    """Return an expected call, with the first of its accepted values, and without what may be left out.

    >>> written(Expected("area", {"base": [10], "unit": ["", "cm"]}))
    'area(base=10)'
    """
    needed = (described or {}).get("required") or ()
    known = described["properties"] if described and expected.has_types else expected.arguments
    given = dict[str, Any]()
    for name, values in expected.arguments.items():
        if name in needed:
            given[name] = next((value for value in values if value != ""), "")
        elif values and values[0] != "" and (name in known or "" not in values):
            given[name] = values[0]
    types = described["properties"] if described else {}
    sources = {
        name: _source(_plain(value), types.get(name), language) for name, value in given.items()
    }
    return f"{expected.name}({', '.join(f'{name}={source}' for name, source in sources.items())})"


def _source(value: Any, parameter: Any, language: str) -> str:
    return (
        written_in(language, value, parameter)
        if language in TYPES and is_described(parameter, language)
        else repr(value)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        first = {key: _listed(inner)[0] for key, inner in value.items() if _listed(inner)}
        return {key: _plain(inner) for key, inner in first.items() if inner != ""}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _described(tools: Any) -> dict[str, Mapping[str, Any]]:
    """Return what the functions tell of their parameters, by name, of those that tell it as BFCL does."""
    functions = [each.get("function", each) for each in tools or () if isinstance(each, Mapping)]
    return {
        function["name"]: function["parameters"]
        for function in functions
        if isinstance(function.get("parameters"), Mapping)
        and function["parameters"].get("type") == "dict"
        and isinstance(function["parameters"].get("properties"), Mapping)
    }


def _all_match(
    calls: Sequence[FunctionCall],
    expected: Sequence[Expected],
    described: Mapping[str, Mapping[str, Any]],
    language: str,
) -> bool:
    """Whether each expected call, in turn, finds a call that it fits and that no other has taken, and none is left."""
    left = list(calls)
    for each in expected:
        fits = (
            place
            for place, call in enumerate(left)
            if _matches(call, each, described.get(each.name), language)
        )
        place = next(fits, None)
        if place is None:
            return False
        del left[place]
    return not left


def _matches(
    call: FunctionCall, expected: Expected, described: Mapping[str, Any] | None, language: str
) -> bool:
    if call.name not in (expected.name, expected.name.replace(".", "_")):
        return False
    if described is None or not expected.has_types:
        return _table_matches(call.arguments, expected.arguments)
    properties = described["properties"]
    if any(name not in call.arguments for name in described.get("required") or ()):
        return False
    if any(name not in properties or name not in expected.arguments for name in call.arguments):
        return False
    if any(
        "" not in values
        for name, values in expected.arguments.items()
        if name not in call.arguments
    ):
        return False
    return all(
        _fits(
            _as_described(call, name, properties[name]),
            expected.arguments[name],
            properties[name],
            language,
        )
        for name in call.arguments
    )


def _as_described(call: FunctionCall, name: str, parameter: Any) -> Any:
    """An argument that mark-up holds as text, as the text where its parameter is one."""
    is_text = isinstance(parameter, Mapping) and parameter.get("type") == "string"
    return call.texts[name] if is_text and name in call.texts else call.arguments[name]


def _fits(value: Any, answers: Sequence[Any], parameter: Any, language: str) -> bool:
    if is_described(parameter, language):
        return is_accepted(value, answers, parameter, language)
    return any(_equal(value, answer) for answer in answers)


def _table_matches(given: Mapping[str, Any], expected: Mapping[str, Sequence[Any]]) -> bool:
    if any(key not in expected for key in given):
        return False
    return all(
        any(_equal(given[key], value) for value in values)
        if key in given
        else not values or "" in values
        for key, values in expected.items()
    )


def _equal(given: Any, value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(given, Mapping) and _table_matches(
            given, {k: _listed(v) for k, v in value.items()}
        )
    if isinstance(value, list | tuple):
        if not isinstance(given, list | tuple) or len(given) != len(value):
            return False
        return all(_equal(ours, theirs) for ours, theirs in zip(given, value, strict=True))
    if isinstance(value, bool):
        return given is value
    if isinstance(given, bool):
        return False
    return bool(standard(given) == standard(value))


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]
