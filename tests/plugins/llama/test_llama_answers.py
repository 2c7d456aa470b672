"""What the system asks and returns, against a server that is a real process with a stand-in for the native library."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from context_bench_llama import Llama, ServerError
from context_bench_openai import ContextTooLongError

EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
Make = Callable[..., Llama]


def said(output: dict[str, Any]) -> dict[str, Any]:
    found = json.loads(output["response"])
    assert isinstance(found, dict)
    return found


def props(system: Llama) -> dict[str, Any]:
    server = system._server
    assert server is not None
    with urlopen(f"{server.url}/props", timeout=60) as reply:
        found = json.loads(reply.read())
    assert isinstance(found, dict)
    return found


def test_an_example_is_answered_with_settings_that_repeat(serving: Make) -> None:
    system = serving()
    output = system.process(EXAMPLE)
    assert said(output)["asked"] == {
        "model": "tiny",
        "temperature": 0.0,
        "max_tokens": 256,
        "seed": 0,
    }
    assert said(output)["messages"] == [
        {"role": "system", "content": "Rome is in Italy."},
        {"role": "user", "content": "Where is Rome?"},
    ]
    assert output["usage"] == {"input_tokens": 7, "output_tokens": 2}
    assert output["finish_reason"] == "stop"
    found = props(system)
    assert {
        key: found[key]
        for key in ("n_ctx", "parallel", "threads", "seed", "gpu_layers", "cache", "alias", "host")
    } == {
        "n_ctx": 8192,
        "parallel": 1,
        "threads": [1, 1],
        "seed": 0,
        "gpu_layers": 0,
        "cache": [False, 0],
        "alias": ["tiny"],
        "host": ["127.0.0.1"],
    }


def test_options_reach_the_server_and_the_request(serving: Make) -> None:
    system = serving(
        layout="user",
        system_prompt="Be brief.",
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        seed=3,
        context_tokens=512,
        threads=2,
        parallel=3,
        gpu_layers=9,
        prompt_cache=True,
    )
    found = said(system.process(EXAMPLE))
    assert found["asked"] == {
        "model": "tiny",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 5,
        "seed": 3,
    }
    assert [message["role"] for message in found["messages"]] == ["system", "user"]
    assert found["messages"][1]["content"] == "Rome is in Italy.\n\nWhere is Rome?"
    told = props(system)
    assert (told["n_ctx"], told["parallel"], told["threads"], told["seed"]) == (1536, 3, [2, 2], 3)
    assert (told["gpu_layers"], told["cache"]) == (9, [True, 0])


def test_a_conversation_is_asked_turn_by_turn(serving: Make) -> None:
    output = serving().process({"turns": ["One?", "Two?"], "multi_turn": True})
    assert len(output["turn_responses"]) == 2
    assert output["usage"] == {"input_tokens": 14, "output_tokens": 4}


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_requests_are_sent_at_once_than_the_server_works_on(
    serving: Make, parallel: int
) -> None:
    system = serving({"seconds": 0.1}, parallel=parallel)
    with ThreadPoolExecutor(9) as pool:
        outputs = list(pool.map(lambda _: said(system.process(EXAMPLE)), range(9)))
    assert max(output["together"] for output in outputs) <= parallel
    assert len({json.dumps(output["messages"]) for output in outputs}) == 1


def test_a_prompt_that_does_not_fit_is_told_in_the_same_words_in_every_run(serving: Make) -> None:
    system = serving()
    with pytest.raises(
        ContextTooLongError,
        match=r"^tiny/v1/chat/completions answered 400 .*exceeds the available context",
    ):
        system.process({"question": "LONG"})
    assert said(system.process(EXAMPLE))


def test_the_fingerprint_knows_the_content_and_not_the_name(
    gguf: Callable[..., Path], tmp_path: Path
) -> None:
    one, same, other = gguf("a.gguf"), gguf("b.gguf"), gguf("c.gguf", seconds=0)
    base = Llama(str(one)).fingerprint()
    assert Llama(str(same), name="another", timeout=1, start_timeout=1).fingerprint() == base
    assert Llama(str(other)).fingerprint() != base
    changes: dict[str, Any] = {
        "layout": "user",
        "system_prompt": "x",
        "max_tokens": 1,
        "temperature": 1.0,
        "top_p": 0.5,
        "seed": 1,
        "context_tokens": 256,
        "threads": 2,
        "parallel": 2,
        "gpu_layers": 1,
        "prompt_cache": True,
    }
    for option, value in changes.items():
        assert Llama(str(one), **{option: value}).fingerprint() != base, option
    assert str(tmp_path) not in json.dumps(base)
    assert base["server"] == "xllamacpp 1"


def test_a_hash_is_computed_once_and_again_when_the_file_has_changed(
    gguf: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench_llama import model_file

    path = gguf()
    first = model_file.content_hash(path)
    [note] = json.loads(
        (tmp_path / "cache" / "context-bench" / "model-hashes.json").read_text()
    ).values()
    assert note[2] == first
    real = model_file.sha256
    monkeypatch.setattr(model_file, "sha256", None)
    assert model_file.content_hash(path) == first
    monkeypatch.setattr(model_file, "sha256", real)
    path.write_bytes(b"GGUF and more")
    assert model_file.content_hash(path) != first
    (tmp_path / "cache" / "context-bench" / "model-hashes.json").write_text("damaged")
    assert model_file.content_hash(path) == real(b"GGUF and more").hexdigest()


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            "nowhere.gguf",
            FileNotFoundError,
            r"^llama: there is no model file 'nowhere\.gguf'\. Write the path of a GGUF file",
        ),
        ("", FileNotFoundError, r"^llama: there is no model file ''"),
        ("acme/tiny", FileNotFoundError, r"namespace/name:file\.gguf of the Hugging Face Hub\.$"),
        ("{folder}", ValueError, r"is a folder, it holds tiny\.gguf\. Write"),
        (
            "{other}",
            ValueError,
            r"is no GGUF file: it begins with b'PK\\x03\\x04' in place of b'GGUF'\.$",
        ),
    ],
    ids=["no file", "nothing", "no file of the hub", "folder", "another format"],
)
def test_a_model_that_is_none_is_one_line(
    model: str, error: type[Exception], message: str, gguf: Callable[..., Path], tmp_path: Path
) -> None:
    gguf()
    (tmp_path / "other.gguf.zip").write_bytes(b"PK\x03\x04...")
    with pytest.raises(error, match=message) as caught:
        Llama(model.format(folder=tmp_path, other=tmp_path / "other.gguf.zip"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, r"^llama: threads is 0, and it must be a whole number of 1 or more\.$"),
        ({"max_tokens": 1.5}, r"^llama: max_tokens is 1\.5, and"),
        (
            {"context_tokens": 1000},
            r"context_tokens is 1000, and llama.cpp would give 1024: .* Write 768 or 1024\.$",
        ),
        (
            {"context_tokens": 100},
            r"context_tokens is 100, and llama.cpp would give 256: .* Write 256\.$",
        ),
        (
            {"seed": 2**32 - 1},
            r"seed is 4294967295, and it must be below 4294967295, which draws another every time",
        ),
        ({"seed": -1}, r"^llama: seed is -1, and it must be a whole number of 0 or more\.$"),
        ({"layout": "sideways"}, r"sideways"),
    ],
)
def test_options_that_cannot_work_are_refused_before_the_first_row(
    options: dict[str, Any], message: str, gguf: Callable[..., Path]
) -> None:
    with pytest.raises(ValueError, match=message):
        Llama(str(gguf()), **options)


def test_without_the_library_the_message_says_how_to_install_it(
    gguf: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import PackageNotFoundError

    from context_bench_llama import llama

    def nowhere(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.undo()
    monkeypatch.setattr(llama, "version", nowhere)
    with pytest.raises(
        ImportError, match=r"needs xllamacpp, which is not installed: `pip install xllamacpp`"
    ):
        Llama(str(gguf()))


def test_a_server_that_does_not_start_is_told_once_for_every_row(serving: Make) -> None:
    system = serving({"raises": "Failed to init server"})
    for _ in range(2):
        with pytest.raises(
            ServerError,
            match=r"^llama: the server of tiny\.gguf does not start: RuntimeError: Failed to init server",
        ) as caught:
            system.process(EXAMPLE)
        assert "\n" not in str(caught.value)
