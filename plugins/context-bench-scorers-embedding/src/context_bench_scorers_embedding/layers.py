"""Which hidden layer of a model BERTScore looks at.

T. Zhang et al. chose for each model the layer whose scores agree best with people (WMT16 to English); the numbers are those of
their package, bert-score 0.3.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LAYERS: Mapping[str, int] = MappingProxyType(
    {
        "albert-base-v2": 9,
        "albert-large-v2": 14,
        "albert-xlarge-v2": 13,
        "albert-xxlarge-v2": 8,
        "bert-base-chinese": 8,
        "bert-base-multilingual-cased": 9,
        "bert-base-uncased": 9,
        "bert-large-uncased": 18,
        "distilbert-base-multilingual-cased": 5,
        "distilbert-base-uncased": 5,
        "distilroberta-base": 5,
        "google/electra-base-discriminator": 9,
        "google/electra-large-discriminator": 14,
        "google/electra-small-discriminator": 11,
        "microsoft/deberta-base": 9,
        "microsoft/deberta-base-mnli": 9,
        "microsoft/deberta-large": 16,
        "microsoft/deberta-large-mnli": 18,
        "microsoft/deberta-v2-xlarge": 10,
        "microsoft/deberta-v2-xlarge-mnli": 17,
        "microsoft/deberta-v2-xxlarge": 21,
        "microsoft/deberta-v2-xxlarge-mnli": 22,
        "microsoft/deberta-v3-base": 9,
        "microsoft/deberta-v3-large": 12,
        "microsoft/deberta-v3-small": 4,
        "microsoft/deberta-v3-xsmall": 10,
        "microsoft/deberta-xlarge": 18,
        "microsoft/deberta-xlarge-mnli": 40,
        "microsoft/mdeberta-v3-base": 10,
        "microsoft/mpnet-base": 8,
        "roberta-base": 10,
        "roberta-large": 17,
        "roberta-large-mnli": 19,
        "vinai/bertweet-base": 9,
        "xlm-roberta-base": 9,
        "xlm-roberta-large": 17,
    }
)
"""The layer by the model's name."""


def layer_of(model_type: str) -> int:
    """Return the hidden layer of a model; that of a model that the authors did not look at is the last one, -1.

    >>> layer_of("microsoft/deberta-v3-base"), layer_of("a/folder")
    (9, -1)
    """
    return LAYERS.get(model_type, -1)
