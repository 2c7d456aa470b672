"""The system: what the model answered when lm-eval ran."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

RAW, FILTERED = "raw", "filtered"


class LMEvalReplay:
    """Responses that lm-eval recorded, with the metrics that it computed for them.

    It calls no model. The dataset must be ``lm-eval-samples``.

    Args:
        take: ``raw`` for the first response as the model wrote it, ``filtered`` for what the filter left.

    Raises:
        ValueError: ``take`` has another value.

    >>> LMEvalReplay().process({"response": "It is 7.", "recorded_metrics": {"exact_match": 1.0}})
    {'response': 'It is 7.', 'recorded_metrics': {'exact_match': 1.0}}
    """

    is_recorded = True
    reads_columns = True

    def __init__(self, take: str = RAW) -> None:
        if take not in (RAW, FILTERED):
            raise ValueError(f"take must be 'raw' or 'filtered', got {take!r}.")
        self.name = "lm-eval-replay"
        self._field = "filtered_response" if take == FILTERED else "response"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the recorded response of an example.

        Raises:
            LookupError: The example has no recorded response.
        """
        response = example.get(self._field, example.get("response"))
        if not isinstance(response, str):
            raise LookupError(
                "The example has no recorded response. lm-eval-replay needs the dataset lm-eval-samples."
            )
        output: dict[str, Any] = {"response": response}
        for name in ("responses", "recorded_metrics", "recorded_items"):
            if name in example:
                output[name] = copy.deepcopy(example[name])
        return output

    def fingerprint(self) -> dict[str, Any]:
        """Return the parameters that can change an output."""
        return {"field": self._field}
