"""Agreement: rows without a gold answer are scored against what one of the systems answered."""

from context_bench_agreement.answers import ReferenceAnswers
from context_bench_agreement.floor import Agreement

__all__ = ["Agreement", "ReferenceAnswers"]
