"""Every dataset by its name, through the real library, from a hub on loopback that has its records in their real columns."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ConfigurationError, DatasetError
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load

pytest.importorskip("datasets")

from dataset_examples import OF_EVERY_DATASET, file_of, shown
from hub_records import RECORDS, lines, parquet, publish, publish_dataset

CATALOG = discover()
CARDS = [
    component.name
    for component in CATALOG.of_kind("datasets")
    if component.dataset.definition is not None and component.dataset.definition.loader == "hf"
]


@pytest.fixture
def publisher(hub: Any) -> Callable[..., Any]:
    def put(name: str, config: str | None = None) -> Any:
        loader = load(CATALOG.find("datasets", name))
        publish_dataset(hub, name, loader, config)
        return loader

    return put


def test_all_43_are_there_by_name() -> None:
    """The 42 of the rounds before, and LongMemEval."""
    assert set(CARDS) == set(RECORDS)
    assert len(CARDS) == 43


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_dataset_is_loaded_by_its_name(name: str, publisher: Callable[..., Any]) -> None:
    loader = publisher(name)
    examples = list(loader())
    component = CATALOG.find("datasets", name)
    facts = component.dataset
    brought = json.loads(file_of(component).read_text("utf-8"))[name]
    assert brought == shown(examples[0]), "run python tests/contract/dataset_examples.py"
    assert len(examples) >= 2
    assert len({str(example["id"]) for example in examples}) == len(examples)
    for example in examples:
        assert example["question"].strip()
        assert str(example.get("context") or "").strip() or example["sessions"]
        assert set(example) <= {*facts.fields, *facts.gold, *OF_EVERY_DATASET}
        assert not set(facts.inputs) & set(facts.gold)
    assert list(loader(limit=1)) == examples[:1]
    assert list(loader()) == examples


def test_gpqa_shuffles_its_options_by_the_id_of_an_example(publisher: Callable[..., Any]) -> None:
    examples = list(publisher("gpqa")())
    assert all(example["answer"] == "right" for example in examples)
    assert len({example["correct_letter"] for example in examples}) > 1


def test_what_the_predecessor_lost_is_there(publisher: Callable[..., Any]) -> None:
    [first, second] = publisher("qmsum")()
    assert (first["question"], first["context"]) == (
        "What was decided on 1?",
        "The long text 1.\n\nMore of it.",
    )
    assert second["question"] == "What was decided on 2?"
    assert (
        publisher("contract-nli")()
        .__next__()["question"]
        .startswith("Hypothesis: Shall the party keep it secret 1?")
    )
    refuted, unknown = publisher("scifact")()
    assert (refuted["answer"], unknown["answer"]) == ("REFUTES", "NOT ENOUGH INFO")
    assert "A does not heal B." in refuted["context"]
    assert [turn["content"] for turn in next(publisher("mt-bench")())["turns"]] == [
        "What is 1+1?",
        "And doubled?",
    ]
    assert next(publisher("math")())["answer"] == "\\frac{1}{3}"
    assert next(publisher("bfcl")())["question"] == "Area?"
    assert next(publisher("mbpp")())["test_imports"] == ["import math"]
    assert next(publisher("triviaqa")())["answers"] == ["Ann", "Anna"]
    assert [row.get("correct_letter") for row in publisher("winogrande")()] == ["B", None]
    assert [row["answers"] for row in publisher("qasper")()][:2] == [
        ["two, spans", "Yes"],
        ["Unanswerable"],
    ]
    needles = list(publisher("nolima")())
    assert all(
        row["needle"] in row["context"] and row["answer"] in row["needle"] for row in needles
    )


@pytest.mark.parametrize(
    ("name", "column", "given", "ids"),
    [
        pytest.param(
            "drop",
            "query_id",
            ["q", "q", "r"],
            ["q", "q_2", "r"],
            id="DROP, of whose questions two have one",
        ),
        pytest.param(
            "triviaqa",
            "question_id",
            ["t", "t", "t"],
            ["t", "t_2", "t_3"],
            id="TriviaQA, web and Wikipedia",
        ),
        pytest.param(
            "triviaqa",
            "question_id",
            ["t", "t_2", "t"],
            ["t", "t_2", "t_3"],
            id="one that is another's",
        ),
    ],
)
def test_an_id_that_a_release_gives_twice_stops_no_run(
    name: str,
    column: str,
    given: list[str],
    ids: list[str],
    hub: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = RECORDS[name][0]
    asked = [
        {**record, column: each, "question": f"Which one, {number}?"}
        for number, each in enumerate(given)
    ]
    monkeypatch.setitem(RECORDS, name, asked)
    loader = load(CATALOG.find("datasets", name))
    publish_dataset(hub, name, loader)
    assert [example["id"] for example in loader()] == ids
    result = evaluate(lambda example: "Ann", loader(), ["answer-quality"], progress=False)
    assert [row.example_id for row in result.rows] == ids


FIXED = [
    component.name
    for component in CATALOG.of_kind("datasets")
    if component.name in CARDS
    and not component.dataset.configs
    and component.dataset.definition is not None
    and {"files", "config"} & component.dataset.definition.to_dict().keys()
]
"""Datasets whose card says what is read, and leaves no choice: the hub is not asked what it has."""


@pytest.mark.parametrize("name", FIXED)
def test_a_configuration_that_a_dataset_has_not_is_told_and_never_read_as_another(
    name: str, hub: Any
) -> None:
    with pytest.raises(
        ConfigurationError,
        match=f"The dataset {name} has one configuration only: leave out 'ARC-Easy'",
    ):
        load(CATALOG.find("datasets", name))(config="ARC-Easy")
    assert hub.asked == []


@pytest.mark.parametrize("name", sorted(CARDS))
def test_an_unknown_configuration_is_told_before_the_hub_is_asked(
    name: str,
    hub: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["run", "--system", "replay", "--dataset", f"{name}:no-such", "-q"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: ")
    assert "no-such" in line
    assert "onfiguration" in line
    assert hub.asked == []
    assert not (tmp_path / "runs").exists()


def test_the_only_configuration_may_be_named(publisher: Callable[..., Any]) -> None:
    assert {"arc-challenge", "qasper", "scifact"} <= set(FIXED)
    loader = publisher("arc-challenge")
    assert list(loader(config="ARC-Challenge")) == list(loader())


def test_every_configuration_that_a_manifest_names_has_a_place_in_its_card() -> None:
    for name in CARDS:
        facts = CATALOG.find("datasets", name).dataset
        for config in facts.configs:
            wanted = load(CATALOG.find("datasets", name)).wanted(config)
            assert config in (wanted.config, "all", "math-500", "bundled"), (name, config)


def test_worked_examples_come_from_the_split_that_the_card_names(
    publisher: Callable[..., Any],
) -> None:
    loader = publisher("gsm8k")
    plain, shown = next(loader()), next(loader(shots=2))
    assert "shots" not in plain
    assert {**shown, "shots": ""} == {**plain, "shots": ""}
    assert shown["shots"].count("\n#### ") == 2
    assert next(loader(shots="2", shots_seed=1)) == next(loader(shots=2, shots_seed=1))
    assert len({next(loader(shots=2, shots_seed=seed))["shots"] for seed in range(5)}) > 1
    with pytest.raises(ConfigurationError, match="gsm8k has 4 worked examples"):
        next(loader(shots="card"))  # five
    with pytest.raises(ConfigurationError, match="expected a number, or card"):
        next(loader(shots="-1"))
    asked = next(loader(prompt="Q: {question}\nA:"))
    assert asked["question"] == f"Q: {plain['question']}\nA:"


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        ({"split": "train"}, "the split train"),
        ({"files": "main/test-00000.parquet"}, "main/test-00000.parquet"),
    ],
    ids=["the split of the worked examples", "a file in place of the card's own"],
)
def test_no_worked_example_comes_from_the_records_that_are_measured(
    publisher: Callable[..., Any], asked: dict[str, str], measured: str
) -> None:
    """A row stood among its own worked examples, with its answer."""
    loader = publisher("gsm8k")
    assert len(list(loader(**asked))) == 4
    with pytest.raises(
        ConfigurationError, match=f"gsm8k would come from {measured}, which is measured: leave out"
    ):
        next(loader(shots=2, **asked))


def test_a_worked_example_has_an_answer(hub: Any) -> None:
    """Of WinoGrande's two records the second has no label."""
    loader = load(CATALOG.find("datasets", "winogrande"))
    publish_dataset(hub, "winogrande", loader)
    for seed in range(4):
        assert next(loader(shots=1, shots_seed=seed))["shots"].endswith("option.\nB")
    wanted = loader.wanted().changed(split="train")
    publish(hub, wanted, RECORDS["winogrande"][1:])
    with pytest.raises(
        ConfigurationError,
        match="No example of the split train of winogrande has correct_letter: leave out",
    ):
        next(loader(shots=1))


def test_worked_examples_are_of_the_subject_of_the_question(hub: Any) -> None:
    loader = load(CATALOG.find("datasets", "mmlu"))
    rows = [
        {"question": f"{subject} {n}", "choices": ["a", "b"], "answer": n % 2, "subject": subject}
        for n in range(6)
        for subject in ("law", "art")
    ]
    publish(hub, loader.wanted(), rows[:4])
    publish(hub, loader.wanted().changed(split="dev"), rows)
    for example in loader(shots="card"):
        subject = example["subject"]
        assert example["shots"].count(f"{subject} ") == 5
        assert example["shots"].count("\n\nAnswer with the letter of the right option.\n") == 5
        assert example["shots"].endswith("\nA")
        [other] = {"law", "art"} - {subject}
        assert other not in example["shots"]
    publish(hub, loader.wanted().changed(split="dev"), rows[::2])
    with pytest.raises(ConfigurationError, match="no worked example whose subject is 'art'"):
        list(loader(shots=2))


def test_a_worked_example_has_its_own_context(publisher: Callable[..., Any]) -> None:
    loader = publisher("drop")
    [example, *_] = loader(split="validation")
    shown = next(loader(shots=1))
    assert example["context"] in shown["shots"]
    assert shown["context"] == example["context"]


def test_worked_examples_of_a_file_are_those_of_the_task(
    publisher: Callable[..., Any], tmp_path: Path
) -> None:
    """The files of BIG-Bench Hard begin with a note and a line of dashes."""
    loader = publisher("bbh")
    place = tmp_path / "boolean_expressions.txt"
    place.write_text("Do not train on this.\n-----\nTask.\n\nQ: not True\nA: So it is False.\n")
    shown = next(loader(shots_file=str(tmp_path / "{config}.txt")))
    assert shown["shots"] == "Task.\n\nQ: not True\nA: So it is False."
    for asked, problem in (
        ({"shots": 3}, "name a file of its authors with shots_file=FILE"),
        ({"shots": 3, "shots_file": str(place)}, "cannot be used together"),
        ({"shots_file": str(tmp_path / "none.txt")}, "cannot be read"),
    ):
        with pytest.raises(ConfigurationError, match=problem):
            next(loader(**asked))


def test_a_configuration_without_a_split_for_worked_examples_is_fetched_without_them(
    hub: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MATH-500 has its test split only; the other configurations of MATH have ``train``."""
    loader = load(CATALOG.find("datasets", "math"))
    publish(hub, loader.wanted("math-500"), RECORDS["math"])
    assert execute(["datasets", "fetch", "math:math-500", "--to", str(tmp_path)]) == 0, (
        capsys.readouterr().err
    )
    assert len(list(loader(config="math-500", folder=str(tmp_path), offline=True))) == 2
    with pytest.raises(
        ConfigurationError,
        match="math has no split to take worked examples from: leave out shots",
    ):
        next(loader(config="math-500", shots=2))


def test_a_fetched_copy_is_read_without_a_network(
    hub: Any, publisher: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("gsm8k", "scifact", "bfcl", "nolima", "hotpotqa")
    online = {name: list(publisher(name)()) for name in names}
    folder = str(tmp_path / "copies")
    assert execute(["datasets", "fetch", *names, "--to", folder]) == 0
    assert "records in" in capsys.readouterr().out
    hub.asked.clear()
    for name in names:
        loader = load(CATALOG.find("datasets", name))
        assert list(loader(folder=folder, offline=True)) == online[name]
        assert "sha256:" in loader.revision(folder=folder, offline=True)
    assert (
        "####"
        in next(load(CATALOG.find("datasets", "gsm8k"))(folder=folder, offline=True, shots=1))[
            "shots"
        ]
    )
    assert hub.asked == []


def test_a_copy_that_was_changed_is_refused(publisher: Callable[..., Any], tmp_path: Path) -> None:
    loader = publisher("frames")
    assert execute(["datasets", "fetch", "frames", "--to", str(tmp_path)]) == 0
    [copy] = tmp_path.glob("*.jsonl.gz")
    copy.write_bytes(gzip.compress(gzip.decompress(copy.read_bytes()).replace(b"Ann", b"Bob")))
    with pytest.raises(DatasetError, match=r"is not what was fetched.*Fetch it again"):
        list(loader(folder=str(tmp_path), offline=True))
    content = copy.read_bytes()
    for damaged in (content[:-9], content[:12] + b"\x00\xff" * 20 + content[52:], b"no archive"):
        copy.write_bytes(damaged)
        with pytest.raises(DatasetError, match=r"cannot be read: .*Fetch it again"):
            list(loader(folder=str(tmp_path), offline=True))


def _label_of(copy: Path) -> Path:
    return copy.with_name(copy.name.removesuffix(".jsonl.gz") + ".json")


def _relabelled(copy: Path, content: bytes) -> None:
    """Put something else into a copy, and say in its label that this was fetched."""
    copy.write_bytes(gzip.compress(content))
    facts = {"sha256": sha256(content).hexdigest(), "records": content.count(b"\n")}
    _label_of(copy).write_text(json.dumps({**json.loads(_label_of(copy).read_text()), **facts}))


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no label": (
        lambda copy: _label_of(copy).unlink(),
        "cannot be used: .*No such file.*Fetch it again",
    ),
    "no records": (lambda copy: copy.unlink(), "cannot be used: there is no .*Fetch it again"),
    "a label that is no JSON": (
        lambda copy: _label_of(copy).write_text('{"revision'),
        "cannot be used: .*Fetch it",
    ),
    "a label without facts": (
        lambda copy: _label_of(copy).write_text("{}"),
        "it is not what fetching writes",
    ),
    "another number of records": (
        lambda copy: _label_of(copy).write_text(
            json.dumps({**json.loads(_label_of(copy).read_text()), "records": 7})
        ),
        "the 7 that were fetched",
    ),
    "a record that is no JSON": (
        lambda copy: _relabelled(copy, b'{"a": 1}\n{"a"\n'),
        "record 2 is no JSON",
    ),
    "a number that is none": (
        lambda copy: _relabelled(copy, b'{"a": NaN}\n'),
        "record 1 is no JSON: NaN is no JSON value",
    ),
    "a record that is no object": (
        lambda copy: _relabelled(copy, b"[1]\n"),
        "record 1 is list, not an object",
    ),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_copy_that_is_damaged_in_any_way_is_told_and_the_network_not_asked_in_its_place(
    damage: Callable[[Path], Any],
    told: str,
    hub: Any,
    publisher: Callable[..., Any],
    tmp_path: Path,
) -> None:
    loader = publisher("frames")
    assert execute(["datasets", "fetch", "frames", "--to", str(tmp_path)]) == 0
    [copy] = tmp_path.glob("*.jsonl.gz")
    damage(copy)
    hub.asked.clear()
    with pytest.raises(DatasetError, match=told):
        list(loader(folder=str(tmp_path)))
    assert hub.asked == []


def test_a_dataset_is_previewed(
    publisher: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    publisher("gsm8k")
    assert execute(["datasets", "preview", "gsm8k", "-n", "1"]) == 0
    assert "question: What is 1+1000?" in capsys.readouterr().out
    assert execute(["datasets", "preview", "gsm8k", "-n", "2", "--json"]) == 0
    assert [example["answer"] for example in json.loads(capsys.readouterr().out)] == [
        "1001",
        "1002",
    ]


def test_offline_without_a_copy_a_run_ends_at_once_and_says_how_to_fetch(
    hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--system", "replay:field=answer", "--dataset", "gsm8k", "--offline"]
    assert execute(["run", *asked]) == 2
    words = " ".join(capsys.readouterr().err.split())
    assert "The dataset gsm8k" in words
    assert "context-bench datasets fetch gsm8k:main --to FOLDER" in words
    assert hub.asked == []


def test_an_oracle_is_right_and_five_rows_are_asked_for(
    publisher: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    publisher("gsm8k")
    publisher("mmlu")
    monkeypatch.chdir(tmp_path)
    datasets = ["--dataset", "gsm8k", "--dataset", "mmlu", "-n", "2"]
    assert (
        execute(["run", "--system", "replay:field=answer", *datasets, "--format", "json", "-q"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    [summary] = told["summary"].values()
    assert summary["mean_score"] == 1.0


def test_no_library_is_imported_for_a_list_or_the_help() -> None:
    import subprocess
    import sys

    code = (
        "import sys\nfrom context_bench.cli import execute\nexecute(sys.argv[1:])\n"
        "found = {'datasets', 'pyarrow', 'huggingface_hub'} & set(sys.modules)\nsys.exit(9 if found else 0)"
    )
    for arguments in (
        ["plugins", "list"],
        ["datasets", "list"],
        ["datasets", "show", "gsm8k"],
        ["run", "--help-all"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, check=False
        )
        assert done.returncode == 0, (arguments, done.stderr[-300:])


def test_the_list_has_every_dataset_with_tags_licence_and_wiring(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["datasets", "list", "--json"]) == 0
    told = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert {*CARDS, "needle", "local", "hf", "sessions"} <= set(told)
    for name in (*CARDS, "needle"):
        assert told[name]["tags"], name
        assert told[name]["license"], name
        assert "answer-quality" in told[name]["scored_by"], name
    assert {".jsonl", ".csv", ".parquet", "/"} <= set(told["local"]["files"])
    assert execute(["datasets", "list"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert all(f" {name} " in words for name in told)
    assert "tags math, reasoning license MIT scored by" in words


def test_a_list_can_be_narrowed_to_a_tag(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["datasets", "list", "--tag", "nli", "--json"]) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)} == {
        "contract-nli",
        "scifact",
    }
    assert execute(["datasets", "list", "--tag", "qa", "--tag", "multi-hop", "--json"]) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)} == {
        "frames",
        "hotpotqa",
        "musique",
    }
    assert execute(["datasets", "list", "--tag", "nil"]) == 2
    assert "Unknown tag 'nil' of a dataset. Did you mean 'nli'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*CARDS, "needle"])
def test_a_dataset_is_shown_with_an_example_and_the_evaluators_that_a_run_would_use(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["datasets", "show", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    facts = CATALOG.find("datasets", name).dataset
    assert told["one_example"]["question"]
    assert told["license"]
    assert told["sizes"] or name in (
        "needle",
        "nolima",
    )  # the one is generated, the other has no published count
    primary = facts.of_config("primary", None)
    assert told["primary_score"] == primary or any(str(primary) in note for note in told["notes"])
    assert "context-bench-answer-quality/answer-quality" in told["evaluators"]


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_split_that_a_dataset_has_not_is_told_and_never_read_as_another(
    name: str, publisher: Callable[..., Any]
) -> None:
    """Of a dataset whose files are named in full, any split was the only one there is."""
    loader = publisher(name)
    with pytest.raises((ConfigurationError, DatasetError), match="tset") as told:
        next(loader(split="tset", max_retries=0))
    assert "split" in str(told.value)
    assert "At least one valid data file" not in str(told.value)


SAME: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "rows.json": lambda rows: json.dumps(rows, indent=1).encode(),
    "rows.jsonl": lambda rows: b"\xef\xbb\xbf" + lines(rows).replace(b"\n", b"\r\n\r\n"),
    "rows.json.gz": lambda rows: gzip.compress(json.dumps(rows).encode()),
    "rows.jsonl.gz": lambda rows: gzip.compress(lines(rows)),
    "rows.parquet": parquet,
}


@pytest.mark.parametrize(
    "name", ["alpaca-eval", "infinitebench", "nolima", "qasper", "drop", "mmlu", "contract-nli"]
)
def test_records_are_the_same_in_every_kind_of_file(
    name: str, hub: Any, publisher: Callable[..., Any]
) -> None:
    """The card of the first says that its own file is an array, that of the second that it has lines."""
    loader = publisher(name)
    own, wanted = list(loader()), loader.wanted()
    for file, written in SAME.items():
        held = hub.repositories[wanted.source][wanted.revision]
        hub.put(wanted.source, {**held, file: written(RECORDS[name])}, wanted.revision)
        assert list(loader(files=file, max_retries=0)) == own, file


def test_bfcl_covers_its_single_turn_categories_unless_a_category_is_named(
    publisher: Callable[..., Any],
) -> None:
    loader = publisher("bfcl")
    categories = {example["id"].rsplit("_", 1)[0] for example in loader()}
    published = {"simple", "multiple", "parallel", "parallel_multiple", "irrelevance"}
    assert categories == {
        *published,
        "java",
        "javascript",
        *(f"live_{name}" for name in published),
        "live_relevance",
    }


def test_the_lengths_of_nolima_are_swept(publisher: Callable[..., Any], hub: Any) -> None:
    loader = load(CATALOG.find("datasets", "nolima"))
    for part in loader.wanted("all").parts:
        publish(hub, part, RECORDS["nolima"])
        publish(hub, part.of_table("book"), [{"text": "one line of a book\n" * 8000}])
    lengths = [len(example["context"]) for example in loader(config="all")]
    assert len({length // 1000 for length in lengths}) == 8
    assert {example["length"] for example in loader(config="all")} == {
        250, 500, 1000, 2000, 4000, 8000, 16000, 32000,
    }  # fmt: skip
    assert {example["length"] for example in loader(config="4K")} == {4000}
