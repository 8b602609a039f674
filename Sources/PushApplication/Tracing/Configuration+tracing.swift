import CurlHTTP
import PushCore

extension Configuration {
    /// The collector of spans, and the sampling.
    struct Tracing: Sendable {
        /// The address that receives the spans.
        var url: OutboundURL
        /// Of this many requests without a `traceparent`, one begins a trace; 0: none does.
        var every = 100
        var caFile: String?
        /// The file with the header lines of each export.
        var headersFile: String?
        /// The header lines in OpenTelemetry's variables, without a file.
        var headers = Secret<[OutboundRequest.Header]>([])
        var service = "sealpost"
    }
}

extension Configuration.Tracing {
    private static let path = "/v1/traces"
    private static let form = "must be http:// or https://, a host, and an optional port and path"

    /// `nil` without a collector. Throws `ConfigurationError` for a bad value.
    ///
    /// OpenTelemetry's own variables name the collector if the configuration does not. They are
    /// often set for all programs of a machine, so a bad one must not stop this program: `fault`
    /// receives the reason why it is not used.
    init?(_ section: ConfigurationSection, environment: [String: String], fault: inout String?) throws {
        let endpoint = try section.string("endpoint")
        let every = try section.integer("requests", in: 0...1_000_000_000)
        let caFile = try section.string("caFile")
        let headersFile = try section.nonEmptyString("headersFile")
        try section.finish()
        if let endpoint {
            guard !endpoint.contains("?"), let url = OutboundURL(endpoint)?.appending(Self.path) else {
                throw section.error("endpoint", nil, "\"\(endpoint)\" \(Self.form)")
            }
            self.init(url: url)
        } else {
            // Headers in variables are secrets for the collector that the variables name. They are
            // never sent to the collector of the key `endpoint`.
            guard let url = Self.url(in: environment, fault: &fault),
                let headers = Self.headers(in: environment, fault: &fault)
            else { return nil }
            self.init(url: url)
            self.headers = Secret(headers)
        }
        self.every = every ?? self.every
        self.caFile = caFile
        self.headersFile = headersFile
        if let service = environment["OTEL_SERVICE_NAME"], !service.isEmpty { self.service = service }
    }

    /// The address in OpenTelemetry's variables
    /// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
    private static func url(in environment: [String: String], fault: inout String?) -> OutboundURL? {
        func value(_ names: String...) -> (name: String, text: String)? { Self.value(of: names, in: environment) }
        if environment["OTEL_SDK_DISABLED"]?.lowercased() == "true" { return nil }
        if let exporter = value("OTEL_TRACES_EXPORTER"), exporter.text != "otlp" { return nil }
        let (own, common) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
        guard let endpoint = value(own, common) else { return nil }
        let (mine, general) = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        if let version = value(mine, general), version.text == "grpc" {
            fault = "\(version.name) is grpc, and Sealpost sends OTLP over HTTP; set tracing.endpoint to that port"
            return nil
        }
        let url = OutboundURL(endpoint.text)
        // Only the variable with a whole URL may have a query: after a base URL, the path would
        // come behind the query.
        let base = endpoint.text.contains("?") ? nil : url?.appending(self.path)
        guard let url = endpoint.name == own ? url : base else {
            fault = "\(endpoint.name) \(self.form); set tracing.endpoint"
            return nil
        }
        return url
    }

    private static func headers(
        in environment: [String: String],
        fault: inout String?
    ) -> [OutboundRequest.Header]? {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"]
        guard let (name, text) = Self.value(of: names, in: environment) else { return [] }
        let headers = CollectorHeaders.read(text)
        if headers == nil { fault = "\(name) \(CollectorHeaders.form)" }
        return headers
    }

    /// The first variable that is set, with its value.
    private static func value(of names: [String], in environment: [String: String]) -> (name: String, text: String)? {
        for name in names { if let text = environment[name], !text.isEmpty { return (name, text) } }
        return nil
    }
}
