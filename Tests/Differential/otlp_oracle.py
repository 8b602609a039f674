"""Sends exports of spans to Rotel, a collector of another maker, and reads them with OpenTelemetry's own classes.

Reads JSON lines with a compressed or plain `body` in base64. Writes a line of JSON for each: its `spans`, and as `text`
the export and all that the collector prints of it; or the `fault` if the collector or the classes refuse the export.
"""

import base64
import gzip
import importlib.resources
import json
import random
import subprocess
import sys
import time
import urllib.request

from opentelemetry.proto_json.collector.trace.v1.trace_service import ExportTraceServiceRequest
from opentelemetry.proto_json.trace.v1.trace import Span


class Collector:
    """Rotel (https://github.com/streamfold/rotel), which prints each span that it accepts."""

    def __init__(self, log):
        # The tests run in parallel, and Rotel needs a port in advance; the address is its own.
        host = "127.%d.%d.%d" % tuple(random.randrange(1, 255) for _ in range(3))
        self.url, self.log = f"http://{host}:4318/v1/traces", log
        options = {
            "--otlp-http-endpoint": f"{host}:4318", "--otlp-grpc-endpoint": f"{host}:4317", "--exporter": "blackhole",
            "--debug-log": "traces", "--debug-log-verbosity": "detailed",
        }
        with open(log, "wb") as output:
            binary = importlib.resources.files("rotel") / "rotel-agent"
            command = [binary, "start", *(word for option in options.items() for word in option)]
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def take(self, body, ids):
        """Posts an export; returns what the collector has printed once it has printed these ids."""
        start, fields = len(self.printed()), {"Content-Type": "application/json"}
        if body.startswith(b"\x1f\x8b"):
            fields["Content-Encoding"] = "gzip"
        answer = self.until(lambda: self.post(urllib.request.Request(self.url, body, fields)))
        if answer.get("partialSuccess"):
            raise ValueError(f"the collector answers {answer}")
        self.until(lambda: all(id in self.printed()[start:] for id in ids))
        return self.printed()[start:]

    def post(self, request):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ValueError(f"the collector answers {error.code} {error.read()}")
        except urllib.error.URLError:
            return None  # It does not listen yet.

    def until(self, test):
        while (result := test()) in (None, False):
            if self.process.poll() is not None:
                raise ValueError(f"the collector has ended: {self.printed()}")
            time.sleep(0.01)
        return result

    def printed(self):
        with open(self.log, errors="replace") as log:
            return log.read()


def value(any):
    return any.string_value if any.string_value is not None else any.int_value


def attributes(list):
    return {attribute.key: str(value(attribute.value)) for attribute in list}


def verdict(question, collector):
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
    return {"spans": spans, "text": text + collector.take(body, [span["span"] for span in spans])}


def main(source, target):
    collector = Collector(target + ".log")
    try:
        with open(source) as questions, open(target, "w") as verdicts:
            for question in questions:
                try:
                    answer = verdict(json.loads(question), collector)
                except Exception as error:  # Any of the library's.
                    answer = {"fault": f"{type(error).__name__}: {error}"}
                verdicts.write(json.dumps(answer) + "\n")
    finally:
        collector.process.kill()
        collector.process.wait()


main(*sys.argv[1:])
