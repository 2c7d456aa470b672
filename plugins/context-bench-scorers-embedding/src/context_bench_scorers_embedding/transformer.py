"""Any model of the library transformers, with torch: on a GPU where there is one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from context_bench.installation import install_hint
from context_bench_scorers import ScorerUserError
from context_bench_scorers_embedding.embedders import PACKAGED_MINILM, TokenVectors
from context_bench_scorers_embedding.layers import layer_of

_TEXTS_AT_ONCE = 32
_LONGEST = 512


class TransformerEmbedder:
    """Embeds with a model of the library transformers.

    Args:
        model_type: Its name, or the folder that it lies in.

    Raises:
        ScorerUserError: torch or transformers is not installed; or, at the first text, the model cannot be had.
    """

    def __init__(self, model_type: str) -> None:
        from importlib.util import find_spec

        missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
        if missing:
            raise ScorerUserError(
                f"The model {model_type!r} needs {' and '.join(missing)}: "
                f"{install_hint('context-bench-scorers-embedding', extra='transformers')}. "
                f"Without them there is model_type={PACKAGED_MINILM!r}, whose scores are others."
            )
        self.model = model_type
        self._loaded: Any = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the tokens of each text."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found: dict[int, TokenVectors] = {}
        for start in range(0, len(order), _TEXTS_AT_ONCE):
            places = order[start : start + _TEXTS_AT_ONCE]
            found.update(zip(places, self._vectors([texts[place].strip() for place in places])))
        return [found[place] for place in range(len(texts))]

    def _vectors(self, texts: list[str]) -> Iterator[TokenVectors]:
        import torch  # type: ignore[import-not-found, unused-ignore]

        tokenizer, model, layer, device = self._opened()
        encoded = tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=min(_LONGEST, tokenizer.model_max_length),
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        special = encoded.pop("special_tokens_mask").numpy().astype(bool)
        mask = encoded["attention_mask"].numpy().astype(bool)
        with torch.no_grad():
            output = model(
                **{name: value.to(device) for name, value in encoded.items()},
                output_hidden_states=True,
            )
        hidden = output.hidden_states[layer].float().cpu().numpy()
        for row in range(len(texts)):
            kept = mask[row]
            yield TokenVectors.of(np.asarray(hidden[row][kept]), ~special[row][kept])

    def _opened(self) -> tuple[Any, Any, int, str]:
        with self._lock:
            if self._loaded is None:
                import torch
                from transformers import AutoModel, AutoTokenizer  # type: ignore[import-not-found, unused-ignore]

                try:
                    tokenizer: Any = AutoTokenizer.from_pretrained(self.model)
                    model: Any = AutoModel.from_pretrained(self.model)
                except (OSError, ValueError) as error:
                    raise ScorerUserError(
                        f"The model {self.model!r} cannot be loaded: {' '.join(str(error).split())[:300]}"
                    ) from error
                device = "cuda" if torch.cuda.is_available() else "cpu"
                self._loaded = (tokenizer, model.eval().to(device), layer_of(self.model), device)
            loaded: tuple[Any, Any, int, str] = self._loaded
            return loaded
