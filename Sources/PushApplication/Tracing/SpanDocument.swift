import PushAPI
import PushCore

/// The body of an export: `ExportTraceServiceRequest` in the JSON encoding of OTLP
/// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), with ids in hexadecimal and
/// 64-bit numbers as texts.
struct SpanDocument: Sendable {
    let service: String
    let version: String
    /// The name of this server, which distinguishes the servers of one service.
    let instance: String

    func body(of spans: [Span]) -> [UInt8] {
        let resource = [
            Span.Attribute("service.name", .text(self.service)),
            .init("service.version", .text(self.version)),
            .init("service.instance.id", .text(self.instance)),
        ]
        let scope: KeyValuePairs<String, JSONValue> = [
            "scope": Self.object(["name": .string("sealpost"), "version": .string(self.version)]),
            "spans": .array(spans.map(Self.json)),
        ]
        let own: KeyValuePairs<String, JSONValue> = [
            "resource": Self.object(["attributes": Self.json(resource)]),
            "scopeSpans": .array([Self.object(scope)]),
        ]
        return Self.object(["resourceSpans": .array([Self.object(own)])]).bytes
    }

    // MARK: - Private

    private static func json(_ span: Span) -> JSONValue {
        let members: KeyValuePairs<String, JSONValue> = [
            "traceId": .string("\(span.context.trace)"),
            "spanId": .string("\(span.context.span)"),
            "parentSpanId": .string(span.parent.map { "\($0)" } ?? ""),
            // The W3C flag `sampled`: the trace is recorded.
            "flags": .number(1),
            "name": .string(span.name),
            "kind": .number(span.kind.rawValue),
            "startTimeUnixNano": .string("\(span.start)"),
            "endTimeUnixNano": .string("\(span.end)"),
            "attributes": self.json(span.attributes),
            // 2 is `STATUS_CODE_ERROR`; 0 means that the status is not set.
            "status": self.object(["code": .number(span.isFailed ? 2 : 0)]),
        ]
        return self.object(members)
    }

    private static func json(_ attributes: [Span.Attribute]) -> JSONValue {
        .array(
            attributes.map { attribute in
                let value: KeyValuePairs<String, JSONValue> =
                    switch attribute.value {
                    case .text(let text): ["stringValue": .string(text)]
                    case .number(let number): ["intValue": .string("\(number)")]
                    }
                return self.object(["key": .string(attribute.name), "value": self.object(value)])
            }
        )
    }

    private static func object(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(members.map { JSONValue.Member($0.key, $0.value) })
    }
}
