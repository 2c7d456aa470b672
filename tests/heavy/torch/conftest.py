"""Small models with random weights in the layout of the hub: what a test of the road through torch loads."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

TEXTS = [
    "The tower in Paris is 330 metres tall, and it was built in 1889.",
    "It was the tallest structure in the world until 1930.",
    "Engineers painted the iron every seven years to keep the rust away.",
    "Nobody knows why the clock stopped at a quarter past four.",
    "He didn't say whether she'd come back on Tuesday, or not at all!",
    "A small boat crossed the lake before the storm reached the shore.",
    "The price of bread rose by twelve per cent, said the minister.",
    "Water boils at 100 degrees; on a mountain it boils sooner.",
]
SIZES = {
    "hidden_size": 48,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 512,
}
LAYERS = 12


def deberta_v3(folder: Path) -> None:
    """Write what `microsoft/deberta-v3-base` consists of: weights, their layout, and a SentencePiece model."""
    import sentencepiece

    learnt = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20),
        model_writer=learnt,
        vocab_size=100,
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        pad_piece="[PAD]",
        bos_piece="[CLS]",
        eos_piece="[SEP]",
        unk_piece="[UNK]",
        minloglevel=2,
    )
    config = transformers.DebertaV2Config(
        vocab_size=104,
        num_hidden_layers=LAYERS,
        relative_attention=True,
        position_buckets=64,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        initializer_range=0.3,
        **SIZES,
    )
    transformers.DebertaV2Model(config).eval().save_pretrained(folder)
    (folder / "spm.model").write_bytes(learnt.getvalue())
    (folder / "tokenizer_config.json").write_text(
        '{"do_lower_case": false, "vocab_type": "spm"}\n', "utf-8"
    )


def bert(folder: Path) -> None:
    """Write what `bert-base-uncased` consists of."""
    characters = sorted(
        {character for text in TEXTS for character in text.lower() if not character.isspace()}
    )
    words = sorted(
        {word.strip(".,;!").lower() for text in TEXTS[:5] for word in text.split()}
        - set(characters)
    )
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *characters,
        *(f"##{one}" for one in characters),
        *words,
    ]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    (folder / "tokenizer_config.json").write_text(
        '{"do_lower_case": true, "model_max_length": 512}\n', "utf-8"
    )
    config = transformers.BertConfig(
        vocab_size=len(pieces), num_hidden_layers=LAYERS, initializer_range=0.3, **SIZES
    )
    transformers.BertModel(config).eval().save_pretrained(folder)


def roberta(folder: Path) -> None:
    """Write what `roberta-base` consists of: byte pairs, where a space before a word changes its tokens."""
    from tokenizers import ByteLevelBPETokenizer

    learnt = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    learnt.train_from_iterator(TEXTS * 20, vocab_size=400, min_frequency=2, special_tokens=special)
    learnt.save_model(str(folder))
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 512}\n', "utf-8")
    sizes = {**SIZES, "max_position_embeddings": 514}
    config = transformers.RobertaConfig(
        vocab_size=learnt.get_vocab_size(), num_hidden_layers=LAYERS, initializer_range=0.3, **sizes
    )
    transformers.RobertaModel(config).eval().save_pretrained(folder)


MAKERS: dict[str, Callable[[Path], None]] = {
    "deberta-v3": deberta_v3,
    "bert": bert,
    "roberta": roberta,
}


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a model with random weights, by its kind: made once."""
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            torch.manual_seed(11)
            MAKERS[kind](made[kind])
        return made[kind]

    return folder


@lru_cache
def _loaded(folder: Path) -> tuple[Any, Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    return tokenizer, transformers.AutoModel.from_pretrained(str(folder)).eval()


@pytest.fixture
def by_hand() -> Callable[..., tuple[float, float, float]]:
    """P, R and F of one pair as the paper defines them, text by text, with nothing of ours."""

    def vectors(folder: Path, layer: int, text: str) -> tuple[Any, Any]:
        tokenizer, model = _loaded(folder)
        ids = tokenizer.encode(text)
        with torch.no_grad():
            hidden = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0]
        inside = torch.ones(len(ids), dtype=torch.bool)
        inside[[0, -1]] = False
        return hidden / hidden.norm(dim=-1, keepdim=True), inside

    def scores(
        folder: Path, layer: int, candidate: str, reference: str
    ) -> tuple[float, float, float]:
        one, counts_one = vectors(folder, layer, candidate)
        other, counts_other = vectors(folder, layer, reference)
        cosines = one @ other.T
        precision = float(cosines.max(dim=1).values[counts_one].mean())
        recall = float(cosines.max(dim=0).values[counts_other].mean())
        return precision, recall, 2 * precision * recall / (precision + recall)

    return scores
