import datasets
import evaluate
from rouge_score import rouge_scorer, scoring


class Rouge(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        features = [
            datasets.Features({"predictions": text, "references": datasets.Sequence(text)}),
            datasets.Features({"predictions": text, "references": text}),
        ]
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references, use_aggregator=True):
        names = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
        scorer = rouge_scorer.RougeScorer(names)
        lists = [[text] if isinstance(text, str) else text for text in references]
        rows = [scorer.score_multi(texts, text) for texts, text in zip(lists, predictions)]
        if not use_aggregator:
            return {name: [row[name].fmeasure for row in rows] for name in names}
        aggregator = scoring.BootstrapAggregator()
        for row in rows:
            aggregator.add_scores(row)
        return {name: value.mid.fmeasure for name, value in aggregator.aggregate().items()}
