"""What a metric takes: its declared features, and a response and its references in that form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

_SQUAD = {"id", "prediction_text"}
_SQUAD_V2 = {"id", "prediction_text", "no_answer_probability"}


class Form(Enum):
    """A form in which metrics take a response and its references."""

    ONE = "a text, and one reference"
    SEVERAL = "a text, and a list of references"
    SQUAD = "an answer of SQuAD"
    SQUAD_V2 = "an answer of SQuAD 2"


def forms_of(features: Any) -> list[Form]:
    """Return the forms that features of `evaluate` declare; none where they ask for anything else.

    Args:
        features: One mapping of features, or several, any of which is taken.
    """
    declared = features if isinstance(features, list) else [features]
    forms = [form for entry in declared if (form := _form_of(entry)) is not None]
    return list(dict.fromkeys(forms))


def form_for(forms: Sequence[Form], counts: Sequence[int]) -> Form:
    """Return the form for rows with so many references each: a list where one has several and the metric takes lists."""
    if Form.SEVERAL in forms and (max(counts) > 1 or Form.ONE not in forms):
        return Form.SEVERAL
    return next(form for form in forms if form is not Form.SEVERAL)


def prediction_in(form: Form, response: str, number: int) -> Any:
    """Return a response as a metric of that form takes it; the number identifies the row."""
    if form is Form.SQUAD:
        return {"id": str(number), "prediction_text": response}
    if form is Form.SQUAD_V2:
        return {"id": str(number), "prediction_text": response, "no_answer_probability": 0.0}
    return response


def references_in(form: Form, references: Sequence[str], number: int) -> Any:
    """Return references as a metric of that form takes them; where it takes one, that is the first."""
    if form is Form.ONE:
        return references[0]
    if form is Form.SEVERAL:
        return list(references)
    starts = [0] * len(references)  # part of the format; the metrics do not read it
    return {"id": str(number), "answers": {"text": list(references), "answer_start": starts}}


def _form_of(features: Any) -> Form | None:
    if not isinstance(features, Mapping) or set(features) != {"predictions", "references"}:
        return None
    prediction = features["predictions"]
    reference = features["references"]
    if isinstance(prediction, Mapping):
        return {frozenset(_SQUAD): Form.SQUAD, frozenset(_SQUAD_V2): Form.SQUAD_V2}.get(
            frozenset(prediction)
        )
    if not _is_text(prediction):
        return None
    if _is_text(reference):
        return Form.ONE
    return Form.SEVERAL if _is_text(getattr(reference, "feature", None)) else None


def _is_text(feature: Any) -> bool:
    return getattr(feature, "dtype", None) in ("string", "large_string")
