"""Sentence embeddings from an ONNX model on the CPU, such as MiniLM: a file, a folder or an id of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from context_bench_compress.extras import require

_PLACES = ("model.onnx", "onnx/model.onnx")
_TOKENIZER = "tokenizer.json"


class Embedder:
    """Turns texts into vectors of length 1: the mean of the model's last layer over the words of a text.

    Every text is embedded by itself on one thread, so that neither its neighbours nor the machine's load can change the
    last bits, or, in a quantized model, more than those.

    Args:
        owner: Name of the compressor, for messages.
        model: An ``.onnx`` file, a folder with ``model.onnx`` (or ``onnx/model.onnx``), or ``namespace/name`` on the hub.
        tokenizer: A ``tokenizer.json``; None takes the one beside the model, or in the folder above.
        revision: Branch, tag or commit on the hub.
        file: File of the model in its folder or repository; None takes ``model.onnx`` or ``onnx/model.onnx``.
        max_length: Word pieces of a text that are looked at.

    Raises:
        ImportError: The extra ``embeddings`` is not installed.
        OSError: There is no such model, or it cannot be downloaded.
    """

    def __init__(
        self,
        owner: str,
        model: str,
        tokenizer: str | None,
        revision: str | None,
        file: str | None,
        max_length: int,
    ) -> None:
        self.libraries = require(owner, "embeddings", "onnxruntime", "tokenizers")
        self._owner = owner
        self._model = model
        self._tokenizer = tokenizer
        self._revision = revision
        self._file = file
        self._max_length = max_length
        if self._is_local:
            _ = self.files

    @property
    def _is_local(self) -> bool:
        path = Path(self._model).expanduser()
        return (
            path.exists()
            or self._model.endswith(".onnx")
            or self._model.count("/") != 1
            or self._model[0] in "./~"
        )

    @cached_property
    def files(self) -> tuple[Path, Path]:
        """The files of the model and of the tokenizer; downloaded when they are asked for first."""
        if not self._is_local:
            return self._download()
        path = Path(self._model).expanduser()
        if path.is_dir():
            tried = [path / place for place in ([self._file] if self._file else _PLACES)]
            found = next((each for each in tried if each.is_file()), None)
            if found is None:
                raise FileNotFoundError(
                    f"{self._owner}: the folder {path} has no {' and no '.join(str(each.relative_to(path)) for each in tried)}."
                )
            path = found
        elif not path.is_file():
            raise FileNotFoundError(
                f"{self._owner}: there is no model {self._model!r}. Write the path of an .onnx file, of its folder, or the "
                "namespace/name of a model on the Hugging Face Hub."
            )
        return path, self._local_tokenizer(path)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change a vector; the model by its content."""
        model, tokenizer = self.files
        return {
            "model": content_hash(model),
            "tokenizer": content_hash(tokenizer),
            "max_length": self._max_length,
            "libraries": self.libraries,
        }

    def embed(self, texts: Sequence[str]) -> list[Any]:
        """Return a numpy vector of length 1 for each text, or None for one without words."""
        import numpy

        tokenizer, session = self._loaded
        inputs = {each.name for each in session.get_inputs()}
        outputs = [each.name for each in session.get_outputs()]
        wanted = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
        vectors: list[Any] = []
        for text in texts:
            words = tokenizer.encode(
                text.encode("utf-8", "replace").decode("utf-8")
            )  # no halves of surrogate pairs
            if not words.ids:
                vectors.append(None)
                continue
            known = {
                "input_ids": words.ids,
                "attention_mask": words.attention_mask,
                "token_type_ids": words.type_ids,
            }
            fed = {
                name: numpy.array([ids], dtype=numpy.int64)
                for name, ids in known.items()
                if name in inputs
            }
            [found] = session.run([wanted], fed)
            vector = found[0] if found.ndim == 2 else found[0].mean(axis=0)
            length = float(numpy.linalg.norm(vector))
            vectors.append(vector / length if length else vector)
        return vectors

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import onnxruntime  # type: ignore[import-untyped, import-not-found, unused-ignore]
        from tokenizers import Tokenizer  # type: ignore[import-untyped, import-not-found, unused-ignore]

        model, vocabulary = self.files
        try:
            tokenizer = Tokenizer.from_file(str(vocabulary))
        except Exception as error:
            raise OSError(f"{self._owner}: {vocabulary} is no tokenizer: {error}") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._max_length)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise OSError(
                f"{self._owner}: {model} cannot be loaded: {str(error).splitlines()[0]}"
            ) from error
        if "input_ids" not in {each.name for each in session.get_inputs()}:
            raise OSError(f"{self._owner}: {model} is no text model: it has no input 'input_ids'.")
        return tokenizer, session

    def _local_tokenizer(self, model: Path) -> Path:
        if self._tokenizer is not None:
            path = Path(self._tokenizer).expanduser()
            path = path / _TOKENIZER if path.is_dir() else path
            if not path.is_file():
                raise FileNotFoundError(
                    f"{self._owner}: there is no tokenizer {self._tokenizer!r}."
                )
            return path
        for folder in (model.parent, model.parent.parent):
            if (folder / _TOKENIZER).is_file():
                return folder / _TOKENIZER
        raise FileNotFoundError(
            f"{self._owner}: there is no {_TOKENIZER} beside {model}. Name one: tokenizer=PATH."
        )

    def _download(self) -> tuple[Path, Path]:
        from huggingface_hub import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
            hf_hub_download,
        )

        file = self._file or _PLACES[1]
        try:
            model = hf_hub_download(self._model, file, revision=self._revision)
            if self._tokenizer is not None:
                return Path(model), self._local_tokenizer(Path(model))
            return Path(model), Path(
                hf_hub_download(self._model, _TOKENIZER, revision=self._revision)
            )
        except FileNotFoundError:
            raise
        except Exception as error:
            raise OSError(
                f"{self._owner}: the model {self._model} cannot be had from the Hugging Face Hub: "
                f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
            ) from error


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, read once for each size and time of change."""
    seen = path.stat()
    return _content_hash(str(path.resolve()), seen.st_size, seen.st_mtime_ns)


@cache
def _content_hash(path: str, size: int, changed: int) -> str:
    digest = sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
