"""Examples that packages bring for ``datasets show``: written by ``python tests/contract/dataset_examples.py``, held by a test.

They are what the loaders make of the records in ``hub_records.py``, which are made up: no benchmark's own texts are copied.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from context_bench.prompts import ASKING_FIELDS

FILE = "context_bench_examples.json"
OF_EVERY_DATASET = ("id", "cluster", *ASKING_FIELDS)
"""Fields that any example may have, whatever its card lists."""


def shown(example: dict[str, Any]) -> dict[str, Any]:
    """Return an example as JSON holds it."""
    return dict(json.loads(json.dumps(example, default=str)))


def file_of(component: Any) -> Path:
    """Return the file of examples beside the manifest of a dataset."""
    return Path(component.distribution.manifest_path).with_name(FILE)


def write() -> None:
    """Write the examples of every card into its package."""
    import os

    from hub_records import publish_dataset

    from context_bench.plugins.discovery import discover
    from context_bench.plugins.loading import load
    from fake_hub import FakeHub

    files: dict[Path, dict[str, Any]] = {}
    with FakeHub() as hub:
        os.environ["HF_ENDPOINT"] = hub.url
        catalog = discover()
        for component in catalog.of_kind("datasets"):
            if component.dataset.definition is not None:
                loader = load(component)
                publish_dataset(hub, component.name, loader)
                files.setdefault(file_of(component), {})[component.name] = shown(
                    next(iter(loader()))
                )
    for file, examples in files.items():
        file.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    write()
