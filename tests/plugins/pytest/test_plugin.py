"""The plugin in a pytest of its own: the fixture, run files, the section of the summary, workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("context_bench_pytest", reason="context-bench-pytest is not installed")

pytest_plugins = ["pytester"]

SYSTEM = """
    import pytest
    from context_bench_pytest import assert_score

    EXAMPLES = [{"id": str(n), "question": f"{n}?", "answer": str(n)} for n in range(8)]

    class Exact:
        name = "exact"
        def score(self, original, processed):
            return {"exact": float(original["answer"] == processed["response"])}

    def echo(example):
        if example["id"] == "3":
            raise ValueError("three")
        return example["id"]

    def run(context_bench_run, system=echo, **options):
        return context_bench_run(system, EXAMPLES, [Exact()], keep_going=True, **options)
"""


def test_a_session_reports_what_ran(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        SYSTEM
        + """
    def test_passes(context_bench_run):
        assert_score(run(context_bench_run), "exact", at_least=0.8)

    def test_fails(context_bench_run):
        assert_score(run(context_bench_run), "exact", at_least=0.9)
    """
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "3: exact 0" in text
    assert "ValueError: three" in text
    section = text.partition("= context-bench =")[2]
    assert section.count("echo: ") == 2
    assert "0.875" in section
    assert "8 rows" in section
    assert "1 failed" in section
    assert "test_passes.sqlite" in section
    assert "test_fails.sqlite" in section
    assert "::test_passes" in section


def test_a_session_without_a_benchmark_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert "context-bench =" not in result.stdout.str()


def test_a_fixture_of_a_module_runs_once_for_several_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        SYSTEM
        + """
    @pytest.fixture(scope="module")
    def result(context_bench_run):
        return run(context_bench_run)

    def test_one(result):
        assert_score(result, at_least=0.8)

    def test_two(result):
        assert_score(result, at_least=0.7)
    """
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)
    assert result.stdout.str().count("run file:") == 1


def test_a_run_that_is_stopped_is_an_error_without_a_long_traceback(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        SYSTEM
        + """
    def broken(example):
        raise ValueError("nothing works")

    def test_stops(context_bench_run):
        context_bench_run(broken, EXAMPLES * 3, [Exact()])
    """
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "RunStoppedError" in text
    assert "nothing works" in text
    assert "session.py" not in text
    assert "no result" in text.partition("= context-bench =")[2]


def test_run_files_are_kept_where_the_user_says_and_never_overwritten(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        SYSTEM
        + """
    @pytest.mark.parametrize("name", ["a/b", "c d"])
    def test_it(context_bench_run, name):
        run(context_bench_run)
        run(context_bench_run)
    """
    )
    for _ in range(2):
        result = pytester.runpytest("-p", "no:cacheprovider", "--context-bench-runs", "kept")
        result.assert_outcomes(passed=2)
    files = sorted(pytester.path.glob("kept/*/*.sqlite"))
    assert len(files) == 8
    assert {path.name for path in files} == {
        "test_it-a-b.sqlite",
        "test_it-a-b-2.sqlite",
        "test_it-c-d.sqlite",
        "test_it-c-d-2.sqlite",
    }


def test_a_run_file_and_progress_may_be_given(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        SYSTEM
        + """
    def test_it(context_bench_run, tmp_path):
        result = run(context_bench_run, run_file=tmp_path / "own.sqlite", progress=False)
        assert result.config["run_file"].endswith("own.sqlite")
    """
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert "own.sqlite" in result.stdout.str()


def test_a_cache_takes_responses_from_earlier_sessions(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        SYSTEM
        + """
    class Counting:
        name = "counting"
        calls = 0
        def fingerprint(self):
            return {"version": 1}
        def process(self, example):
            Counting.calls += 1
            return {"response": example["id"]}

    def test_it(context_bench_run):
        for _ in range(2):
            assert_score(run(context_bench_run, Counting(), cache_dir="cache"), at_least=1)
        assert Counting.calls == 8
    """
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert len(list(pytester.path.glob("cache/*.sqlite"))) == 2


def test_workers_have_separate_folders_and_one_section(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    pytester.makepyfile(
        SYSTEM
        + """
    @pytest.mark.parametrize("number", range(4))
    def test_it(context_bench_run, number):
        assert_score(run(context_bench_run), at_least=0.9 if number == 2 else 0.8)
    """
    )
    result = pytester.runpytest_subprocess(
        "-n", "2", "-p", "no:cacheprovider", "--context-bench-runs", "kept"
    )
    result.assert_outcomes(passed=3, failed=1)
    text = result.stdout.str()
    section = text.partition("= context-bench =")[2]
    assert section.count("run file:") == 4
    assert "[gw0]" in section
    assert "[gw1]" in section
    files = list(pytester.path.glob("kept/*/*.sqlite"))
    assert len(files) == 4
    assert {path.parent.name.rpartition("-")[2] for path in files} == {"gw0", "gw1"}


def test_the_plugin_imports_nothing_of_context_bench_until_it_is_used(tmp_path: Path) -> None:
    code = (
        "import sys, context_bench_pytest.plugin\n"
        "print([name for name in sys.modules if name.startswith(('context_bench.', 'numpy', 'scipy'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
