"""Comparing runs through the command line: verdicts, flips, slices, gates, baselines, plans, and what is refused."""

from __future__ import annotations

import json
import random
import re
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from scipy import stats

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ContextBenchError
from context_bench_compare.below_table import verdicts
from context_bench_compare.gate_extension import Gates
from context_bench_compare.rendering import _cell


class Sometimes:
    """Answers right with a chance that depends on the example alone."""

    def __init__(self, name: str, share: float, seed: int) -> None:
        self.name, self._share, self._seed = name, share, seed

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        chance = random.Random(f"{self._seed} {example['id']}").random()
        return {"response": example["answer"] if chance < self._share else "no idea"}


class Right:
    """Scores 1.0 for the right answer."""

    name = "right"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def examples(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"doc{n // 5}-{n}",
            "answer": f"a{n}",
            "dataset": "even" if n % 2 == 0 else "odd",
            "size": n % 3,
        }
        for n in range(count)
    ]


def run(path: Path, *systems: Sometimes, count: int = 300, **more: Any) -> Path:
    evaluate(
        list(systems),
        examples(count),
        [Right()],
        progress=False,
        run_file=path,
        score_field="right",
        **more,
    )
    return path


CHANCES = {"direct": (0.8, 1), "good": (0.93, 2), "same": (0.8, 1), "bad": (0.55, 3)}
DIRECT, GOOD, SAME, BAD = (Sometimes(name, *chance) for name, chance in CHANCES.items())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    run(place / "all.sqlite", DIRECT, GOOD, SAME, BAD, baseline="direct")
    run(place / "old.sqlite", Sometimes("proxy", 0.8, 1))
    run(place / "new.sqlite", Sometimes("proxy", 0.55, 3))
    return place


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in folder.glob("*.sqlite"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert execute([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_each_system_gets_its_verdict_and_numbers_that_come_out_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {
        line["system"]: line
        for line in told(capsys, "compare", "all.sqlite", "-m", "right")["comparisons"]
    }
    assert {name: line["verdict"] for name, line in lines.items()} == {
        "good": "better",
        "same": "inconclusive",
        "bad": "worse",
    }
    for name, line in lines.items():
        ours = [Sometimes(name, *CHANCES[name]).process(one) for one in examples(300)]
        theirs = [DIRECT.process(one) for one in examples(300)]
        right = [
            (a["response"] == e["answer"], b["response"] == e["answer"])
            for a, b, e in zip(ours, theirs, examples(300))
        ]
        improved, regressed = sum(a and not b for a, b in right), sum(b and not a for a, b in right)
        assert (line["improved"]["count"], line["regressed"]["count"]) == (improved, regressed)
        assert line["difference"] == pytest.approx((improved - regressed) / 300)
        flips = improved + regressed
        assert line["p_value"] == pytest.approx(
            stats.binomtest(improved, flips).pvalue - stats.binom.pmf(improved, flips, 0.5)
            if improved != regressed
            else 1.0,
            abs=1e-9,
        )
        assert line["p_value_corrected"] >= line["p_value"]
        assert line["interval"]["low"] <= line["difference"] <= line["interval"]["high"]


def test_the_same_command_says_the_same_twice(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("compare", "all.sqlite", "-m", "right", "--cluster", "id:-", "--by", "size")
    assert told(capsys, *arguments) == told(capsys, *arguments)


def test_clusters_make_the_interval_no_narrower_by_number(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [line] = [
        one
        for one in told(capsys, "compare", "all.sqlite", "-m", "right", "--cluster", "id:-")[
            "comparisons"
        ]
        if one["system"] == "bad"
    ]
    assert line["clusters"] == 60
    assert line["test"] == "sign-flip"


def test_slices_add_up_to_the_whole(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for field, count in (("size", 3), ("dataset", 2)):
        lines = [
            one
            for one in told(capsys, "compare", "all.sqlite", "-m", "right", "--by", field)[
                "comparisons"
            ]
            if one["system"] == "bad"
        ]
        slices = [line for line in lines if line["slice"] != "all"]
        assert len(slices) == count
        assert sum(line["rows"] for line in slices) == 300
        assert sum(line["regressed"]["count"] for line in slices) == lines[0]["regressed"]["count"]


def test_two_runs_are_matched_by_the_content_of_their_rows(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [line] = told(capsys, "compare", "old.sqlite", "new.sqlite", "-m", "right")["comparisons"]
    assert (line["system"], line["baseline"], line["verdict"], line["rows"]) == (
        "new/proxy",
        "old/proxy",
        "worse",
        300,
    )
    shuffled = examples(200)
    random.Random(0).shuffle(shuffled)
    evaluate(
        Sometimes("proxy", 0.55, 3),
        shuffled,
        [Right()],
        progress=False,
        run_file="short.sqlite",
        score_field="right",
    )
    [line] = told(capsys, "compare", "old.sqlite", "short.sqlite", "-m", "right")["comparisons"]
    assert (line["rows"], line["unmatched"]) == (200, 100)


class Length:
    """Scores how long a response is, in a unit."""

    name = "length"

    def __init__(self, version: str) -> None:
        self.version = version

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"length": len(processed["response"]) / 100}


def test_only_the_evaluator_of_a_score_must_be_the_same(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, version in (("one", "1"), ("two", "2")):
        both = [Right(), Length(version)]
        evaluate(
            Sometimes(name, 0.8, 1),
            examples(50),
            both,
            progress=False,
            run_file=here / f"{name}.sqlite",
        )
    [line] = told(capsys, "compare", "one.sqlite", "two.sqlite", "-m", "right")["comparisons"]
    assert (line["verdict"], line["difference"], line["rows"]) == ("inconclusive", 0.0, 50)
    [line] = told(capsys, "compare", "one.sqlite", "two.sqlite", "-m", "length")["comparisons"]
    assert (
        line["verdict"],
        "in different versions or with different options" in line["sentence"],
    ) == (
        "incomparable",
        True,
    )
    assert execute(["compare", "one.sqlite", "two.sqlite", "-m", "right"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"Scored in different ways in the two runs, and not compared here: \S*Length\.", said
    )


def test_primary_scores_that_are_different_scores_are_incomparable(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, evaluators in (("one", [Right()]), ("two", [Length("1")])):
        evaluate(
            Sometimes(name, 0.8, 1),
            examples(50),
            evaluators,
            progress=False,
            run_file=here / f"{name}.sqlite",
        )
    [line] = told(capsys, "compare", "one.sqlite", "two.sqlite")["comparisons"]
    assert line["verdict"] == "incomparable"
    assert re.search(
        "the score of (even|odd) is length in two.sqlite, and right in one.sqlite", line["sentence"]
    )


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("right:min=0.9", r"bad right is 0\.\d+, min 0\.9 \(\S+ to \S+ at 95%, 300 rows\)"),
        (
            "right:max-drop=1pp",
            r"bad right changed by -0\.\d+, max-drop 0\.01 \(\S+ to \S+ at 95%, 300 rows\)",
        ),
        ("p50:max=100s", r"bad p50 is \S+ s, max 100 s \(\S+ to \S+ s at 95%, 300 rows\)"),
        (
            "latency:max-rise=1s",
            r"bad latency changed by \S+ s, max-rise 1 s \(\S+ to \S+ s at 95%, 300 rows\)",
        ),
    ],
    ids=lambda value: value.partition(":")[0] if ":" in value else "",
)
def test_a_gate_says_the_rows_and_the_unit_that_it_rests_on(
    gate: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["compare", "all.sqlite", "-m", "right", "--gate", gate, "--json"]) in (0, 10)
    outcomes = json.loads(capsys.readouterr().out)["gates"]
    assert any(re.fullmatch(words, one["sentence"]) for one in outcomes), outcomes


def test_scores_of_different_versions_are_incomparable(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Newer(Right):
        version = "2"

    Newer.__qualname__, Newer.__module__ = Right.__qualname__, Right.__module__
    evaluate(
        Sometimes("proxy", 0.8, 1),
        examples(60),
        [Newer()],
        progress=False,
        run_file="newer.sqlite",
        score_field="right",
    )
    [line] = told(capsys, "compare", "old.sqlite", "newer.sqlite", "-m", "right")["comparisons"]
    assert line["verdict"] == "incomparable"
    assert "context-bench rescore newer.sqlite" in line["sentence"]
    [line] = told(capsys, "compare", "old.sqlite", "newer.sqlite", "-m", "right", "--anyway")[
        "comparisons"
    ]
    assert line["verdict"] != "incomparable"
    gate = (
        "compare",
        "old.sqlite",
        "newer.sqlite",
        "-m",
        "right",
        "--gate",
        "score:max-drop=50pp,vs=newer.sqlite",
    )
    assert execute(list(gate)) == 2
    assert "cannot be judged against newer.sqlite" in capsys.readouterr().err
    [outcome] = told(capsys, *gate, "--anyway")["gates"]
    assert outcome["state"] == "passed"


def test_a_score_or_slice_that_is_named_twice_is_compared_once(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = told(capsys, "compare", "all.sqlite", "-m", "right", "--by", "size")
    twice = (
        "all.sqlite",
        "-m",
        "right",
        "-m",
        "right",
        "--by",
        "size",
        "--by",
        "size",
    )
    assert told(capsys, "compare", *twice) == once


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metrics": ()}, "nothing to compare by"),
        ({"confidence": "0.9"}, "between 0.5 and 1"),
        ({"confidence": 2}, "between 0.5 and 1"),
        ({"margin": float("nan")}, "must be above zero"),
    ],
)
def test_a_result_refuses_what_it_cannot_be_compared_by(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    result = evaluate(
        [GOOD, BAD],
        examples(30),
        [Right()],
        progress=False,
        run_file=tmp_path / "r.sqlite",
        score_field="right",
    )
    with pytest.raises(ContextBenchError, match=words):
        result.compare(**options)


@pytest.mark.parametrize(
    ("confidence", "shown"), [("0.95", "95%"), ("0.975", "97.5%"), ("0.9999", "99.99%")]
)
def test_no_confidence_is_told_as_certainty(
    here: Path, capsys: pytest.CaptureFixture[str], confidence: str, shown: str
) -> None:
    gate = f"score:min=0,confidence={confidence}"
    assert execute(["compare", "all.sqlite", "--confidence", confidence, "--gate", gate]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert set(re.findall(r"at ([\d.]+%)", words)) == {shown}


class Priced(Sometimes):
    """Tells what it cost, for every tenth example."""

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        usage = {"usage": {"cost": 0.01}} if example["id"].endswith("0") else {}
        return {**super().process(example), **usage}


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("cost:max=1", 11),
        ("cost:max=0.2", 10),
        ("cost:min=0.2", 0),
        ("cost:min=1", 11),
        ("cost:max-rise=1", 11),
    ],
)
def test_a_sum_with_unknown_parts_is_not_met_by_those_that_are_known(
    here: Path, capsys: pytest.CaptureFixture[str], gate: str, code: int
) -> None:
    run(here / "priced.sqlite", Priced("a", 1, 1), Priced("b", 1, 1))
    for outcome in told(capsys, "compare", "priced.sqlite", "--gate", gate, code=code)["gates"]:
        assert ("no known value" in outcome["sentence"]) == (code == 11)


class Counted(Sometimes):
    """Answers right, and may have its tokens counted by the endpoint, always or every other time."""

    model = "m"

    def __init__(self, name: str, every: int) -> None:
        super().__init__(name, 1, 1)
        self._every = every

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        is_told = self._every and int(example["answer"][1:]) % self._every == 0
        usage = {"usage": {"input_tokens": 9, "output_tokens": 1, "cost": 0.5}} if is_told else {}
        return {**super().process(example), "context": "one two three", **usage}


TOLD, OTHER, UNTOLD, HALF = (
    Counted("told", 1),
    Counted("other", 1),
    Counted("untold", 0),
    Counted("half", 2),
)


@pytest.mark.parametrize(
    ("against", "metric", "words"),
    [
        (OTHER, "prompt_tokens", None),
        (UNTOLD, "output_tokens", None),
        (UNTOLD, "right", None),
        (UNTOLD, "latency", None),
        (
            UNTOLD,
            "prompt_tokens",
            "prompt_tokens is reported by the endpoint for told, and counted by words for untold;",
        ),
        (
            UNTOLD,
            "response_tokens",
            "response_tokens is reported by the endpoint for told, and counted by words for",
        ),
        (
            HALF,
            "prompt_tokens",
            "for told, and counted by words or reported by the endpoint for half; --anyway",
        ),
    ],
    ids=[
        "both reported",
        "both counted",
        "a score",
        "a time",
        "prompts",
        "responses",
        "some reported",
    ],
)
def test_tokens_that_are_counted_in_different_ways_are_not_compared(
    against: Counted, metric: str, words: str | None, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(here / "counted.sqlite", TOLD, against, count=60, baseline=against.name)
    command = ["compare", "counted.sqlite", "-m", metric]
    [line] = told(capsys, *command)["comparisons"]
    assert (line["verdict"] == "incomparable") == (words is not None)
    if words is not None:
        assert words in line["sentence"]
        assert told(capsys, *command, "--anyway")["comparisons"][0]["verdict"] != "incomparable"
        assert execute([*command, "--gate", f"{metric}:max-rise=1"]) == 2
        assert words in " ".join(capsys.readouterr().err.split())


def test_the_front_goes_by_what_is_counted_alike(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, against, measure, unit in (
        ("a", OTHER, "cost", "USD"),
        ("b", UNTOLD, "latency", "s"),
    ):
        run(here / f"{name}.sqlite", TOLD, against, count=60)
        front = told(capsys, "compare", f"{name}.sqlite")["front"]
        assert (front["measure"], front["unit"]) == (measure, unit)


def test_money_of_two_currencies_is_not_compared(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_cost", reason="prices come from there")
    for currency in ("EUR", "USD"):
        prices = {"currency": currency, "m": {"input": 1, "output": 1}}
        run(here / f"{currency}.sqlite", TOLD, count=60, prices=prices)
    words = "cost is in USD in USD.sqlite, and in EUR in EUR.sqlite; --anyway"
    found = told(capsys, "compare", "EUR.sqlite", "USD.sqlite", "-m", "cost", "-m", "right")
    assert [line["verdict"] for line in found["comparisons"]] == ["incomparable", "inconclusive"]
    assert words in found["comparisons"][0]["sentence"]
    found = told(capsys, "compare", "EUR.sqlite", "USD.sqlite", "-m", "right")
    assert [ratio["ratio"] for ratio in found["ratios"]] == []
    assert found["front"]["measure"] == "prompt_tokens"
    assert execute(["baseline", "promote", "EUR.sqlite", "--as", "eur", "--reason", "x"]) == 0
    assert execute(["compare", "USD.sqlite", "@eur", "--gate", "cost:max-rise=1,vs=@eur"]) == 2
    assert "cost is in USD in USD.sqlite, and in EUR in" in " ".join(
        capsys.readouterr().err.split()
    )


def test_no_row_passes_by_what_it_costs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(here / "counted.sqlite", TOLD, OTHER, count=60)
    for metric, ratios in (("right", {"cost_per_pass"}), ("cost", set()), ("prompt_tokens", set())):
        found = told(capsys, "compare", "counted.sqlite", "-m", metric)["ratios"]
        assert {ratio["ratio"] for ratio in found} - {"compression"} == ratios
        assert [ratio["unit"] for ratio in found if ratio["ratio"] == "cost_per_pass"] == [
            "USD"
        ] * len(ratios)


@pytest.mark.parametrize("pairs", [False, True])
def test_a_gate_on_rows_in_clusters_knows_no_more_than_their_clusters(
    here: Path, capsys: pytest.CaptureFixture[str], pairs: bool
) -> None:
    """Ten equal rows of a cluster tell what one tells: of an unbounded mean, and of how many more rows decide."""

    class Large:
        name, version = "large", "1"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            draw = random.Random(f"{processed['response']} {original['cluster']}").gauss(10, 5)
            return {"large": draw}

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": self.name}

    found = {}
    for each in (1, 10):
        rows = [{"id": f"{n}", "cluster": n // each} for n in range(40 * each)]
        path = here / f"large{each}.sqlite"
        evaluate(
            [Named("a"), Named("b")],
            rows,
            [Large()],
            progress=False,
            run_file=path,
            score_field="large",
        )
        gate = "large:max-drop=0.1" if pairs else "large:min=7.5,confidence=0.99"
        found[each] = told(capsys, "compare", path.name, "--gate", gate, code=11)["gates"][0]
    if pairs:
        assert found[10]["more_rows"] == pytest.approx(10 * found[1]["more_rows"], rel=0.1)
    else:
        alone, together = (
            float(one["sentence"].split("(")[1].split(" to ")[0]) for one in found.values()
        )
        assert together == pytest.approx(alone, abs=0.3)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("right:max-drop=1pp", "holds one system only"),
        ("right:min=0.5/right:max-rise=1pp", "holds one system only"),
    ],
)
def test_a_gate_without_a_baseline_is_refused_before_the_first_call(
    here: Path, gate: str, words: str
) -> None:
    class Uncalled(Sometimes):
        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError("it was called")

    with pytest.raises(ContextBenchError, match=words):
        Gates(gate.split("/")).before_first_call(here / "old.sqlite", None)
    with pytest.raises(ContextBenchError, match=words):
        run(here / "one system.sqlite", Uncalled("proxy", 1, 1), gate=gate)


def test_a_baseline_that_is_not_there_is_told_before_anything_is_asked(here: Path) -> None:
    class Nobody(Sometimes):
        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError("it was asked")

    with pytest.raises(ContextBenchError, match="Unknown baseline '@nobody'"):
        run(here / "new one.sqlite", Nobody("proxy", 1, 1), gate="right:max-drop=1pp,vs=@nobody")


def test_a_baseline_is_promoted_by_its_name_and_told_beside_one_whose_story_is_damaged(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for source, name in (("old.sqlite", "main"), ("@main", "release"), ("@release", "release")):
        assert execute(["baseline", "promote", source, "--as", name, "--reason", "r"]) == 0
    for file in ("main.sqlite", "release.sqlite"):
        assert (here / "baselines" / file).read_bytes() == (here / "old.sqlite").read_bytes()
    (here / "baselines" / "main.json").write_text("{")
    capsys.readouterr()
    assert execute(["baseline", "list"]) == 2
    said = capsys.readouterr()
    assert "@release" in said.out
    assert "main.json does not tell what the baseline main is" in said.err
    assert execute(["baseline", "promote", "@mian", "--as", "x", "--reason", "r"]) == 2
    assert "Did you mean '@main'" in capsys.readouterr().err


def test_a_story_without_a_time_zone_has_an_age(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(["baseline", "promote", "old.sqlite", "--as", "main", "--reason", "r"])
    story = here / "baselines" / "main.json"
    story.write_text(
        json.dumps(json.loads(story.read_text()) | {"promoted": "2020-01-01T00:00:00"})
    )
    assert execute(["baseline", "list"]) == 0
    assert "days" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("right:max-drop=32pp", 0),
        ("right:max-drop=5pp", 10),
        ("right:max-drop=25pp", 11),
        ("pass_rate:min=0.4", 0),
        ("pass_rate:min=0.9", 10),
        ("p95:max=60s", 0),
        ("right:max-drop=30pp,confidence=0.5", 0),
    ],
)
def test_gates_decide_the_exit_code(
    here: Path, capsys: pytest.CaptureFixture[str], gate: str, code: int
) -> None:
    run(here / "two.sqlite", DIRECT, BAD, baseline="direct")
    found = told(
        capsys,
        "compare",
        "two.sqlite",
        "-m",
        "right",
        "--gate",
        gate.replace("right", "score"),
        code=code,
    )["gates"]
    assert found[0]["state"] == {0: "passed", 10: "failed", 11: "inconclusive"}[code]
    assert (found[0]["more_rows"] is not None) == (code == 11)


@pytest.mark.parametrize(
    ("gate", "needed"),
    [
        ("p50:max=60s", 10),
        ("p95:max=60s", 72),
        ("p95:max-rise=60s", 72),
        ("right:max-drop=90pp", 6),
    ],
)
def test_gates_on_percentiles_draw_whole_clusters_as_those_on_means_do(
    here: Path, capsys: pytest.CaptureFixture[str], gate: str, needed: int
) -> None:
    run(here / "two.sqlite", DIRECT, BAD, baseline="direct")
    found = told(
        capsys, "compare", "two.sqlite", "-m", "right", "--cluster", "size", "--gate", gate, code=11
    )["gates"]
    assert {one["state"] for one in found} == {"inconclusive"}
    assert all(f"3 clusters, {needed} are needed" in one["sentence"] for one in found)


def test_a_gate_on_a_percentile_beyond_all_rows_is_open(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(here / "two.sqlite", DIRECT, BAD, baseline="direct")
    found = told(capsys, "compare", "two.sqlite", "--gate", "p99:max=60s", code=11)["gates"]
    assert found[0]["sentence"].endswith(
        "or more at 95%, 300 rows); 368 rows are needed to meet it"
    )


@pytest.mark.parametrize(
    ("written", "meant"), [("pas_rate:min=0.5", "pass_rate"), ("p90:max=2", "p95")]
)
def test_a_misspelt_gate_is_told_with_what_gates_hold(
    here: Path, capsys: pytest.CaptureFixture[str], written: str, meant: str
) -> None:
    run(here / "two.sqlite", DIRECT, BAD, baseline="direct")
    assert execute(["compare", "two.sqlite", "--gate", written]) == 2
    assert re.search(f"Did you mean .*'{meant}'", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("count", "samples", "margin", "words"),
    [
        (1, 30, "0.05", "tells nothing about the spread: 1 cluster, 6 are needed"),
        (4, 30, "0.05", "tells nothing about the spread: 4 clusters, 6 are needed"),
        (9, 1, "0.05", "tells nothing about the spread: 9 rows, 10 are needed"),
        (40, 1, "1e-9", "No run shows a margin of 1e-09 beside differences of 1"),
        (40, 1, "1e-300", "No run shows a margin of 1e-300"),
    ],
)
def test_a_pilot_that_tells_nothing_plans_nothing(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    count: int,
    samples: int,
    margin: str,
    words: str,
) -> None:
    run(here / "pilot.sqlite", DIRECT, BAD, count=count, repeat=samples)
    assert execute(["plan", "pilot.sqlite", "--margin", margin]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_every_sample_has_its_counterpart_in_another_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        run(here / f"{name}.sqlite", DIRECT, count=3, repeat=200)
    [found] = told(capsys, "compare", "one.sqlite", "two.sqlite")["comparisons"]
    assert (found["rows"], found["clusters"], found["unmatched"]) == (600, 3, 0)


def test_a_run_is_held_against_a_promoted_baseline_that_is_a_plain_file(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        execute(["baseline", "promote", "old.sqlite", "--as", "main", "--reason", "release 1"]) == 0
    )
    capsys.readouterr()
    [entry] = told(capsys, "baseline", "list")
    assert execute(["baseline", "list"]) == 0
    assert "@main  less than a minute  release 1" in capsys.readouterr().out
    assert (entry["name"], entry["reason"]) == ("main", "release 1")
    carried = here / "cache"
    shutil.copytree(here / "baselines", carried)
    shutil.rmtree(here / "baselines")
    gates = ("--gate", "score:max-drop=1pp,vs=@main", "--baselines", str(carried))
    assert execute(["compare", "@main", "new.sqlite", *gates[2:]]) == 0
    capsys.readouterr()
    found = told(capsys, "compare", "new.sqlite", "@main", *gates, code=10)
    assert found["gates"][0]["state"] == "failed"


def test_files_for_a_pull_request_and_for_ci_are_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "compare",
        "all.sqlite",
        "--gate",
        "score:max-drop=5pp",
        "-o",
        "out.md",
        "-o",
        "out.xml",
        "-o",
        "out.json",
    ]
    assert execute(arguments) == 10
    text = (here / "out.md").read_text(encoding="utf-8")
    assert "| bad |" in text
    assert "❌" in text
    suite = ElementTree.parse(here / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert json.loads((here / "out.json").read_text(encoding="utf-8"))["gates"]


def test_a_plan_tells_what_a_decision_takes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        one["system"]: one
        for one in told(capsys, "plan", "all.sqlite", "--margin", "0.02", "--metric", "right")
    }
    smaller = {
        one["system"]: one
        for one in told(capsys, "plan", "all.sqlite", "--margin", "4pp", "--metric", "right")
    }
    bad = found["bad"]
    assert bad["rows"] == pytest.approx(4 * smaller["bad"]["rows"], rel=0.15)
    assert bad["rows"] == pytest.approx((2.8016 * bad["deviation"] / 0.02) ** 2, rel=0.1)
    assert bad["rows_low"] < bad["rows"] < bad["rows_high"]
    assert bad["calls"] == 2 * bad["rows"]
    assert bad["cost"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "nowhere.sqlite"), "There is no run file nowhere.sqlite"),
        (("compare", "old.sqlite"), "holds one system only"),
        (("compare", "old.sqlite", "old.sqlite"), "old.sqlite and old.sqlite are the same run"),
        (("compare", "all.sqlite", "./all.sqlite"), "and ./all.sqlite are the same run"),
        (("compare", "all.sqlite", "-m", "rigth"), "Did you mean 'right'"),
        (("compare", "all.sqlite", "--baseline", "dircet"), "Did you mean 'direct'"),
        (("compare", "@mian"), "baseline promote"),
        (("compare", "all.sqlite", "--gate", "nothing:min=1"), "nothing"),
        (("compare", "all.sqlite", "--gate", "right"), "wrong form"),
        (("compare", "all.sqlite", "--cluster", "color"), "No example has the field 'color'"),
        (("compare", "all.sqlite", "-o", "x.docx"), "no suffix that is written here"),
        (("compare", "foreign.sqlite", "all.sqlite"), "foreign.sqlite"),
        (
            ("baseline", "promote", "all.sqlite", "--as", "../x", "--reason", "r"),
            "no name for a baseline",
        ),
        (("baseline", "promote", "all.sqlite", "--as", "x", "--reason", " "), "needs a reason"),
        (
            (
                "baseline",
                "promote",
                "all.sqlite",
                "--as",
                "x",
                "--reason",
                "r",
                "--baselines",
                "foreign.sqlite",
            ),
            "cannot be",
        ),
        (("plan", "all.sqlite", "--margin", "0"), "must be above zero"),
        (("plan", "all.sqlite", "--margin", "2 %"), "percentage points such as 2pp"),
        (("plan", "old.sqlite", "--margin", "0.1"), "one system only"),
        (("compare", "all.sqlite", "--margin", "0"), "must be above zero"),
        *(
            (("compare", "all.sqlite", "--margin", text), "must be a finite number")
            for text in ("nan", "inf")
        ),
        (("compare", "all.sqlite", "--margin=-2pp"), "must be above zero"),
        (("compare", "all.sqlite", "--threshold", "nan"), "must be a finite number"),
        (("compare", "all.sqlite", "--confidence", "nan"), "must be a finite number"),
        (("compare", "all.sqlite", "--seed", "-1"), "must not be below zero"),
        (("compare", "all.sqlite", "-o", "nowhere/x.md"), "There is no folder nowhere"),
        (("compare", "all.sqlite", "-m", "cost"), "No row of all.sqlite has a known cost"),
        (
            ("plan", "all.sqlite", "--margin", "1pp", "--confidence", "nan"),
            "must be a finite number",
        ),
        *(
            (("plan", "all.sqlite", "--margin", "1pp", f"--rpm={text}"), "must be above zero")
            for text in ("0", "-5")
        ),
        (("plan", "all.sqlite", "--margin", "1pp", "--rpm=nan"), "must be a finite number"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_wrong_input_is_told_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    (here / "foreign.sqlite").write_bytes(b"no database at all" * 100)
    assert execute(list(arguments)) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: ")
    assert words in line


def test_a_baseline_tells_its_age_and_its_reason_where_it_is_used(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(["baseline", "promote", "old.sqlite", "--as", "main", "--reason", "release\n1"])
    story = here / "baselines" / "main.json"
    told_of = json.loads(story.read_text())
    long_ago = datetime.now(timezone.utc) - timedelta(days=40, hours=1)
    story.write_text(json.dumps(told_of | {"promoted": long_ago.isoformat()}))
    line = f"Baseline @main, promoted 40 days ago ({long_ago:%Y-%m-%d}): release 1"
    for used, code in (
        (("@main", "new.sqlite"), 0),
        (("new.sqlite", "@main", "--gate", "score:max-drop=1pp,vs=@main"), 10),
        (("new.sqlite", "--baseline", "@main", "--gate", "score:max-drop=1pp"), 10),
        (("new.sqlite", "--baseline", "@main", "--json"), 0),
    ):
        capsys.readouterr()
        assert execute(["compare", *used]) == code, used
        shown = capsys.readouterr()
        assert shown.err.splitlines().count(line) == 1, used
        assert "main/proxy" in shown.out or "@main" not in used
    for used in (
        ("new.sqlite", "--baseline", "@main"),
        ("new.sqlite", "@main"),
        ("@main", "new.sqlite"),
    ):
        assert execute(["compare", *used]) == 0
        assert "new/proxy against main/proxy (score): worse." in " ".join(
            capsys.readouterr().out.split()
        ), used
    assert execute(["compare", "all.sqlite", "@main"]) == 0
    assert "proxy against direct (score)" in " ".join(capsys.readouterr().out.split())


def test_a_run_tells_the_age_of_the_baseline_that_its_gate_names(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(["baseline", "promote", "old.sqlite", "--as", "main", "--reason", "release 1"])
    gate = {"gate": {"gate": ["right:max-drop=1pp,vs=@main"]}}
    run(here / "again.sqlite", Sometimes("proxy", 0.8, 1), extension_options=gate)
    assert "Baseline @main, promoted less than a minute ago" in capsys.readouterr().err
    (here / "baselines" / "main.json").unlink()
    run(here / "again.sqlite", Sometimes("proxy", 0.8, 1), extension_options=gate)
    said = capsys.readouterr().err
    assert "Baseline @main: " in said
    assert "Promote it again" in said


def test_a_baseline_that_lost_its_story_says_how_to_mend_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(["baseline", "promote", "old.sqlite", "--as", "main", "--reason", "r"])
    (here / "baselines" / "main.json").write_text("{")
    assert execute(["baseline", "list"]) == 2
    assert "Promote it again" in capsys.readouterr().err


def test_runs_without_a_common_row_are_told_and_one_among_others_is_incomparable(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [{**one, "id": f"x{one['id']}"} for one in examples(40)]
    evaluate(
        Sometimes("proxy", 0.8, 1),
        others,
        [Right()],
        progress=False,
        run_file="other.sqlite",
        score_field="right",
    )
    assert execute(["compare", "old.sqlite", "other.sqlite", "-m", "right"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "old.sqlite and other.sqlite have no row in common" in line
    both = told(capsys, "compare", "old.sqlite", "new.sqlite", "other.sqlite", "-m", "right")[
        "comparisons"
    ]
    assert [line["verdict"] for line in both] == ["worse", "incomparable"]


def test_text_that_a_terminal_would_obey_is_written_out(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = [{"id": f"\x1b]0;owned\x07{n}", "answer": "a"} for n in range(30)]
    evaluate(
        [Sometimes("d", 1, 1), Sometimes("\x1b[31mred", 0, 1)],
        strange,
        [Right()],
        progress=False,
        run_file="s.sqlite",
        score_field="right",
    )
    assert execute(["compare", "s.sqlite", "-m", "right"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_run_without_gold_answers_has_no_verdict_and_no_error(tmp_path: Path) -> None:
    class Echo:
        def __init__(self, name: str) -> None:
            self.name = name

        def process(self, example: Any) -> dict[str, str]:
            return {"response": "x"}

    class Exact:
        name = "exact"

        def score(self, original: Any, processed: Any) -> dict[str, float] | None:
            return {"exact": 1.0} if "answer" in original else None

    for number, gold in enumerate(({}, {"answer": "x"})):
        path = tmp_path / f"{number}.sqlite"
        rows = [{"id": str(row), "question": "q", **gold} for row in range(30)]
        systems = [Echo("direct"), Echo("proxy")]
        found = evaluate(systems=systems, dataset=rows, evaluators=[Exact()], run_file=path)
        config = {
            **found.config,
            "run_file": str(path),
            "systems": ["direct", "proxy"],
            "baseline": "direct",
        }
        told = verdicts(SimpleNamespace(config=config, summary=found.summary))
        assert (told is None) == (not gold), told


def test_a_stored_run_is_shown_with_its_verdicts(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["report", "all.sqlite"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "good against direct (right): better." in shown
    assert "bad against direct (right): worse." in shown
    assert execute(["report", "all.sqlite", "--baseline", "bad"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "direct against bad (right): better." in shown
    assert "against direct" not in shown
    assert execute(["report", "all.sqlite", "--format", "json"]) == 0
    assert "against direct (right)" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1", "'=1"),
        (" +1", "' +1"),
        ("\ufeff@a", "'\ufeff@a"),
        ("＝1", "'＝1"),
        ("\ta", "'\ta"),
        ("a\r=b", "a =b"),
        ("a-b", "a-b"),
        (None, ""),
    ],
)
def test_no_cell_is_a_formula(value: str | None, cell: str) -> None:
    assert _cell(value) == cell


class Steady:
    """Says how long it took, so that no busy machine adds a slow row."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "yes", "latency": 0.01 + 0.001 * example["size"]}


def test_a_mean_of_seconds_is_not_met_by_few_rows_of_which_none_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    systems: Any = (Steady("direct"), Steady("bad"))
    run(tmp_path / "few.sqlite", *systems, count=40, baseline="direct")
    for gate, state, code in (
        ("latency:max=100s", "inconclusive", 11),
        ("latency:max=0.0", "failed", 10),
    ):
        outcomes = told(capsys, "compare", "few.sqlite", "--gate", gate, code=code)["gates"]
        assert [one["state"] for one in outcomes] == [state, state]
        for outcome in outcomes if state == "inconclusive" else ():
            assert re.search(
                r"\S+ s or more at 95%, 40 rows\); 72 rows are needed to meet it; p50 takes 20$",
                outcome["sentence"],
            )
            assert outcome["more_rows"] == 32


def test_a_change_of_a_mean_of_seconds_is_not_ruled_out_by_few_rows_of_which_none_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    systems: Any = (Steady("direct"), Steady("bad"))
    run(tmp_path / "few.sqlite", *systems, count=40, baseline="direct")
    run(tmp_path / "enough.sqlite", *systems, count=80, baseline="direct")
    gate = ("-m", "right", "--gate", "latency:max-rise=100s")
    [outcome] = told(capsys, "compare", "few.sqlite", *gate, code=11)["gates"]
    assert (outcome["state"], outcome["more_rows"]) == ("inconclusive", 32)
    assert re.search(
        r"\([+-]\S+ s or more at 95%, 40 rows\); 72 rows are needed to meet it$",
        outcome["sentence"],
    )
    [outcome] = told(capsys, "compare", "enough.sqlite", *gate)["gates"]
    assert outcome["state"] == "passed"
    assert told(
        capsys, "compare", "few.sqlite", "-m", "right", "--gate", "latency:max-drop=100s", code=11
    )["gates"]


@pytest.mark.parametrize(
    ("fields", "clusters"),
    [
        (({}, {"session_id": "s"}), 20 + 4),
        (({"cluster": "c"}, {"session_id": "s"}), 4 + 4),
        (({"session_id": "s"}, {"session_id": "s"}), 4),
        (({"session_id": None}, {}), None),
    ],
    ids=["the second dataset alone", "by two fields", "across datasets", "none has a value"],
)
def test_rows_of_each_dataset_hang_together_by_the_field_that_it_has(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    fields: tuple[dict[str, Any], ...],
    clusters: int | None,
) -> None:
    datasets = [
        [
            {
                "id": f"{number}-{n}",
                "answer": f"a{n}",
                **{name: value and f"{value}{n % 4}" for name, value in own.items()},
            }
            for n in range(20)
        ]
        for number, own in enumerate(fields)
    ]
    path = tmp_path / "two.sqlite"
    given = {f"d{number}": rows for number, rows in enumerate(datasets)}
    more: dict[str, Any] = {
        "progress": False,
        "run_file": path,
        "score_field": "right",
        "baseline": "direct",
    }
    evaluate([DIRECT, BAD], evaluators=[Right()], datasets=given, **more)
    [line] = told(capsys, "compare", str(path), "-m", "right")["comparisons"]
    assert line["clusters"] == clusters
