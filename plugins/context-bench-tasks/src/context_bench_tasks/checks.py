"""The mechanical check of a task: which files must have which content at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from attrs import frozen


def digest_of(content: str | bytes) -> str:
    """Return the SHA-256 of a file's content, as hexadecimal digits.

    >>> digest_of("ledger")[:12]
    'fe14010b4fe8'
    """
    raw = content.encode("utf-8") if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()


@frozen
class Check:
    """Digests that the files of a workspace must have when the agent has ended.

    Attributes:
        outputs: Digest of each file that the agent has to write, by path.
        unchanged: Digest of each input, by path: a task whose inputs were changed has failed.
    """

    outputs: Mapping[str, str]
    unchanged: Mapping[str, str]

    @classmethod
    def of_files(cls, outputs: Mapping[str, str], inputs: Mapping[str, str]) -> Check:
        """Return the check that expects these contents; an input that is also an output may change."""
        return cls(
            {path: digest_of(content) for path, content in outputs.items()},
            {path: digest_of(content) for path, content in inputs.items() if path not in outputs},
        )

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Check:
        """Return the check that a row contains in the field ``check``."""
        return cls(dict(record["outputs"]), dict(record["unchanged"]))

    def record(self) -> dict[str, dict[str, str]]:
        """Return the check as the field ``check`` of a row."""
        return {"outputs": dict(self.outputs), "unchanged": dict(self.unchanged)}

    def share(self, workspace: Mapping[str, str]) -> float:
        """Return the share of the outputs that are correct, 0 to 1; 0 where an input was changed.

        Args:
            workspace: Digest of each file of the workspace, by path.
        """
        if any(workspace.get(path) != digest for path, digest in self.unchanged.items()):
            return 0.0
        correct = sum(workspace.get(path) == digest for path, digest in self.outputs.items())
        return correct / len(self.outputs)

    def passes(self, workspace: Mapping[str, str]) -> bool:
        """Return whether every output is correct and no input was changed."""
        return self.share(workspace) == 1.0
