"""``cite``: BibTeX that a parser reads, of what a run used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomli

pytest.importorskip("context_bench_reports", reason="context-bench-reports is not installed")
from context_bench import evaluate
from context_bench.cli import execute
from context_bench_reports.bibtex import Work, bibtex, works_in

ROOT = Path(__file__).resolve().parents[3]
ENTRY = re.compile(r"@(\w+)\{([a-z0-9-]+),\n((?:  \w+ = \{.*\},\n)+)\}")


def fields(entry: str) -> dict[str, str]:
    found = ENTRY.fullmatch(entry)
    assert found is not None, entry
    assert entry.count("{") == entry.count("}")
    values = dict(re.findall(r"^  (\w+) = \{(.*)\},$", found[3], re.MULTILINE))
    return {"kind": found[1], "key": found[2], **values}


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("Lin 2004, ROUGE: A Package", [Work("Lin", "2004", "ROUGE: A Package")]),
        (
            "Krishna et al. 2024, Fact, Fetch, and Reason, NAACL",
            [Work("Krishna et al.", "2024", "Fact, Fetch, and Reason", "NAACL")],
        ),
        (
            "Clark et al. 2018, Try ARC, the AI2 Challenge",
            [Work("Clark et al.", "2018", "Try ARC, the AI2 Challenge")],
        ),
        (
            "Koreeda and Manning 2021, ContractNLI, Findings of EMNLP; Shaham et al. 2022, SCROLLS",
            [
                Work("Koreeda and Manning", "2021", "ContractNLI", "Findings of EMNLP"),
                Work("Shaham et al.", "2022", "SCROLLS"),
            ],
        ),
        ("Lee et al. 2019", [Work("Lee et al.", "2019", "")]),
        ("A page of the authors", [Work("", "", "A page of the authors")]),
        ("", []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_citation_is_read(citation: str, expected: list[Work]) -> None:
    assert list(works_in(citation)) == expected


def test_entries_are_bibtex_with_different_keys() -> None:
    works = [
        *works_in("Lin 2004, The Package of 100% {Sets} & $x_1", "https://example.org/a b{c}"),
        *works_in("Lin 2004, A Package Again, TACL"),
        *works_in("Lin 2004, A Package Again, TACL"),
    ]
    first, second = map(fields, bibtex(works))
    assert first["key"] == "lin2004package"
    assert second["key"] == "lin2004package-2"
    assert r"{100\%} \{Sets\} \& {\$x\_1}" in first["title"]
    assert first["url"] == "https://example.org/ab%7Bc%7D"
    assert (second["kind"], second["journal"]) == ("article", "TACL")


def test_each_citation_of_ours_has_authors_a_year_and_an_entry() -> None:
    found = 0
    for manifest in ROOT.glob("plugins/*/src/*/context_bench_plugin.toml"):
        tables = tomli.loads(manifest.read_text(encoding="utf-8"))
        for kind in ("datasets", "evaluators", "systems"):
            for name, table in tables.get(kind, {}).items():
                works = list(works_in(table.get("citation", "")))
                for work, entry in zip(works, bibtex(works), strict=True):
                    found += 1
                    assert work.authors, (name, work)
                    assert "," not in work.authors, (name, work)
                    assert fields(entry)["year"] == work.year
    assert found > 50


def test_each_work_of_ours_is_cited_in_full_and_everywhere_the_same() -> None:
    """A name such as `SCROLLS` finds no paper, and one paper of two years is two entries of a bibliography."""
    cited: dict[str, set[Work]] = {}
    for manifest in ROOT.glob("plugins/*/src/*/context_bench_plugin.toml"):
        tables = tomli.loads(manifest.read_text(encoding="utf-8"))
        for kind in ("datasets", "evaluators", "systems"):
            for table in tables.get(kind, {}).values():
                for work in works_in(table.get("citation", "")):
                    cited.setdefault(work.title.partition(":")[0], set()).add(work)
    assert [works for works in cited.values() if len(works) > 1] == []
    titles = [work.title for works in cited.values() for work in works]
    assert [title for title in titles if len(title.split()) < 4] == []


class Same:
    name = "same"

    def score(self, original: dict[str, str], processed: dict[str, str]) -> dict[str, float]:
        return {"same": 1.0}


def test_a_run_is_cited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("context_bench_rouge", reason="it scores the run")
    run = tmp_path / "run.sqlite"
    rows = [{"id": "q", "answer": "a b", "dataset": "dialogsum"}]
    evaluate(lambda example: "a", rows, ["rouge", Same()], progress=False, run_file=run)
    assert execute(["cite", str(run)]) == 0
    text = capsys.readouterr().out
    keys = [fields(entry)["key"] for entry in re.findall(r"^@.*?^\}", text, re.M | re.S)]
    assert keys[0] == "context-bench"
    assert "lin2004rouge" in keys
    assert "same" not in text
    try:
        import context_bench_summarization as labelled
    except ImportError:
        labelled = None
    assert ("chen2021dialogsum" in keys) is (labelled is not None)


def test_what_is_not_known_is_in_comments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_rouge", reason="it scores the run")
    pytest.importorskip("context_bench_needle", reason="it is the system of the run")
    run = tmp_path / "run.sqlite"
    rows = [{"id": "q", "answer": "a b", "question": "?"}]
    evaluate("needle-oracle", rows, ["rouge"], progress=False, run_file=run, keep_going=True)
    assert execute(["cite", str(run)]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("%")]
    assert "needle-oracle" in line
