"""Two distributions with one short name: whoever means one of them must say which."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ALWAYS = "[{ always = true }]"


@pytest.fixture
def two(site: Any) -> Any:
    site.basics()
    site.evaluator("acme-b", "same", key="b")
    site.evaluator("acme-a", "same", key="a")
    return site


def scores(done: Any) -> set[str]:
    assert done.code == 0, done.words
    return set(json.loads(done.out)["rows"][0]["scores"])


def run(context_bench: Run, *arguments: str) -> Any:
    return context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", *arguments)


def prefer(workplace: Path, distribution: str) -> None:
    (workplace / "context-bench.toml").write_text(f'[plugins.prefer]\nsame = "{distribution}"\n')


def test_the_list_names_both_and_the_remedy(two: Any, process: Run) -> None:
    listed = process("plugins", "list", "-v")
    assert listed.code == 0
    assert listed.words.count("! same conflict") == 2
    assert '[plugins.prefer] same = "acme-a"' in listed.words
    assert process("--help").code == 0
    explained = process("explain", "wiring", "-d", "toy")
    assert explained.code == 0
    assert "- acme-a/same [conflict]" in explained.words


def test_the_short_name_is_an_error_that_names_both(
    two: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    done = run(context_bench, "--add-evaluator", "same")
    assert (done.code, asked()) == (2, 0)
    assert "acme-a/same and acme-b/same" in done.words


def test_a_run_that_needs_neither_warns_in_one_line(two: Any, context_bench: Run) -> None:
    done = run(context_bench)
    assert scores(done) == {"exact"}
    [warning] = [line for line in done.err.splitlines() if line.startswith("Warning")]
    assert "acme-b/same" in warning


def test_the_whole_id_says_which(two: Any, context_bench: Run) -> None:
    assert scores(run(context_bench, "--add-evaluator", "acme-a/same")) == {"exact", "a"}
    assert scores(run(context_bench, "--evaluators", "acme-b/same")) == {"b"}
    assert scores(
        run(context_bench, "--add-evaluator", "acme-a/same", "--add-evaluator", "acme-b/same")
    ) == {
        "exact",
        "a",
        "b",
    }


def test_leaving_one_out_settles_it(two: Any, context_bench: Run) -> None:
    assert scores(run(context_bench, "--add-evaluator", "same", "-p", "no:acme-b")) == {
        "exact",
        "a",
    }
    assert scores(run(context_bench, "--add-evaluator", "same", "-p", "no:acme-a/same")) == {
        "exact",
        "b",
    }


@pytest.mark.parametrize("preferred", ["a", "b"])
def test_the_project_says_which(
    two: Any, context_bench: Run, workplace: Path, preferred: str
) -> None:
    prefer(workplace, f"acme-{preferred}")
    other = "b" if preferred == "a" else "a"
    done = run(context_bench, "--add-evaluator", "same")
    assert scores(done) == {"exact", preferred}
    assert "Warning" not in done.err
    assert scores(run(context_bench, "--add-evaluator", f"acme-{other}/same")) == {"exact", other}
    told = {
        entry["id"]: entry for entry in json.loads(context_bench("plugins", "list", "--json").out)
    }
    assert told[f"acme-{preferred}/same"]["state"] == "ok"
    assert f"the project prefers acme-{preferred}/same" in told[f"acme-{other}/same"]["reason"]


def test_two_that_wire_themselves_stop_the_run_until_one_is_preferred(
    site: Any, context_bench: Run, workplace: Path, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-b", "same", key="b", wire=ALWAYS)
    site.evaluator("acme-a", "same", key="a", wire=ALWAYS)
    done = run(context_bench)
    assert (done.code, asked()) == (2, 0)
    assert "contested by acme-a/same and acme-b/same" in done.words
    assert context_bench("explain", "wiring", "-d", "toy").code == 2
    prefer(workplace, "acme-b")
    assert scores(run(context_bench)) == {"exact", "b"}


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")], ids=["a first", "b first"])
def test_the_order_of_installation_does_not_matter(
    site: Any, context_bench: Run, order: tuple[str, str]
) -> None:
    for name in order:
        site.evaluator(f"acme-{name}", "same", key=name)
    told = json.loads(context_bench("plugins", "list", "--json", "--kind", "evaluators").out)
    mine = [(entry["id"], entry["state"]) for entry in told if entry["name"] == "same"]
    assert mine == [("acme-a/same", "conflict"), ("acme-b/same", "conflict")]


def test_one_name_for_an_evaluator_and_a_dataset_is_no_contest(
    site: Any, context_bench: Run
) -> None:
    site.basics()
    site.evaluator("acme-toy", "toy", wire=ALWAYS)
    assert scores(run(context_bench)) == {"exact", "toy"}


READS = """
    schema = 1
    api = "1.0"

    [datasets.{name}]
    summary = "Reads files"
    class = "read"
    files = [".acme"]
    options.path = {{ type = "path", required = true, help = "The file" }}

    [reporters.{name}]
    summary = "Writes files"
    files = [".acme", ".json"]
"""
READER = """
    def read(path, limit=None, config=None, split=None):
        yield {{"id": "{name}", "question": "one", "answer": "one"}}

    class Writer:
        name = "{name}"

        def write(self, result, stream):
            stream.write("{name}")
"""


def claims(site: Any, name: str, manifest: str = READS) -> None:
    points = {"datasets": {name: f"acme_{name}:read"}, "reporters": {name: f"acme_{name}:Writer"}}
    site.add(
        f"acme-{name}",
        code=READER.format(name=name),
        manifest=manifest.format(name=name),
        entry_points=points,
    )


def test_files_that_two_packages_claim_belong_to_neither(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    site.basics()
    (workplace / "rows.acme").write_text("")
    claims(site, "one")
    run = ("run", "-s", "echo", "-d", "rows.acme", "-q", "-o", "out.acme")
    assert context_bench(*run).code == 0
    assert (workplace / "out.acme").read_text() == "one"
    claims(site, "two")
    done = context_bench(*run)
    assert done.code == 2
    assert "acme-one/one and acme-two/two" in done.words
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "-o", "out.acme")
    assert "acme-one/one and acme-two/two" in done.words
    assert context_bench(*run, "-p", "no:acme-two/two").code == 0
    assert (workplace / "out.acme").read_text() == "one"


def test_a_broken_claim_takes_no_file_from_a_healthy_one(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    site.basics()
    (workplace / "rows.acme").write_text("")
    claims(site, "one")
    claims(
        site,
        "two",
        READS.replace('summary = "Reads files"', "summary = 3").replace(
            'api = "1.0"', 'api = "7.0"'
        ),
    )
    done = context_bench(
        "run", "-s", "echo", "-d", "rows.acme", "-q", "-o", "out.acme", "-o", "out.json"
    )
    assert done.code == 0, done.err
    assert (workplace / "out.acme").read_text() == "one"
    assert json.loads((workplace / "out.json").read_text())["rows"][0]["example_id"] == "one"
