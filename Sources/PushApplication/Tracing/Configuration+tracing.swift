import CurlHTTP
import PushCore

extension Configuration {
    /// The collector of spans, and how many requests are traced.
    struct Tracing: Sendable {
        /// The address that receives the spans.
        var url: OutboundURL
        /// The sampling interval: one in this number of requests without the field `traceparent`
        /// begins a trace; with 0 no request does.
        var every = 100
        var caFile: String?
        /// The file with the header lines that each export sends.
        var headersFile: String?
        /// The header lines in OpenTelemetry's variables, which apply if there is no file.
        var headers = Secret<[OutboundRequest.Header]>([])
        var service = "sealpost"
    }
}

extension Configuration.Tracing {
    private static let path = "/v1/traces"
    /// The variable with the whole URL, and the one with its beginning.
    private static let endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]
    private static let form = "must be http:// or https://, a host, and an optional port and path"

    /// Reads the section about the collector; `nil` if no collector is configured. Throws
    /// `ConfigurationError` for a bad value.
    ///
    /// If the configuration names no collector, OpenTelemetry's own variables name it. These
    /// variables are often set for all programs of a machine, so a bad value must not stop this
    /// program: `fault` receives the reason why the collector is not used.
    init?(_ section: ConfigurationSection, environment: [String: String], fault: inout String?) throws {
        let endpoint = try section.string("endpoint")
        let every = try section.integer("requests", in: 0...1_000_000_000)
        let caFile = try section.string("caFile")
        let headersFile = try section.nonEmptyString("headersFile")
        try section.finish()
        if let endpoint {
            guard !endpoint.contains("?"), let url = OutboundURL(endpoint)?.appending(Self.path) else {
                // The error does not quote the value, which may contain a password.
                throw section.error("endpoint", nil, Self.form)
            }
            self.init(url: url)
        } else {
            // Headers in variables are secrets for the collector that the variables name. They are
            // never sent to the collector of the key `endpoint`.
            if Self.value(of: Self.endpoints, in: environment) == nil {
                for (key, file) in [("caFile", caFile), ("headersFile", headersFile)] where file != nil {
                    throw section.error(key, nil, "has no meaning without tracing.endpoint")
                }
            }
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

    /// The collector's address according to OpenTelemetry's variables
    /// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
    private static func url(in environment: [String: String], fault: inout String?) -> OutboundURL? {
        func value(_ names: String...) -> (name: String, text: String)? { Self.value(of: names, in: environment) }
        if environment["OTEL_SDK_DISABLED"]?.lowercased() == "true" { return nil }
        if let exporter = value("OTEL_TRACES_EXPORTER"), exporter.text != "otlp" { return nil }
        guard let endpoint = Self.value(of: Self.endpoints, in: environment) else { return nil }
        let (mine, general) = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        if let version = value(mine, general), version.text == "grpc" {
            fault = "\(version.name) is grpc, and Sealpost sends OTLP over HTTP; set tracing.endpoint to that port"
            return nil
        }
        let url = OutboundURL(endpoint.text)
        // Only the variable with a whole URL may contain a query: the path is appended to a base
        // URL, and would come after its query.
        let base = endpoint.text.contains("?") ? nil : url?.appending(self.path)
        guard let url = endpoint.name == Self.endpoints[0] ? url : base else {
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
        do throws(CollectorHeaders.Fault) {
            return try CollectorHeaders.read(text)
        } catch {
            fault = "\(name): \(error)"
            return nil
        }
    }

    /// The first variable of `names` that is set, and its value.
    private static func value(of names: [String], in environment: [String: String]) -> (name: String, text: String)? {
        for name in names { if let text = environment[name], !text.isEmpty { return (name, text) } }
        return nil
    }
}
