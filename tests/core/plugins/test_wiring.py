"""Which evaluators score which rows, why, and which number speaks for the row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

DATASET = """
    schema = 1
    api = "1.0"
    [datasets.quiz]
    summary = "One question"
    class = "quiz"
    {more}
"""
JUDGE_URL = '\n    options.judge_url = { flag = "--judge-url", help = "Where the judge is" }'
DATASET_CODE = (
    "def quiz(limit=None, config=None, split=None):\n    yield {'question': 'q', 'answer': 'a'}\n"
)


@pytest.fixture
def explain(context_bench: Run) -> Callable[..., dict[str, Any]]:
    """The wiring of a dataset by short name of the evaluator."""

    def call(*arguments: str, dataset: str = "quiz", code: int = 0) -> dict[str, Any]:
        done = context_bench("explain", "wiring", "--dataset", dataset, "--json", *arguments)
        assert done.code == code, done.words
        report: dict[str, Any] = json.loads(done.out)[dataset]
        report["by_name"] = {
            entry["evaluator"].partition("/")[2]: entry for entry in report["evaluators"]
        }
        return report

    return call


def add_dataset(site: Any, more: str = "") -> None:
    points = {"datasets": {"quiz": "acme_quiz:quiz"}}
    site.add(
        "acme-quiz", code=DATASET_CODE, manifest=DATASET.format(more=more), entry_points=points
    )


def scores(done: Any) -> Mapping[str, float]:
    assert done.code == 0, done.words
    found: Mapping[str, float] = json.loads(done.out)["rows"][0]["scores"]
    return found


RULES = {
    "always": ("[{ always = true }]", (), True, "always"),
    "by the dataset's name": ('[{ datasets = ["other", "quiz"] }]', (), True, "dataset quiz"),
    "by a tag": ('[{ tags = ["qa"] }]', (), True, "tag qa"),
    "by a tag given": ('[{ tags = ["extra"] }]', ("--tag", "extra"), True, "tag extra"),
    "by an option given": (
        '[{ option = "judge-url" }]',
        ("--given", "judge-url"),
        True,
        "option --judge-url",
    ),
    "by a tag and an option given": (
        '[{ tags = ["qa"], option = "judge-url" }]',
        ("--given", "judge-url"),
        True,
        "option --judge-url, tag qa",
    ),
    "not by a tag without its option": (
        '[{ tags = ["qa"], option = "judge-url" }]',
        (),
        False,
        "no rule matches; it is wired to tag qa with --judge-url",
    ),
    "not by an option with another tag": (
        '[{ tags = ["q"], option = "judge-url" }]',
        ("--given", "judge-url"),
        False,
        "no rule matches; it is wired to tag q with --judge-url",
    ),
    "by the closest of its rules": ('[{ always = true }, { tags = ["qa"] }]', (), True, "tag qa"),
    "not by another name": (
        '[{ datasets = ["quizzes"] }]',
        (),
        False,
        "no rule matches; it is wired to quizzes",
    ),
    "not by another tag": (
        '[{ tags = ["q"] }]',
        (),
        False,
        "no rule matches; it is wired to tag q",
    ),
    "not by an option not given": (
        '[{ option = "judge-url" }]',
        (),
        False,
        "no rule matches; it is wired to any dataset with --judge-url",
    ),
    "not without rules": ("[]", (), False, "it has no wiring rule; add it with --add-evaluator"),
    "added": ("[]", ("--add-evaluator", "one"), True, "added with --add-evaluator"),
    "added by its id": (
        "[]",
        ("--add-evaluator", "acme-one/one"),
        True,
        "added with --add-evaluator",
    ),
    "chosen": ("[]", ("--evaluators", "one"), True, "chosen with --evaluators"),
    "not chosen": (
        "[{ always = true }]",
        ("--evaluators", "exact"),
        False,
        "not among the evaluators that were chosen",
    ),
    "left out": ("[{ always = true }]", ("--exclude", "one"), False, "left out by the user"),
    "left out by its id": (
        "[{ always = true }]",
        ("--exclude", "acme-one/one"),
        False,
        "left out by the user",
    ),
    "left out by its distribution": (
        "[{ always = true }]",
        ("--exclude", "acme-one"),
        False,
        "left out by the user",
    ),
}


@pytest.mark.parametrize(("wire", "arguments", "wired", "reason"), RULES.values(), ids=RULES.keys())
def test_a_rule_or_the_user_wires_an_evaluator(
    site: Any, explain: Run, wire: str, arguments: tuple[str, ...], wired: bool, reason: str
) -> None:
    site.basics()
    add_dataset(site, 'tags = ["qa"]')
    site.evaluator("acme-one", "one", wire=wire + JUDGE_URL)
    entry = explain(*arguments)["by_name"]["one"]
    assert (entry["wired"], entry["reason"]) == (wired, reason)


FLAGS = """
    schema = 1
    api = "1.0"
    [flags.judge]
    summary = "The model that judges"
    [flags.judge.options]
    base_url = { flag = "--judge-url", help = "Where the judge is" }
"""
LEFT_TO = "--judge-url is for acme-close/close here (option --judge-url, {}); add this one with --add-evaluator acme-wide/wide"
CLOSER = {
    "of a tag": ('tags = ["qa"]', (), False, LEFT_TO.format("tag qa")),
    "of the dataset": ('datasets = ["quiz"]', (), False, LEFT_TO.format("dataset quiz")),
    "of another tag": ('tags = ["sums"]', (), True, "option --judge-url"),
    "left out": ('tags = ["qa"]', ("--exclude", "close"), True, "option --judge-url"),
    "added": ('tags = ["qa"]', ("--add-evaluator", "close"), False, LEFT_TO.format("tag qa")),
    "both": ('tags = ["qa"]', ("--add-evaluator", "wide"), True, "added with --add-evaluator"),
}


@pytest.mark.parametrize(("rule", "arguments", "wired", "reason"), CLOSER.values(), ids=CLOSER)
def test_a_flag_wires_the_evaluator_of_the_dataset_and_not_that_of_every_dataset(
    site: Any, explain: Run, rule: str, arguments: tuple[str, ...], wired: bool, reason: str
) -> None:
    """One judgement a row is paid for, and not two."""
    add_dataset(site, 'tags = ["qa"]')
    site.add("acme-flags", manifest=FLAGS, code="")
    group = '\n    option_groups = ["judge"]'
    site.evaluator("acme-wide", "wide", wire='[{ option = "judge-url" }]' + group)
    closer = f'[{{ {rule}, option = "judge-url" }}]'
    site.evaluator("acme-close", "close", wire=closer + group)
    entry = explain("--given", "judge-url", *arguments)["by_name"]["wide"]
    assert (entry["wired"], entry["reason"]) == (wired, reason)


def test_the_exact_set_is_exact_and_may_be_added_to(site: Any, context_bench: Run) -> None:
    site.basics()
    add_dataset(site)
    for name in ("one", "two", "three"):
        site.evaluator(f"acme-{name}", name, wire="[{ always = true }]")
    run = ("run", "-s", "echo", "-d", "quiz", "-q", "--format", "json")
    assert set(scores(context_bench(*run))) == {"exact", "one", "two", "three"}
    assert set(scores(context_bench(*run, "--evaluators", "one"))) == {"one"}
    assert set(
        scores(context_bench(*run, "--evaluators", "one, two", "--add-evaluator", "three"))
    ) == {
        "one",
        "two",
        "three",
    }
    assert set(scores(context_bench(*run, "--exclude", "one", "--exclude", "acme-two"))) == {
        "exact",
        "three",
    }
    assert set(scores(context_bench(*run, "-p", "no:one"))) == {"exact", "two", "three"}


WRONG_CHOICES = {
    "unknown evaluator": (("--evaluators", "oen"), "'oen'"),
    "unknown addition": (("--add-evaluator", "oen"), "'oen'"),
    "unknown to leave out": (("--exclude", "oen"), "'oen'"),
    "unknown prefix": (("--score-prefix", "oen=x_"), "'oen'"),
    "unknown capability": (("--allow", "netwrok"), "'network'"),
    "chosen and left out": (("--evaluators", "one", "--exclude", "acme-one"), "'one'"),
    "added and left out": (("--add-evaluator", "one", "--exclude", "one"), "'one'"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG_CHOICES.values(), ids=WRONG_CHOICES.keys())
def test_a_choice_that_cannot_work_stops_the_run(
    site: Any, context_bench: Run, asked: Callable[[], int], arguments: tuple[str, ...], said: str
) -> None:
    site.basics()
    site.evaluator("acme-one", "one")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", *arguments)
    assert (done.code, asked()) == (2, 0)
    assert said in done.words


PRIMARY_SCORES = {
    "the dataset's own": (
        'primary = "c"',
        {"a": '[{ datasets = ["quiz"] }]', "c": "[{ always = true }]"},
        (),
        "c",
    ),
    "else of the one wired by name": (
        "",
        {"a": '[{ tags = ["qa"] }]', "c": '[{ datasets = ["quiz"] }]'},
        (),
        "c",
    ),
    "else of the one wired by tag": (
        "",
        {"a": "[{ always = true }]", "c": '[{ tags = ["qa"] }]', "f1": "[{ always = true }]"},
        (),
        "c",
    ),
    "else f1": ("", {"a": "[{ always = true }]", "f1": "[{ always = true }]"}, (), "f1"),
    "f1 before one that was added": (
        "",
        {"a": "[]", "f1": "[{ always = true }]"},
        ("--add-evaluator", "a"),
        "f1",
    ),
    "f1 before one that an option wires": (
        "",
        {"a": '[{ option = "x" }]', "f1": "[{ always = true }]"},
        ("--given", "x"),
        "f1",
    ),
    "else of the one that was chosen": (
        "",
        {"a": "[{ always = true }]", "c": "[]"},
        ("--add-evaluator", "c"),
        "c",
    ),
    "else of any": ("", {"a": "[{ always = true }]", "c": "[{ always = true }]"}, (), "a"),
    "with its prefix": (
        'primary = "c"',
        {"c": "[{ always = true }]"},
        ("--score-prefix", "c=my_"),
        "my_c",
    ),
    "none": ("", {"a": "[]"}, (), None),
}


@pytest.mark.parametrize(
    ("more", "evaluators", "arguments", "primary"),
    PRIMARY_SCORES.values(),
    ids=PRIMARY_SCORES.keys(),
)
def test_the_primary_is(
    site: Any,
    explain: Run,
    more: str,
    evaluators: Mapping[str, str],
    arguments: tuple[str, ...],
    primary: str | None,
) -> None:
    add_dataset(site, f'tags = ["qa"]\n{more}')
    for name, wire in evaluators.items():
        site.evaluator(f"acme-{name}", name, wire=wire)
    report = explain(*arguments)
    assert report["primary"] == primary
    assert report["warnings"] == []


@pytest.mark.parametrize(
    ("install", "arguments", "why"),
    [
        (False, (), "no installed evaluator gives it"),
        (True, (), "acme-own/own is left out: it has no wiring rule"),
        (
            True,
            ("-p", "no:own"),
            "acme-own/own is left out: blocked: switched off by the command line",
        ),
    ],
    ids=["not installed", "not wired", "blocked"],
)
def test_a_primary_that_gives_way_unasked_is_warned_of(
    site: Any, explain: Run, install: bool, arguments: tuple[str, ...], why: str
) -> None:
    site.basics()
    add_dataset(site, 'primary = "own"')
    if install:
        site.evaluator("acme-own", "own")
    report = explain(*arguments)
    assert report["primary"] == "exact"
    [warning] = report["warnings"]
    assert "'own'" in warning
    assert why in warning
    assert explain("--evaluators", "exact")["warnings"] == []


def with_capabilities(capabilities: str, isolation: str = "") -> dict[str, str]:
    manifest = f"""
        schema = 1
        api = "1.0"
        [evaluators.risky]
        summary = "Does something that needs consent"
        class = "Evaluator"
        primary = "risky"
        version = "1"
        capabilities = {capabilities}
        wire = [{{ always = true }}, {{ option = "risky-url" }}]
        scores.risky = {{}}
        [evaluators.risky.options]
        base_url = {{ flag = "--risky-url", help = "An address" }}
    """
    code = f"""
        class Evaluator:
            name = "risky"
            def __init__(self, base_url=None):
                pass
            def score(self, original, processed):
                return {{"risky": 1.0}}
            {isolation}
    """
    return {"manifest": manifest, "code": code}


CONSENT = {
    "a paid endpoint": ('["network"]', (), False),
    "a paid endpoint, allowed": ('["network"]', ("--allow", "network"), True),
    "a paid endpoint, asked for": ('["network"]', ("--add-evaluator", "risky"), True),
    "a paid endpoint, chosen": ('["network"]', ("--evaluators", "risky"), True),
    "a paid endpoint whose option is given": (
        '["network"]',
        ("--risky-url", "http://risky.test"),
        True,
    ),
    "both": ('["executes-model-code", "network"]', (), False),
    "both, one allowed": (
        '["executes-model-code", "network"]',
        ("--allow", "executes-model-code"),
        False,
    ),
    "a subprocess": ('["subprocess", "model-download", "env:KEY"]', (), True),
}


@pytest.mark.parametrize(
    ("capabilities", "arguments", "wired"), CONSENT.values(), ids=CONSENT.keys()
)
def test_nothing_is_paid_for_without_consent(
    site: Any, context_bench: Run, capabilities: str, arguments: tuple[str, ...], wired: bool
) -> None:
    site.basics()
    site.evaluator("acme-risky", "risky", **with_capabilities(capabilities))
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", *arguments)
    assert ("risky" in scores(done)) is wired
    warned = "acme-risky/risky would score toy but is left out: it calls a network service; allow it with --allow network"
    assert (warned in done.words) is not wired


def test_a_dry_run_warns_once(site: Any, context_bench: Run) -> None:
    site.basics()
    site.evaluator("acme-risky", "risky", **with_capabilities('["network"]'))
    for command in (
        ("run", "-s", "echo", "-d", "toy", "--dry-run"),
        ("explain", "wiring", "-d", "toy"),
    ):
        assert (
            context_bench(*command).err.count("acme-risky/risky would score toy but is left out")
            == 1
        )


SANDBOX = {
    "without a sandbox": ("", (), False),
    "with an isolating sandbox": ("def isolation(self): return 'namespaces'", (), True),
    "with a sandbox that does not isolate": ("def isolation(self): return None", (), False),
    "with the user's word": ("", ("--allow", "executes-model-code"), True),
    "chosen by the user": ("", ("--add-evaluator", "risky"), True),
    "with an option that is no consent to it": ("", ("--risky-url", "http://risky.test"), False),
}


@pytest.mark.parametrize(("isolation", "arguments", "runs"), SANDBOX.values(), ids=SANDBOX.keys())
def test_code_of_a_model_runs_only_in_a_sandbox_or_with_consent(
    site: Any,
    context_bench: Run,
    asked: Callable[[], int],
    isolation: str,
    arguments: tuple[str, ...],
    runs: bool,
) -> None:
    site.basics()
    site.evaluator("acme-risky", "risky", **with_capabilities('["executes-model-code"]', isolation))
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", *arguments)
    if runs:
        assert "risky" in scores(done)
    else:
        assert (done.code, asked()) == (2, 0)
        assert "--allow executes-model-code" in done.words
        assert "--exclude risky" in done.words


def test_a_primary_that_needs_consent_stops_the_run(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    add_dataset(site, 'primary = "risky"')
    site.evaluator("acme-risky", "risky", **with_capabilities('["network"]'))
    run = ("run", "-s", "echo", "-d", "quiz", "-q", "--format", "json")
    done = context_bench(*run)
    assert (done.code, asked()) == (2, 0)
    assert "acme-risky/risky" in done.words
    assert "risky" in scores(context_bench(*run, "--allow", "network"))
    assert "risky" not in scores(context_bench(*run, "--exclude", "risky"))


YIELDS = {
    "always to by name": (
        "[{ always = true }]",
        '[{ datasets = ["toy"] }]',
        (),
        "a",
        "dataset toy",
    ),
    "always to chosen": (
        "[{ always = true }]",
        "[]",
        ("--add-evaluator", "b"),
        "a",
        "added with --add-evaluator",
    ),
    "by name to chosen": (
        '[{ datasets = ["toy"] }]',
        "[]",
        ("--add-evaluator", "b"),
        "a",
        "added with --add-evaluator",
    ),
}


@pytest.mark.parametrize(
    ("wire_a", "wire_b", "arguments", "loser", "reason"), YIELDS.values(), ids=YIELDS.keys()
)
def test_a_key_belongs_to_the_closer_evaluator_and_the_other_one_yields(
    site: Any,
    context_bench: Run,
    wire_a: str,
    wire_b: str,
    arguments: tuple[str, ...],
    loser: str,
    reason: str,
) -> None:
    site.basics()
    same = "class Evaluator:\n    name = '{0}'\n    def score(self, original, processed): return {{'same': {1}}}\n"
    site.evaluator("acme-a", "a", key="same", wire=wire_a, code=same.format("a", 0.25))
    site.evaluator("acme-b", "b", key="same", wire=wire_b, code=same.format("b", 0.75))
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", *arguments)
    assert scores(done)["same"] == 0.75
    assert f"acme-{loser}/{loser}" in done.words
    assert f"acme-b/b ({reason})" in done.words


CLASHES = {
    "both chosen": ("[]", "[]", ("--add-evaluator", "a", "--add-evaluator", "b")),
    "both always": ("[{ always = true }]", "[{ always = true }]", ()),
    "both by name": ('[{ datasets = ["toy"] }]', '[{ datasets = ["toy"] }]', ()),
}


@pytest.mark.parametrize(("wire_a", "wire_b", "arguments"), CLASHES.values(), ids=CLASHES.keys())
def test_one_key_of_two_equals_stops_the_run_until_one_gets_a_prefix(
    site: Any,
    context_bench: Run,
    asked: Callable[[], int],
    wire_a: str,
    wire_b: str,
    arguments: tuple[str, ...],
) -> None:
    site.basics()
    site.evaluator("acme-a", "a", key="same", wire=wire_a)
    site.evaluator("acme-b", "b", key="same", wire=wire_b)
    run = ("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", *arguments)
    done = context_bench(*run)
    assert (done.code, asked()) == (2, 0)
    assert "acme-a/a" in done.words
    assert "--exclude acme-b/b" in done.words
    assert "--score-prefix acme-b/b=" in done.words
    assert scores(context_bench(*run, "--score-prefix", "acme-b/b=other_")) == {
        "exact": 1.0,
        "same": 1.0,
        "other_same": 1.0,
    }


def rows_by_label(done: Any) -> list[tuple[str, set[str]]]:
    assert done.code == 0, done.words
    return [(row["dataset"], set(row["scores"])) for row in json.loads(done.out)["rows"]]


def test_each_row_of_a_file_is_scored_by_what_is_wired_to_its_label(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    site.basics()
    site.evaluator("acme-one", "one", wire='[{ datasets = ["first"] }]')
    (workplace / "rows.labels").write_text("first second")
    run = ("run", "-s", "echo", "-q", "--format", "json")
    assert rows_by_label(context_bench(*run, "-d", "rows.labels")) == [
        ("first", {"exact", "one"}),
        ("second", {"exact"}),
    ]


def test_a_name_given_to_a_dataset_beats_the_column_of_its_rows(
    site: Any, context_bench: Run, workplace: Path
) -> None:
    site.basics()
    site.evaluator("acme-one", "one", wire='[{ datasets = ["first"] }]')
    (workplace / "rows.labels").write_text("first second")
    run = ("run", "-s", "echo", "-q", "--format", "json")
    assert (
        rows_by_label(context_bench(*run, "-d", "second=rows.labels"))
        == [("second", {"exact"})] * 2
    )
    assert (
        rows_by_label(context_bench(*run, "-d", "first=rows.labels"))
        == [("first", {"exact", "one"})] * 2
    )


def test_rows_without_a_label_get_the_evaluators_that_are_always_wired(
    site: Any, asked: Callable[[], int]
) -> None:
    from context_bench import evaluate

    site.basics()
    site.evaluator("acme-one", "one", wire='[{ datasets = ["first"] }]')
    rows = [
        {"question": "q", "answer": "q"},
        {"question": "q", "answer": "q", "dataset": None},
        {"question": "q", "answer": "q", "dataset": "first"},
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTEXT_BENCH_PLUGINS", ",".join(site.names))
        result = evaluate(lambda example: example["question"], rows, progress=False)
    assert [set(row.scores) for row in result.rows] == [{"exact"}, {"exact"}, {"exact", "one"}]


def test_a_label_that_is_no_dataset_says_so(site: Any, explain: Run) -> None:
    site.basics()
    add_dataset(site)
    assert explain(dataset="quizz")["warnings"] == [
        "Unknown dataset 'quizz', so it is taken for a label that rows carry. Did you mean 'quiz'?"
    ]
