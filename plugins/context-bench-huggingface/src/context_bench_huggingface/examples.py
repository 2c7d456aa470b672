"""Records become examples, by the definition's function or by its table of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from context_bench.errors import ConfigurationError, DatasetError, PluginError
from context_bench_huggingface.row import Row
from context_bench_huggingface.wanted import Wanted

Make = Callable[[Mapping[str, Any], Row], Iterator[dict[str, Any]]]
_ABSENT = object()


def maker(wanted: Wanted) -> Make:
    """Return what makes the examples of a record.

    Raises:
        PluginError: The definition's function is not there.
    """
    if wanted.example is None:
        return partial(_mapped, wanted)
    module, _, name = wanted.example.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise PluginError(
            f"The definition of {wanted.name} names {wanted.example}, which cannot be loaded: {error}"
        ) from error
    return partial(_made, wanted, function)


def _made(
    wanted: Wanted,
    function: Callable[[Mapping[str, Any], Row], Any],
    record: Mapping[str, Any],
    row: Row,
) -> Iterator[dict[str, Any]]:
    try:  # around the loop too: a function that yields its examples fails when the next one is asked for
        found = function(record, row)
        for example in [] if found is None else [found] if isinstance(found, Mapping) else found:
            yield _with_id(dict(example), row)
    except (
        LookupError,
        TypeError,
        AttributeError,
        ValueError,
        SyntaxError,
        ArithmeticError,
    ) as error:
        file = f" in {wanted.path()}" if wanted.path() else ""
        raise DatasetError(
            f"Record {row.number} of {wanted.where}{file} is not laid out as expected: {type(error).__name__}: {error}. Its "
            f"columns are: {', '.join(map(str, record))}."
        ) from error


def told_apart(example: dict[str, Any], seen: dict[str, int]) -> dict[str, Any]:
    """Return an example whose id is that of no earlier one: the second with an id gets ``_2`` behind it, and so on.

    Some releases give an id to several records, as TriviaQA's ``rc`` to a question of the web and of Wikipedia, and DROP to
    two questions of its development set. A run takes two examples with one id for a mistake.

    Args:
        example: The example.
        seen: How often each id came so far; it is counted on.
    """
    name = str(example["id"])
    seen[name] = seen.get(name, 0) + 1
    while seen[name] > 1:
        further = f"{name}_{seen[name]}"
        if further not in seen:
            seen[further] = 1
            return {**example, "id": further}
        seen[name] += 1
    return example


def asked_as(wanted: Wanted, example: dict[str, Any]) -> dict[str, Any]:
    """Return an example with what its card says of how it is asked, where it does not say so itself.

    >>> card = Wanted("sums", "a/b", asking={"instruction": "Answer with the number alone."})
    >>> asked_as(card, {"question": "2 + 2?"})["instruction"]
    'Answer with the number alone.'
    """
    asked = {
        **example,
        **{name: text for name, text in wanted.asking.items() if name not in example},
    }
    if wanted.instruction is not None:
        asked["instruction"] = wanted.instruction
    if not asked.get("instruction", "yes"):
        del asked["instruction"]
    return asked


def _mapped(wanted: Wanted, record: Mapping[str, Any], row: Row) -> Iterator[dict[str, Any]]:
    if not wanted.fields:
        yield dict(record)
        return
    example: dict[str, Any] = {}
    for target, path in wanted.fields.items():
        value = _look_up(record, path)
        if value is _ABSENT:
            raise ConfigurationError(
                f"The definition of {wanted.name} takes {target} from {path!r}, which {wanted.where} does not have. Its columns "
                f"are: {', '.join(map(str, record))}."
            )
        example[target] = value
    yield _with_id(example, row)


def _with_id(example: dict[str, Any], row: Row) -> dict[str, Any]:
    if "id" in example:
        return example
    return {"id": f"{row.config}-{row.number}" if row.config else row.number, **example}


def _look_up(record: Any, path: str) -> Any:
    if isinstance(record, Mapping) and path in record:
        return record[path]
    value = record
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and part.isdecimal()
            and int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return _ABSENT
    return value
