"""What rows hang together by: the document, the session or the context that examples share."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from context_bench.store.encoding import to_json

CLUSTER_FIELDS = ("cluster", "session_id", "context")
"""Fields by which examples hang together, the first one that an example has."""

_DIGEST_BYTES = 8


def cluster_of(example: Mapping[str, Any]) -> str | None:
    """Return the cluster of an example: the name of the field, and a hash of its value.

    Two examples with one cluster are no independent evidence: their questions are about the same
    document.

    >>> cluster_of({"context": "A", "id": 1}) == cluster_of({"context": "A", "id": 2})
    True
    >>> cluster_of({"question": "How many?"})

    Returns:
        The cluster; None where the example has none of :data:`CLUSTER_FIELDS`.
    """
    for name in CLUSTER_FIELDS:
        value = example.get(name)
        if value is not None and value != "":
            text = value if type(value) is str else to_json(value)
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
            return f"{name}:{digest.hexdigest()}"
    return None
