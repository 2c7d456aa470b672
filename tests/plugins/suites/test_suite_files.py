"""Suites as TOML files: what they must pin, where they are found, and how they are named."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("context_bench_suites", reason="context-bench-suites is not installed")

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench_suites import find_suite, find_suites, read_suite
from context_bench_suites.recorded_sessions import tau_bench_sessions
from context_bench_suites.running import arguments


@pytest.fixture
def small(tmp_path: Path, small_text: str) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(small_text, encoding="utf-8")
    return path


def test_a_suite_is_read_with_the_hash_of_its_file(small: Path, small_text: str) -> None:
    suite = read_suite(small)
    assert suite.stamp() == {
        "name": "small",
        "version": "3",
        "sha256": sha256(small_text.encode()).hexdigest(),
    }
    assert [column.heading for column in suite.columns] == ["found"]
    assert suite.control is None


def test_line_ends_do_not_change_the_hash(small: Path, small_text: str) -> None:
    before = read_suite(small).sha256
    small.write_bytes(small_text.replace("\n", "\r\n").encode())
    assert read_suite(small).sha256 == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema = 1", "schema = 2"),
        ('name = "small"', 'name = "other"'),
        ('version = "3"', "version = 3"),
        ('summary = "Six needles."\n', ""),
        ("max_examples = 6", 'max_examples = "6"'),
        ("max_examples = 6", "max_examples = true"),
        ("max_examples = 6\n", ""),
        ("seed = 0\n", ""),
        ('evaluators = ["needle-recall"]\n', ""),
        ("max_examples = 6", "limit = 6"),
        ('heading = "found"\n', ""),
        ('heading = "found"', 'heading = "found"\nbetter = "higher"'),
        ("[compare]", "[comparison]"),
        ("[run]", "[run"),
        ("seed = 0", f"seed = {'[' * 3000}"),
    ],
)
def test_what_is_no_suite_is_refused(small: Path, small_text: str, old: str, new: str) -> None:
    assert old in small_text
    small.write_text(small_text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigurationError):
        read_suite(small)


def test_a_suite_of_a_folder_is_found_beside_those_of_packages(small: Path) -> None:
    assert [suite.name for suite in find_suites(small.parent)] == [
        "small",
        "compressor-offline",
        "proxy-small",
    ]
    assert find_suite("small", small.parent).path == small
    with pytest.raises(UnknownNameError) as caught:
        find_suite("small")
    assert caught.value.known == ("compressor-offline", "proxy-small")
    with pytest.raises(ConfigurationError):
        find_suites(small.parent / "absent")


def test_a_suite_and_the_systems_of_the_user_are_a_request(small: Path) -> None:
    suite = read_suite(small)
    request = arguments(suite, ["head:ratio=0.5"])
    assert request["systems"] == ["identity", "head:ratio=0.5"]
    assert request["baseline"] == "identity"
    assert request["max_examples"] == 6
    assert request["extension_options"] == {"suite": suite.stamp()}
    assert arguments(suite, [], limit=2)["max_examples"] == 2


def test_the_recorded_sessions_are_those_of_eight_customers() -> None:
    rows = list(tau_bench_sessions())
    assert len({row["session_id"] for row in rows}) == 8
    assert {row["format"] for row in rows} == {"openai"}
    assert len(list(tau_bench_sessions(3))) == 3
    with pytest.raises(ConfigurationError):
        tau_bench_sessions(split="test")


def test_a_suite_says_that_it_calls_a_model(small: Path, small_text: str) -> None:
    assert read_suite(small).model is None
    call = '[model]\nlabel = "direct"\noptions = { layout = "user" }\n\n[run]'
    small.write_text(small_text.replace("[run]", call, 1), encoding="utf-8")
    assert read_suite(small).model == {"label": "direct", "options": {"layout": "user"}}
    small.write_text(small_text.replace("[run]", '[model]\nlabel = "direct"\n\n[run]', 1), "utf-8")
    with pytest.raises(ConfigurationError):
        read_suite(small)
