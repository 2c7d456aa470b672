"""An address is shown without what nobody may see, and a run is named in one sentence or none."""

from __future__ import annotations

import pytest

import context_bench
from context_bench.cli import execute
from context_bench.errors import ConfigurationError, StoreError

addresses = pytest.importorskip("context_bench_postgres.addresses")
tables = pytest.importorskip("context_bench_postgres.tables")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://h/db", "postgresql://h/db"),
        ("postgresql://me:s3cret@h:5433/db", "postgresql://h:5433/db"),
        (
            "postgresql://me@h/db?sslmode=require&password=s3cret",
            "postgresql://h/db?sslmode=require",
        ),
        ("postgresql:///?service=team&user=me", "postgresql:///?service=team"),
        ("postgresql://me:s3cret%40x@/db?host=/run/pg", "postgresql:///db?host=/run/pg"),
    ],
)
def test_it_is_shown_without_credentials(text: str, shown: str) -> None:
    address = addresses.Address.parse(text)
    assert address.shown == shown
    assert addresses.Address.parse(shown).identity == address.identity
    assert "s3cret" not in repr(address)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:s3cret@x@h/db",
        "postgresql://me:s3/cret@h/db",
        "postgresql://me:s3?cret@h/db",
        "postgresql://me:s3#cret@h/db",
        "postgresql://me:s3cret%zz@h/db",
        "postgresql://h/db?password=s3@cret",
        "postgresql://h/db?unknown=s3cret",
    ],
)
def test_a_message_about_it_does_not_repeat_it(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigurationError, match="percent-encoded"):
        addresses.Address.parse(text)
    assert execute(["report", f"{text}#nightly"]) == 2
    told = "".join(capsys.readouterr())
    assert "percent-encoded" in told
    assert "cret" not in told


def test_a_database_that_does_not_answer_is_named_without_credentials(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["report", "postgresql://me:s3cret@127.0.0.1:1/db#nightly"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("Error: postgresql://127.0.0.1:1/db#nightly cannot be used: ")
    assert "s3cret" not in told


@pytest.mark.parametrize(
    ("run", "message"), [("#nightly", "d#nightly cannot be used: "), ("", "Name a run of ")]
)
def test_open_takes_an_address_and_shows_no_credentials(run: str, message: str) -> None:
    with pytest.raises((ConfigurationError, StoreError), match=message) as caught:
        context_bench.open(f"postgresql://me:s3cret@127.0.0.1:1/d{run}")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("run", ["", ".hidden", "../up", "a b"])
def test_a_name_that_cannot_be_a_file_is_refused(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "-d", "x.jsonl", "-s", "identity", "--run-file", f"postgresql://h/db#{run}"]
    assert execute(words) == 2
    assert "no name of a run" in capsys.readouterr().err or "/" in run


def test_text_with_a_zero_character_comes_back() -> None:
    for text in ("\0", "\x10", "a\x100\0\x101", "plain"):
        stored = tables.escaped(text)
        assert "\0" not in stored
        assert tables.plain(stored) == text
