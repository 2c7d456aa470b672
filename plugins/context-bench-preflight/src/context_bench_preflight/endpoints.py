"""Are the endpoints of a config there, and do they have the models that are asked for? They are asked for their list alone."""

from __future__ import annotations

from collections.abc import Iterator

from context_bench.catalog import Catalog
from context_bench.config import RunConfig, SystemConfig
from context_bench.errors import ContextBenchError
from context_bench_preflight.checks import ERROR, FINE, NOTE, WARNING, Check
from context_bench_preflight.error_findings import error_name
from context_bench_preflight.probing import Probe, asked


def endpoint_checks(catalog: Catalog, config: RunConfig, timeout: float) -> list[Check]:
    """Return what there is to be said of each endpoint that a config names.

    Args:
        catalog: What is installed.
        config: The systems, and the options of evaluators.
        timeout: Seconds that one endpoint may take.
    """
    return [*_of_systems(catalog, config, timeout), *_of_evaluators(catalog, config, timeout)]


def _of_systems(catalog: Catalog, config: RunConfig, timeout: float) -> Iterator[Check]:
    for system in SystemConfig.all_of(catalog, config) if config.systems else []:
        probe = Probe(system, timeout)
        try:
            where = probe.endpoint
        except ContextBenchError as error:
            yield Check(probe.label, ERROR, f"cannot be set up: {error}")
            continue
        if where is not None:
            found = probe.option("model")
            model = None if found is None or found[1] is None else str(found[1])
            yield _endpoint(probe.label, where, probe.models(), model)
        probe.close()


def _of_evaluators(catalog: Catalog, config: RunConfig, timeout: float) -> Iterator[Check]:
    """Yield the endpoints of evaluators that the project file sets up, of those that can be asked for their models."""
    for name, given in config.options.items():
        for component in catalog.named("evaluators", name):
            declared = component.manifest.options
            patience = {"timeout": timeout}
            options = {
                **given,
                **{option: value for option, value in patience.items() if option in declared},
            }
            try:
                evaluator = component.build(options) if component.state == "ok" else None
            except ContextBenchError as error:
                yield Check(name, ERROR, f"cannot be set up: {error}")
                continue
            if callable(getattr(evaluator, "models", None)):
                reply = asked(evaluator.models, "models", None, "", timeout)  # type: ignore[union-attr]
                found = (
                    reply.error if reply.error is not None else (reply.output or {}).get("models")
                )
                yield _endpoint(
                    name,
                    SystemConfig.endpoint_of(evaluator) or "its endpoint",
                    found,
                    getattr(evaluator, "model", None),
                )


def _endpoint(
    label: str, where: str, found: list[str] | BaseException | None, model: str | None
) -> Check:
    if found is None:
        return Check(
            label,
            NOTE,
            f"{where} cannot be asked for its models; `context-bench preflight` asks it a question.",
        )
    if isinstance(found, BaseException):
        name = error_name(found)
        if name in ("wrong-url", "unusable-reply", "raises"):
            return Check(
                label,
                NOTE,
                f"it has no list of models: {found} `context-bench preflight` asks it a question.",
            )
        return Check(label, ERROR, f"{name}: {found}")
    shown = (
        ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "") or "none"
    )
    if model is not None and found and model not in found:
        return Check(
            label,
            WARNING,
            f"{where} is reachable, but does not list the model {model!r}. It lists {shown}.",
        )
    return Check(label, FINE, f"{where} is reachable. Models: {shown}.")
