"""Reads exports of spans with OpenTelemetry's own classes for the JSON encoding of OTLP.

Reads JSON lines with a compressed or plain `body` in base64; writes a line of JSON for each: its `spans` and `text`, or
the `fault` if it is no export.
"""

import base64
import gzip
import json
import sys

from opentelemetry.proto_json.collector.trace.v1.trace_service import ExportTraceServiceRequest
from opentelemetry.proto_json.trace.v1.trace import Span


def value(any):
    return any.string_value if any.string_value is not None else any.int_value


def attributes(list):
    return {attribute.key: str(value(attribute.value)) for attribute in list}


def verdict(question):
    body = base64.b64decode(question["body"])
    text = (gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body).decode()
    request = ExportTraceServiceRequest.from_json(text)
    spans = []
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                if len(span.trace_id) != 16 or len(span.span_id) != 8 or len(span.parent_span_id) not in (0, 8):
                    raise ValueError("an id of the wrong length")
                spans.append({
                    "trace": span.trace_id.hex(), "span": span.span_id.hex(), "parent": span.parent_span_id.hex(),
                    "name": span.name, "kind": Span.SpanKind(span.kind).name.removeprefix("SPAN_KIND_"),
                    "nanoseconds": span.end_time_unix_nano - span.start_time_unix_nano,
                    "status": int(span.status.code), "attributes": attributes(span.attributes),
                    "service": attributes(resource.resource.attributes)["service.name"],
                })
    return {"spans": spans, "text": text}


def main(source, target):
    with open(source) as questions, open(target, "w") as verdicts:
        for question in questions:
            try:
                answer = verdict(json.loads(question))
            except Exception as error:  # Any of the library's.
                answer = {"fault": f"{type(error).__name__}: {error}"}
            verdicts.write(json.dumps(answer) + "\n")


main(*sys.argv[1:])
