"""Cards: a dataset of another package, read by the loader that it names."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

LOADER_CODE = """
    class Loader:
        def __init__(self, name=None, card=None):
            self.name, self.card = name, card

        def from_definition(self, name, card):
            return Loader(name, card)

        def __call__(self, limit=None, config=None, split=None, *, mirror="here"):
            answer = self.card["fields"]["answer"] if self.card else "none"
            yield {"id": "1", "question": "q", "answer": answer, "config": config, "mirror": mirror}

    shelf = Loader()
"""
LOADER_MANIFEST = """
    schema = 1
    api = "1.0"

    [datasets.shelf]
    summary = "Anything on the shelf"
    class = "shelf"
    capabilities = ["network"]
    options.mirror = { type = "str", default = "here", flag = "--mirror", help = "Where from" }
"""
CARD_MANIFEST = """
    schema = 1
    api = "1.0"

    [datasets.capitals]
    summary = "Capitals"
    tags = ["geography"]
    configs = ["europe", "asia"]
    default_config = "europe"
    license = "MIT"
    citation = "Nobody 2026"
    language = ["en"]
    sizes = { test = 2 }
    inputs = ["question"]
    gold = ["answer"]
    primary = "exact"
    definition = { loader = "shelf", source = "a/b", fields = { answer = "q" } }

    [datasets.capitals.config_overrides.asia]
    primary = "other"
    tags = ["asia"]
"""


@pytest.fixture
def card(site) -> Callable[..., None]:
    site.basics()

    def add(*, loader: bool = True, code: str = LOADER_CODE, manifest: str = CARD_MANIFEST) -> None:
        if loader:
            entry = {"datasets": {"shelf": "bench_shelf:shelf"}}
            site.add("bench-shelf", code=code, manifest=LOADER_MANIFEST, entry_points=entry)
        point = {"manifests": {"capitals": "bench_capitals"}}
        site.add("bench-capitals", manifest=manifest, entry_points=point)

    return add


def told(context_bench, name: str = "capitals") -> dict:
    return json.loads(context_bench("datasets", "show", name, "--json").out)


def test_a_package_of_a_manifest_alone_brings_a_dataset(card, context_bench):
    card()
    found = told(context_bench)
    assert (found["state"], found["entry_point"]) == ("ok", "bench_shelf:shelf")
    assert (found["citation"], found["language"], found["sizes"]) == (
        "Nobody 2026",
        ["en"],
        {"test": 2},
    )
    assert (found["inputs"], found["gold"], found["definition"]["source"]) == (
        ["question"],
        ["answer"],
        "a/b",
    )
    assert list(found["options"]) == ["mirror"]
    assert found["options"]["mirror"]["flag"] is None
    done = context_bench("run", "--system", "echo", "--dataset", "capitals", "--format", "json")
    assert done.code == 0, done.err
    assert next(iter(json.loads(done.out)["summary"].values()))["mean_score"] == 1.0
    assert context_bench("plugins", "check", "bench-capitals").code == 0


def test_an_option_of_the_loader_is_one_of_the_card(card, context_bench):
    card()
    done = context_bench("run", "--system", "echo", "--dataset", "capitals:miror=x")
    assert done.code == 2
    assert "Did you mean 'mirror'?" in done.words
    assert context_bench("run", "--system", "echo", "--dataset", "capitals:mirror=x").code == 0


def test_a_configuration_has_a_primary_and_tags_of_its_own(card, context_bench):
    card()
    done = context_bench(
        "run", "--system", "echo", "--dataset", "capitals:asia", "--dry-run", "--format", "json"
    )
    assert done.code == 0, done.err
    assert "'other'" in done.words


def test_without_its_loader_a_card_says_what_to_install(card, context_bench):
    card(loader=False)
    assert told(context_bench)["state"] == "missing-dependency"
    done = context_bench("run", "--system", "echo", "--dataset", "capitals")
    assert done.code == 2
    assert "the loader 'shelf'" in done.words


def test_a_loader_that_reads_no_cards_is_a_failure_with_its_reason(card, context_bench):
    card(code="def shelf(limit=None, config=None, split=None, mirror='here'):\n    yield {}\n")
    done = context_bench("run", "--system", "echo", "--dataset", "capitals")
    assert done.code == 2
    assert "it has no from_definition(name, definition)" in done.words


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ("definition = {}", "datasets.capitals.definition.loader: "),
        ("definition = 3", "datasets.capitals.definition: "),
        (
            "definition = { loader = 'shelf', fields = { a = 1 } }",
            "datasets.capitals.definition.fields.a: ",
        ),
    ],
)
def test_a_fault_in_a_definition_is_reported_with_its_path(card, context_bench, broken, place):
    card(
        manifest=f'schema = 1\napi = "1.0"\n[datasets.capitals]\nsummary = "Capitals"\n    {broken}\n'
    )
    dataset = told(context_bench)
    assert dataset["state"] == "invalid"
    assert place in dataset["reason"]
