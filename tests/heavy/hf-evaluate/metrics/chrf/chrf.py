import datasets
import evaluate
from sacrebleu import CHRF


class ChrF(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        features = [
            datasets.Features({"predictions": text, "references": datasets.Sequence(text)}),
            datasets.Features({"predictions": text, "references": text}),
        ]
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references, word_order=0):
        lists = [[text] if isinstance(text, str) else text for text in references]
        score = CHRF(word_order=word_order).corpus_score(predictions, list(zip(*lists)))
        return {"score": score.score, "char_order": 6, "word_order": word_order, "beta": 2}
