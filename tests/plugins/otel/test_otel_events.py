"""Scores as evaluation events: in memory, and at an OTLP endpoint on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from context_bench.errors import ConfigurationError
from context_bench.records import EvalRow, KeyMeaning
from context_bench.runs import open_run
from context_bench_otel import EVENT_NAME, Event, events_of, send
from context_bench_otel import events as names
from context_bench_otel.command import otel

VALUE = "gen_ai.evaluation.score.value"


def events(run_file: Path, **options: Any) -> list[Event]:
    with open_run(run_file) as run:
        return list(events_of(run.rows(), **options))


def in_memory(run_file: Path, **options: Any) -> list[Any]:
    """What an application's own provider receives."""
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    send(events(run_file, **options), provider)
    provider.shutdown()
    return [record.log_record for record in exporter.get_finished_logs()]


def records_at(collector: Any) -> Iterator[tuple[Any, dict[str, Any], dict[str, Any]]]:
    """Yield each record that the endpoint received, with its attributes and those of its resource."""
    for body in collector.bodies:
        request = ExportLogsServiceRequest.FromString(body)
        for resource in request.resource_logs:
            source = attributes_of(resource.resource.attributes)
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    yield record, attributes_of(record.attributes), source


def attributes_of(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def test_names_are_those_of_the_published_conventions() -> None:
    assert names.NAME == gen_ai_attributes.GEN_AI_EVALUATION_NAME
    assert names.VALUE == gen_ai_attributes.GEN_AI_EVALUATION_SCORE_VALUE
    assert names.LABEL == gen_ai_attributes.GEN_AI_EVALUATION_SCORE_LABEL
    assert names.EXPLANATION == gen_ai_attributes.GEN_AI_EVALUATION_EXPLANATION
    assert names.RESPONSE_ID == gen_ai_attributes.GEN_AI_RESPONSE_ID
    assert EVENT_NAME == "gen_ai.evaluation.result"


def test_every_score_is_an_event_with_its_value(run_file: Path) -> None:
    with open_run(run_file) as run:
        stored = {row.example_id: row.scores["own_exact"] for row in run.rows() if row.scores}
    sent = {}
    for record in in_memory(run_file):
        assert record.event_name == "gen_ai.evaluation.result"
        if VALUE in record.attributes:
            assert record.attributes["gen_ai.evaluation.name"] == "own_exact"
            assert record.attributes["context_bench.score.is_primary"] is True
            sent[record.attributes["context_bench.example.id"]] = record.attributes[VALUE]
    assert sent == stored == {"1": 1.0, "2": 0.0}


def test_event_names_response_and_traced_call(run_file: Path) -> None:
    first, second, *_ = in_memory(run_file)
    assert first.attributes["gen_ai.response.id"] == "resp-1"
    assert f"{first.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert f"{first.span_id:016x}" == "b7ad6b7169203331"
    assert second.attributes["gen_ai.response.id"] == "resp-2"
    assert not second.trace_id


def test_failure_is_an_error_and_not_a_value(run_file: Path) -> None:
    failed = [event for event in events(run_file) if "error.type" in event.attributes]
    assert len(failed) == 1
    assert failed[0].attributes["error.type"] == "ValueError"
    assert failed[0].attributes["context_bench.example.id"] == "3"
    assert VALUE not in failed[0].attributes
    assert failed[0].attributes["gen_ai.evaluation.name"] == "own_exact"


def test_unscored_row_has_no_event(run_file: Path) -> None:
    ids = {event.attributes["context_bench.example.id"] for event in events(run_file)}
    assert ids == {"1", "2", "3"}


def judged() -> EvalRow:
    meanings = {
        "verdict": KeyMeaning("acme/judge", worst=0.0, better="higher"),
        "seconds": KeyMeaning("acme/clock", worst=None, better="lower"),
    }
    return EvalRow(
        system="a",
        example_id="1",
        scores={"verdict": 1.0, "seconds": 2.5},
        details={"acme/judge": {"reason": "It says Paris."}},
        keys=meanings,
        primary="verdict",
    )


def test_explanations_are_sent_on_request_only() -> None:
    key = "gen_ai.evaluation.explanation"
    assert not any(key in event.attributes for event in events_of([judged()]))
    verdict, seconds = events_of([judged()], explanations=True)
    assert verdict.attributes[key] == "It says Paris."
    assert key not in seconds.attributes


def test_event_names_the_evaluator_and_what_is_better() -> None:
    verdict, seconds = events_of([judged()])
    assert verdict.attributes["context_bench.evaluator"] == "acme/judge"
    assert verdict.attributes["context_bench.score.is_primary"] is True
    assert seconds.attributes["context_bench.score.better"] == "lower"
    assert seconds.attributes["context_bench.score.is_primary"] is False


def test_other_scores_are_left_out_on_request(run_file: Path) -> None:
    assert not [event for event in events(run_file, scores=["f1"]) if VALUE in event.attributes]


def test_command_sends_the_run_to_an_endpoint(
    run_file: Path, collector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
    done = CliRunner().invoke(otel, [str(run_file), "--endpoint", collector.url])
    assert done.exit_code == 0, done.output
    assert "Sent 3 events, 1 of them failures." in done.output
    assert set(collector.paths) == {"/v1/logs"}
    assert collector.headers[0]["authorization"] == "Bearer abc"
    received = list(records_at(collector))
    assert len(received) == 3
    record, attributes, source = received[0]
    assert record.event_name == "gen_ai.evaluation.result"
    assert attributes[VALUE] == 1.0
    assert record.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert source["service.name"] == "context-bench"
    with open_run(run_file) as run:
        assert source["context_bench.run.id"] == run.id


def test_endpoint_of_the_environment_is_used(
    run_file: Path, collector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    done = CliRunner().invoke(otel, [str(run_file), "--system", "answers"])
    assert done.exit_code == 0, done.output
    assert collector.paths == ["/v1/logs"]


def test_refusal_of_the_endpoint_is_an_error(run_file: Path, collector: Any) -> None:
    collector.status = 401
    done = CliRunner().invoke(otel, [str(run_file), "--endpoint", collector.url])
    assert done.exit_code != 0
    assert "did not accept the events" in str(done.exception)


def test_many_events_are_sent_in_batches(run_file: Path, collector: Any) -> None:
    from context_bench_otel.sending import send_by_http

    many = [Event({"gen_ai.evaluation.name": "f1", VALUE: float(n)}) for n in range(450)]
    sent = send_by_http(many, {"service.name": "x"}, endpoint=collector.url + "/")
    assert sent.events == 450
    assert len(collector.bodies) == 3
    assert [attributes[VALUE] for _, attributes, _ in records_at(collector)] == list(range(450))


def test_endpoint_and_system_must_exist(
    run_file: Path, collector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(otel, [str(run_file)])
    assert isinstance(done.exception, ConfigurationError)
    done = CliRunner().invoke(
        otel, [str(run_file), "--endpoint", collector.url, "--system", "nobody"]
    )
    assert isinstance(done.exception, ConfigurationError)
    assert "answers" in str(done.exception)
    assert collector.bodies == []


def test_import_is_light() -> None:
    import subprocess
    import sys

    code = "import context_bench_otel, sys; print(any(m.startswith('opentelemetry.sdk') for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
