"""LLMLingua and LLMLingua-2 by their own library (`llmlingua`, MIT licence): a language model says which words may go."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from context_bench_compress.budget import Budget
from context_bench_compress.embedder import content_hash
from context_bench_compress.extras import require
from context_bench_compress.tokens import count_tokens
from context_bench_compress.transform import Kept, transform
from context_bench_compress.truncation import beginning

_ATTEMPTS = 3
_WEIGHTS = (".json", ".safetensors", ".bin", ".txt", ".model")


class _Lingua:
    name = ""
    reads: tuple[str, ...] = ("context",)

    def __init__(
        self, ratio: float | None, tokens: int | None, model: str, revision: str | None, device: str
    ) -> None:
        self._library = require(self.name, "llmlingua", "llmlingua", "transformers", "torch")
        self.budget = Budget.of(self.name, ratio, tokens)
        if not str(model).strip():
            raise ValueError(
                f"{self.name}: model is empty; write a folder, or the namespace/name of a model on the hub."
            )
        self.model = str(model)
        self.revision = revision
        self.device = device
        self._lock = Lock()
        self._compressor: Any = None

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the context without the words that the model can spare.

        Raises:
            OSError: The model cannot be loaded.
        """
        asked = example.get("question")
        question = asked.strip() if isinstance(asked, str) else ""

        def keep(texts: list[str], sizes: list[int], allowed: int) -> Kept:
            return self._keep(texts, sum(sizes), allowed, question)

        return transform(self.name, example, self.budget, keep)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output; a model in a folder by its content, one of the hub by name and revision."""
        folder = Path(self.model).expanduser()
        files = (
            sorted(each for each in folder.rglob("*") if each.suffix in _WEIGHTS)
            if folder.is_dir()
            else []
        )
        return {
            **self.budget.fingerprint(),
            "model": {str(each.relative_to(folder)): content_hash(each) for each in files}
            or self.model,
            "revision": self.revision,
            "device": self.device.partition(":")[0],
            "ranker": self._library,
        }

    def _keep(self, texts: list[str], total: int, allowed: int, question: str) -> Kept:
        """Ask for the rate that is allowed, and for less when the library's own way of counting kept too much."""
        worded = [text.encode("utf-8", "replace").decode("utf-8") for text in texts if text.strip()]
        if not allowed:
            return [], {}
        rate = allowed / total
        kept: list[str] = []
        remarks: dict[str, Any] = {}
        with self._lock:  # the library keeps what it computed last
            if self._compressor is None:
                self._compressor = self._load()
            for attempt in range(1, _ATTEMPTS + 1):
                kept, remarks = self._compress(self._compressor, worded, rate, question)
                size = sum(map(count_tokens, kept))
                remarks |= {"rate": round(rate, 6), "calls": attempt}
                if size <= allowed:
                    return kept, remarks
                rate *= 0.97 * allowed / size
        return beginning(kept, list(map(count_tokens, kept)), allowed)[0], {**remarks, "cut": True}

    def _load(self) -> Any:
        from llmlingua import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
            PromptCompressor,
        )

        # The library would trust code that comes with a model, and keeps this mapping as its own: hence a new one.
        config = {
            "trust_remote_code": False,
            **({"revision": self.revision} if self.revision else {}),
        }
        try:
            return PromptCompressor(
                model_name=self.model,
                device_map=self.device,
                model_config=config,
                use_llmlingua2=self.name == "llmlingua2",
            )
        except Exception as error:
            told = (str(error).strip().splitlines() or ["no message"])[0]
            raise OSError(
                f"{self.name}: the model {self.model} cannot be loaded: {type(error).__name__}: {told} (it is downloaded "
                "from the Hugging Face Hub unless it is a folder, and tiktoken downloads its vocabulary.)"
            ) from error

    def _compress(self, compressor: Any, texts: list[str], rate: float, question: str) -> Kept:
        raise NotImplementedError


class LLMLingua(_Lingua):
    r"""Keeps the words that a causal language model finds surprising (Jiang et al. 2023, LLMLingua).

    With ``question_aware`` the question decides along (Jiang et al. 2023, LongLLMLingua, with the settings of its
    authors, but passages stay in document order). The library returns one text, so a list of texts becomes a list of one.

    The rate that the budget allows is asked for; the library counts other tokens, so where it keeps too much it is asked
    again for less, and after three times the rest is cut off and ``compression`` says ``cut``.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that may stay; half of them unless told.
        tokens: The number of tokens that may stay, instead of a share.
        model: Folder of a causal model, or its ``namespace/name`` on the Hugging Face Hub.
        revision: Branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``, ``mps``.
        question_aware: Whether the question decides along.

    Raises:
        ImportError: The extra ``llmlingua`` is not installed.
    """

    name = "llmlingua"
    reads = ("context", "question")

    def __init__(
        self,
        ratio: float | None = None,
        tokens: int | None = None,
        model: str = "openai-community/gpt2",
        revision: str | None = None,
        device: str = "cpu",
        question_aware: bool = False,
    ) -> None:
        super().__init__(ratio, tokens, model, revision, device)
        if not isinstance(question_aware, bool):
            raise TypeError(
                f"llmlingua: question_aware is {question_aware!r}, and true or false is needed."
            )
        self.question_aware = question_aware

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {**super().fingerprint(), "question_aware": self.question_aware}

    def _compress(self, compressor: Any, texts: list[str], rate: float, question: str) -> Kept:
        remarks: dict[str, Any] = {}
        aware: dict[str, Any] = {}
        if self.question_aware and question:
            aware = {
                "question": question,
                "rank_method": "longllmlingua",
                "condition_in_question": "after_condition",
                "condition_compare": True,
                "dynamic_context_compression_ratio": 0.3,
                "reorder_context": "original",
            }
        elif self.question_aware:
            remarks = {"fallback": "no question"}
        found = compressor.compress_prompt(
            texts, rate=min(rate, 1.0), concate_question=False, **aware
        )
        text = found["compressed_prompt"]
        return [text] if text.strip() else [], remarks


class LLMLingua2(_Lingua):
    r"""Keeps the words that a trained token classifier says are needed (Pan et al. 2024, LLMLingua-2).

    Budget and arguments are those of `LLMLingua`; every text of a list is compressed at the same rate and stays a text of
    its own.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that may stay; half of them unless told.
        tokens: The number of tokens that may stay, instead of a share.
        model: Folder of a token classifier, or its ``namespace/name`` on the Hugging Face Hub.
        revision: Branch, tag or commit on the hub.
        device: ``cpu``, ``cuda``, ``mps``.
        force_tokens: Signs that always stay, such as ``?``.

    Raises:
        ImportError: The extra ``llmlingua`` is not installed.
    """

    name = "llmlingua2"

    def __init__(
        self,
        ratio: float | None = None,
        tokens: int | None = None,
        model: str = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank",
        revision: str | None = None,
        device: str = "cpu",
        force_tokens: list[str] | tuple[str, ...] = (),
    ) -> None:
        super().__init__(ratio, tokens, model, revision, device)
        self.force_tokens = list(force_tokens)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {**super().fingerprint(), "force_tokens": self.force_tokens}

    def _compress(self, compressor: Any, texts: list[str], rate: float, question: str) -> Kept:
        found = compressor.compress_prompt(
            texts,
            rate=min(rate, 1.0),
            use_context_level_filter=False,
            force_tokens=list(self.force_tokens),
        )
        return [text for text in found["compressed_prompt_list"] if text.strip()], {}
