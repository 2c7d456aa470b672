"""The base classes of tests: a package without a fault passes them, and each fault fails one of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

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


def failed_tests(folder: Path, code: str, manifest: str) -> tuple[set[str], str]:
    """Return which tests of the package fail, and what pytest printed."""
    package = folder / "acme_suites"
    metadata = folder / "acme_suites-1.0.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").write_text(dedent(code), encoding="utf-8")
    (package / "context_bench_plugin.toml").write_text(dedent(manifest), encoding="utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-suites\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(dedent(POINTS), encoding="utf-8")
    (folder / "test_acme.py").write_text(dedent(TESTS), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "test_acme.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return set(re.findall(r"^FAILED test_acme.py::(\S+)", done.stdout, re.M)), done.stdout


def test_a_package_without_a_fault_passes(tmp_path: Path) -> None:
    failed, printed = failed_tests(tmp_path, CODE, MANIFEST)
    assert not failed, printed
    [passed] = re.findall(r"(\d+) passed", printed)
    assert int(passed) >= 37


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_the_test_of_its_topic(name: str, tmp_path: Path) -> None:
    old, new, expected = FAULTS[name]
    assert old in CODE + MANIFEST
    failed, printed = failed_tests(tmp_path, CODE.replace(old, new), MANIFEST.replace(old, new))
    assert failed == expected, printed


def test_every_check_of_the_engine_belongs_to_one_topic() -> None:
    [folder] = context_bench_testing.__path__
    source = "".join(path.read_text(encoding="utf-8") for path in Path(folder).glob("*.py"))
    codes = set(re.findall(r'fault\(\s*"([a-z-]+)"', source)) | {"unusual-input", "raises"}
    topics = (suites.CALLS, suites.DECLARATIONS, suites.REPETITION, suites.UNUSUAL, suites.ACTS)
    assert codes == set().union(*topics)
    assert sum(map(len, topics)) == len(codes)
