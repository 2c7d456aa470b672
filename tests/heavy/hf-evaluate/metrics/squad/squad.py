# ruff: noqa: TID252
import datasets
import evaluate

from .tokens import best_f1, is_match


class Squad(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        answers = datasets.Sequence({"text": text, "answer_start": datasets.Value("int32")})
        features = datasets.Features(
            {
                "predictions": {"id": text, "prediction_text": text},
                "references": {"id": text, "answers": answers},
            }
        )
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references):
        responses = {entry["id"]: entry["prediction_text"] for entry in predictions}
        pairs = [(responses[entry["id"]], entry["answers"]["text"]) for entry in references]
        share = 100.0 / len(pairs)
        return {
            "exact_match": share * sum(is_match(*pair) for pair in pairs),
            "f1": share * sum(best_f1(*pair) for pair in pairs),
        }
