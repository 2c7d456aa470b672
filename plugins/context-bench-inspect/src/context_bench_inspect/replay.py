"""The system: what the model answered when inspect_ai ran."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

_FIELDS = ("finish_reason", "usage", "latency", "recorded_scores")


class InspectReplay:
    """Responses of a log, with their usage, their seconds and the scores that inspect_ai computed.

    It calls no model. The dataset must be ``inspect-log``.

    >>> InspectReplay().process({"response": "Paris", "recorded_scores": {"match": "C"}})
    {'response': 'Paris', 'recorded_scores': {'match': 'C'}}
    """

    name = "inspect-replay"
    is_recorded = True
    reads_columns = True

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the recorded response of an example.

        Raises:
            LookupError: The sample failed in inspect_ai, or the example has no recorded response.
        """
        response = example.get("response")
        if isinstance(response, str):
            output: dict[str, Any] = {"response": response}
            for name in _FIELDS:
                if example.get(name) is not None:
                    output[name] = copy.deepcopy(example[name])
            return output
        if example.get("error"):
            raise LookupError(f"The sample failed in inspect_ai: {example['error']}")
        raise LookupError(
            "The example has no recorded response. inspect-replay needs the dataset inspect-log."
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return the parameters that can change an output: none."""
        return {}
