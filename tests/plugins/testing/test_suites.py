"""The base classes of tests: a package without a fault passes them, and each fault fails one of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import context_bench_testing
from context_bench_testing import suites

CODE = """
    class Echo:
        name = "echo"
        def __init__(self, upper=False):
            self.upper = upper
        def process(self, example):
            return {"response": example["question"]}
    class Exact:
        name = "exact"
        def score(self, original, processed):
            return {"exact": float(original["answer"] == processed["response"])}
    class Words:
        name = "words"
        def count(self, text):
            return len(text.split())
    def rows(limit=None, config=None, split=None):
        for number in range(limit or 5):
            yield {"id": str(number), "question": "What?", "answer": "That."}
"""
MANIFEST = """
    schema = 1
    api = "1.0"
    [systems.acme]
    summary = "Echo"
    class = "Echo"
    [systems.acme.options.upper]
    type = "bool"
    default = false
    help = "Has no effect."
    [evaluators.acme]
    summary = "Exact"
    class = "Exact"
    version = "1"
    primary = "exact"
    needs = { original = ["answer"], processed = ["response"] }
    scores.exact = {}
    [tokenizers.acme]
    summary = "Words"
    class = "Words"
    [datasets.acme]
    summary = "Rows"
    class = "rows"
"""
POINTS = """
    [context_bench.systems]
    acme = acme_suites:Echo
    [context_bench.evaluators]
    acme = acme_suites:Exact
    [context_bench.tokenizers]
    acme = acme_suites:Words
    [context_bench.datasets]
    acme = acme_suites:rows
"""
TESTS = """
    from context_bench_testing.suites import (
        DatasetSuite, EvaluatorSuite, PackageSuite, SystemSuite, TokenizerSuite,
    )
    class TestPackage(PackageSuite):
        distribution = "acme-suites"
    class TestSystem(SystemSuite):
        component = "acme"
        expected = (({"question": "q"}, {"response": "q"}),)
    class TestEvaluator(EvaluatorSuite):
        component = "acme"
        expected = (({"answer": "a"}, {"response": "a"}, {"exact": 1.0}),)
    class TestTokenizer(TokenizerSuite):
        component = "acme"
        expected = (("a b", 2),)
    class TestDataset(DatasetSuite):
        component = "acme"
        expected = ({"id": "0", "question": "What?", "answer": "That."},)
"""

# what is replaced, with what, and the tests that fail
FAULTS = {
    "an undeclared key": (
        '{"exact": float',
        '{"exakt": float',
        {
            "TestEvaluator::test_it_keeps_its_declarations",
            "TestEvaluator::test_it_returns_the_expected_scores",
        },
    ),
    "output": (
        'return {"response": example',
        'print(1); return {"response": example',
        {"TestSystem::test_it_does_only_what_it_declares"},
    ),
    "a wrong score": (
        'original["answer"] ==',
        'original["answer"] !=',
        {"TestEvaluator::test_it_returns_the_expected_scores"},
    ),
    "a wrong count": (
        "len(text.split())",
        "len(text)",
        {"TestTokenizer::test_it_returns_the_expected_counts"},
    ),
    "no response": (
        '{"response": example["question"]}',
        "{}",
        {"TestSystem::test_it_can_be_called", "TestSystem::test_it_returns_the_expected_output"},
    ),
    "an unknown key of the manifest": (
        'primary = "exact"',
        'primary = "exact"\n    colour = 1',
        {
            "TestPackage::test_its_components_load",
            *(
                f"Test{name}::test_its_manifest_has_no_fault"
                for name in ("System", "Evaluator", "Tokenizer", "Dataset")
            ),
        },
    ),
    "another default": (
        "upper=False",
        "upper=True",
        {"TestPackage::test_its_options_are_arguments_of_its_code"},
    ),
}


class Outcomes:
    """A plugin of pytest that takes note of what passed, and of what failed with its reason."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.failed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("::")[2]
        if report.failed:
            self.failed[name] = report.longreprtext
        elif report.when == "call" and report.passed:
            self.passed.append(name)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed[report.nodeid] = report.longreprtext


@pytest.fixture
def run_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return what writes the package and runs its tests in this process."""
    modules = set(sys.modules)

    def run(code: str, manifest: str) -> Outcomes:
        package = tmp_path / "acme_suites"
        metadata = tmp_path / "acme_suites-1.0.dist-info"
        package.mkdir()
        metadata.mkdir()
        files = {
            package / "__init__.py": code,
            package / "context_bench_plugin.toml": manifest,
            metadata / "METADATA": "Metadata-Version: 2.1\nName: acme-suites\nVersion: 1.0\n",
            metadata / "entry_points.txt": POINTS,
            tmp_path / "test_acme.py": TESTS,
            tmp_path / "pytest.ini": "[pytest]\n",
        }
        for path, text in files.items():
            path.write_text(dedent(text), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        outcomes = Outcomes()
        without = ("cacheprovider", "faulthandler", "terminal")
        blocked = [part for name in without for part in ("-p", f"no:{name}")]
        code_of_pytest = pytest.main([*blocked, "test_acme.py"], plugins=[outcomes])
        assert code_of_pytest in (0, 1), outcomes.failed
        return outcomes

    yield run
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in ("acme_suites", "test_acme"):
            del sys.modules[name]


def test_a_package_without_a_fault_passes(run_package: Callable[..., Outcomes]) -> None:
    outcomes = run_package(CODE, MANIFEST)
    assert not outcomes.failed
    assert len(outcomes.passed) >= 37


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_the_test_of_its_topic(
    name: str, run_package: Callable[..., Outcomes]
) -> None:
    old, new, expected = FAULTS[name]
    assert old in CODE + MANIFEST
    outcomes = run_package(CODE.replace(old, new), MANIFEST.replace(old, new))
    assert set(outcomes.failed) == expected, outcomes.failed


def test_every_check_of_the_engine_belongs_to_one_topic() -> None:
    [folder] = context_bench_testing.__path__
    source = "".join(path.read_text(encoding="utf-8") for path in Path(folder).glob("*.py"))
    codes = set(re.findall(r'fault\(\s*"([a-z-]+)"', source)) | {"unusual-input", "raises"}
    topics = (suites.CALLS, suites.DECLARATIONS, suites.REPETITION, suites.UNUSUAL, suites.ACTS)
    assert codes == set().union(*topics)
    assert sum(map(len, topics)) == len(codes)
