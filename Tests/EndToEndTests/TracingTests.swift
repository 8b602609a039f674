import CurlHTTP
import Foundation
import HTTPTypes
import Logging
import PushCore
import PushServer
import PushSimulators
import PushTesting
import Reactor
import ServiceLifecycle
import SocketHTTP
import Synchronization
import Testing

@testable import PushApplication
@testable import sealpost
@testable import sealpost_demo

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The export of trace spans to a collector. Rotel, a collector of another maker, gets the
/// exports, and OpenTelemetry's own classes read them.
@Suite(.timeLimit(.minutes(5))) struct TracingTests {
    private struct Question: Encodable {
        let body: String
    }

    private struct Verdict: Decodable {
        struct Span: Decodable {
            let trace: String
            let span: String
            let parent: String
            let name: String
            let kind: String
            let nanoseconds: Int
            let status: Int
            let attributes: [String: String]
            let service: String
        }

        var spans: [Span]?
        /// The exported document, decompressed, and all that the collector prints of it.
        var text: String?
        var fault: String?
    }

    /// Returns all spans of these exports. Throws if one of the exports is not valid OTLP, or if
    /// the collector refuses it.
    private func spans(in bodies: [[UInt8]]) async throws -> [Verdict.Span] {
        try await self.verdicts(on: bodies).flatMap { try #require($0.spans, "\($0.fault ?? "")") }
    }

    private func verdicts(on bodies: [[UInt8]]) async throws -> [Verdict] {
        let questions = bodies.map { Question(body: Data($0).base64EncodedString()) }
        return try await Oracle.answers(of: "otlp_oracle.py", to: questions, as: Verdict.self)
    }

    // MARK: The whole product

    @Test func aTraceHasItsPostItsCommitAndItsPushAndNothingElse() async throws {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let collector = Collector()
        let handle = String(repeating: "ca", count: 32)
        let device = try await collector.whileRunning { url in
            try await Stack.run {
                $0.tracing = Configuration.Tracing(url: url, every: 0)
            } _: { stack in
                let issued = try await stack.send(stack.request("POST", "/api/register")).text
                let id = String(issued.dropFirst().dropLast())
                let body = #"{"Platform":"apns","Handle":"\#(handle)"}"#
                #expect(try await stack.send(stack.request("PUT", "/api/register/\(id)", body: body)).status == 200)
                let order = #"{"Payload":"canary","To":["username:alice"]}"#
                var post = try stack.request("POST", "/api/notifications", as: "boss", body: order)
                post.setValue("00-\(trace)-00f067aa0ba902b7-01", forHTTPHeaderField: "traceparent")
                #expect(try await stack.send(post).status == 201)
                _ = try await stack.providers.apns.pushes.acceptedPush(1)
                // When the server ends, it exports the remaining spans.
                return id
            }
        }
        let verdicts = try await self.verdicts(on: collector.bodies)
        let spans = try verdicts.flatMap { try #require($0.spans, "\($0.fault ?? "")") }
        #expect(spans.map(\.name).sorted() == ["POST /api/notifications", "commit", "push apns"])
        #expect(spans.allSatisfy { $0.trace == trace && $0.service == "sealpost" && $0.status == 0 })
        #expect(spans.allSatisfy { $0.nanoseconds >= 0 })
        let request = try #require(spans.first { $0.kind == "SERVER" })
        #expect(request.parent == "00f067aa0ba902b7")
        #expect(spans.filter { $0.kind == "CLIENT" }.map(\.parent) == [request.span, request.span])
        let texts = try verdicts.map { try #require($0.text) }
        for canary in ["canary", handle, "alice", "boss", device, Stack.password] {
            #expect(!texts.contains { $0.contains(canary) }, "\(canary)")
        }
    }

    @Test func aDocumentEscapesItsTexts() async throws {
        let recorder = SpanRecorder(sampling: 1)
        let name = "push \"a\\\"\n\u{1F600}"
        let span = try #require(recorder.begin(under: nil))
        recorder.end(span, name, .client, [.init("x", .number(-7))], isFailed: true)
        let document = SpanDocument(service: "a\"b", version: "1", instance: "i")
        let read = try #require(try await self.spans(in: [document.body(of: recorder.take())]).first)
        #expect(read.name == name && read.service == "a\"b" && read.status == 2 && read.parent.isEmpty)
        #expect(read.attributes == ["x": "-7"])
    }

    // MARK: The export

    /// Exports until the service has sent `count` batches. The collector gives these answers, and
    /// then accepts everything. Returns the batches' sizes and the log.
    private func export(
        _ recorder: SpanRecorder,
        answers: [SpanExportService.Answer],
        until count: Int
    ) async throws -> (sizes: [Int], log: [String]) {
        let log = LogRecorder()
        let sizes = Mutex<[Int]>([])
        let service = SpanExportService(recorder: recorder, logger: Logger(label: "test") { _ in log }) { spans in
            let number = sizes.withLock { sizes in
                sizes.append(spans.count)
                return sizes.count
            }
            return number <= answers.count ? answers[number - 1] : .accepted()
        }
        try await self.run(service) { try await eventually { sizes.withLock { $0.count } >= count } }
        return (sizes.withLock { $0 }, log.lines)
    }

    /// Runs the service until `body` returns.
    private func run(_ service: SpanExportService, _ body: () async throws -> Void) async throws {
        let logger = Logger(label: "services") { _ in LogRecorder() }
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    private func fill(_ recorder: SpanRecorder, _ count: Int) throws {
        for _ in 0..<count { recorder.end(try #require(recorder.begin(under: nil)), "x", .server, []) }
    }

    @Test func spansAreSentInBatches() async throws {
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 2 * SpanRecorder.batch + 1)
        let (sizes, log) = try await self.export(recorder, answers: [], until: 3)
        #expect(sizes == [SpanRecorder.batch, SpanRecorder.batch, 1])
        #expect(recorder.dropped == 0 && log.isEmpty)
    }

    @Test func spansThatTheCollectorCannotTakeNowAreSentAgain() async throws {
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, SpanRecorder.batch + 2)
        let answers: [SpanExportService.Answer] = [.unavailable("status 503")]
        // The shutdown ends the delay after a failure, and the service then tries once more.
        let (sizes, log) = try await self.export(recorder, answers: answers, until: 1)
        #expect(sizes == [SpanRecorder.batch, SpanRecorder.batch, 2])
        #expect(recorder.dropped == 0)
        #expect(log.count == 2 && log[0].contains("spans not exported") && log[0].contains("status 503"))
        #expect(log.last?.contains("spans exported again") == true)
    }

    @Test func refusedSpansAreCountedAsDropped() async throws {
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 5)
        let (sizes, log) = try await self.export(recorder, answers: [.refused("status 404")], until: 1)
        #expect(sizes == [5] && recorder.dropped == 5)
        #expect(log.count == 1 && log[0].contains("spans refused and dropped; see tracing.endpoint"))
    }

    @Test func spansThatAreLeftAtTheEndAreCountedAsDropped() async throws {
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 5)
        let answers = [SpanExportService.Answer](repeating: .unavailable("could not connect"), count: 2)
        let (sizes, log) = try await self.export(recorder, answers: answers, until: 1)
        #expect(sizes == [5, 5] && recorder.dropped == 5 && log.count == 1)
    }

    @Test func aCollectorThatNeverAnswersDelaysTheShutdownForALimitedTime() async throws {
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 5)
        let calls = Mutex(0)
        let service = SpanExportService(
            recorder: recorder,
            logger: Logger(label: "test") { _ in LogRecorder() },
            lastExports: .milliseconds(10)
        ) { _ in
            calls.withLock { $0 += 1 }
            // Only cancellation ends this sleep within the time limit of the suite.
            try? await Task.sleep(for: .seconds(3600))
            return .unavailable("no answer")
        }
        try await self.run(service) { try await eventually { calls.withLock { $0 } == 1 } }
        #expect(recorder.dropped == 5)
    }

    @Test(
        arguments: [
            ("{}", nil), ("", nil), ("<html>", nil), (#"{"partialSuccess":{}}"#, nil),
            (#"{"partialSuccess":null}"#, nil),
            (#"{"partialSuccess":{"rejectedSpans":"0","errorMessage":""}}"#, nil),
            (#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#, (2, "too old")),
            (#"{"partialSuccess":{"rejectedSpans":2}}"#, (2, "")),
            (#"{"partialSuccess":{"errorMessage":"use https"}}"#, (0, "use https")),
            (#"{"partialSuccess":{"rejectedSpans":"-1","errorMessage":"a\nb\u00e9"}}"#, (0, "a?b??")),
            (#"{"partialSuccess":{"rejectedSpans":"99999999999999999999","errorMessage":7}}"#, nil),
            (#"{"partialSuccess":{"rejectedSpans":"9223372036854775807"}}"#, (5, "")),
        ] as [(String, (Int, String)?)]
    )
    func anAnswerTellsWhichSpansTheCollectorHasNotKept(body: String, expected: (Int, String)?) {
        let part = PartialSuccess(Array(body.utf8), of: 5)
        #expect(part?.rejected == expected?.0 && part?.message == expected?.1)
    }

    @Test func rejectedSpansAreCountedAndTheCollectorsMessageIsLoggedOnce() async throws {
        let message = String(repeating: "m", count: 201)
        let collector = Collector(body: #"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"\#(message)"}}"#)
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, SpanRecorder.batch + 5)
        let log = try await self.export(recorder, to: collector) { _ in
            try await eventually { collector.bodies.count == 2 }
        }
        #expect(recorder.dropped == 6 && collector.bodies.count == 2)
        #expect(log.count == 1 && log[0].contains("rejected=3") && log[0].contains(message.dropLast()), "\(log)")
        #expect(!log.contains { $0.contains(message) })
    }

    /// The shutdown ends a delay that the service has chosen, and the service tries once more. The
    /// shutdown does not shorten a delay that the collector requests.
    @Test(arguments: [
        (200, nil, 1, 0), (503, nil, 2, 5), (400, nil, 1, 5), (401, nil, 1, 5), (429, nil, 2, 5), (429, "0", 2, 5),
        (429, "60", 1, 5), (503, "60", 1, 5),
    ])
    func theStatusDecidesWhetherSpansAreSentAgain(status: Int, delay: String?, calls: Int, dropped: Int) async throws {
        let collector = Collector(status: status, delay: delay)
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 5)
        let log = try await self.export(recorder, to: collector) { _ in
            try await eventually { !collector.bodies.isEmpty }
        }
        #expect(collector.bodies.count == calls && recorder.dropped == dropped)
        #expect(log.count == (status == 200 ? 0 : 1) && log.allSatisfy { $0.contains("status \(status)") }, "\(log)")
    }

    /// A full batch of new spans ends any wait except a delay that the collector requests.
    @Test func newSpansDoNotShortenTheCollectorsDelay() async throws {
        let collector = Collector(status: 429, delay: "3600")
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 1)
        _ = try await self.export(recorder, to: collector) { _ in
            try await eventually { !collector.bodies.isEmpty }
            try self.fill(recorder, SpanRecorder.batch)
        }
        #expect(collector.bodies.count == 1)
    }

    /// Requests may record spans at any pace, even if the collector never answers an export.
    @Test func aSlowCollectorFillsTheQueueAndDelaysNothing() async throws {
        let collector = Collector(waits: true)
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 1)
        _ = try await self.export(recorder, to: collector) { _ in
            try await eventually { !collector.bodies.isEmpty }
            try self.fill(recorder, SpanRecorder.limit + 7)
            #expect(recorder.dropped == 7)
            collector.answer()
        }
        #expect(recorder.dropped == 7 && collector.bodies.count == 1 + SpanRecorder.limit / SpanRecorder.batch)
    }

    @Test func anExportIsCompressedAndHasTheHeadersOfTheFile() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("headers")
        @Sendable func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            #expect(chmod(file, 0o600) == 0)
        }
        try write("api-key=canary%2C1\nAuthorization = Basic YTpi==\n")
        let collector = Collector()
        let recorder = SpanRecorder(sampling: 1)
        try self.fill(recorder, 1)
        let log = try await self.export(recorder, to: collector) {
            $0.headersFile = file
        } _: { _ in
            try await eventually { collector.bodies.count == 1 }
            // The service reads the file with the headers again for each export.
            try write("canary2")
            try self.fill(recorder, SpanRecorder.batch)
        }
        let fields = try #require(collector.fields.first)
        #expect(fields["api-key"] == "canary,1" && fields["authorization"] == "Basic YTpi==")
        #expect(fields["content-encoding"] == "gzip" && fields["content-type"] == "application/json")
        #expect(try await self.spans(in: collector.bodies).count == 1)
        #expect(log.contains { $0.contains("tracing.headersFile") }, "\(log)")
        #expect(!log.contains { $0.contains("canary") }, "\(log)")
    }

    /// Runs the export to this collector until `body` returns. `body` gets the log.
    private func export(
        _ recorder: SpanRecorder,
        to collector: Collector,
        _ change: @escaping @Sendable (inout Configuration.Tracing) -> Void = { _ in },
        _ body: @escaping @Sendable (LogRecorder) async throws -> Void
    ) async throws -> [String] {
        let log = LogRecorder()
        try await collector.whileRunning { url in
            let loop = try EventLoop(index: 0)
            defer { loop.stop() }
            var configuration = Configuration.Tracing(url: url)
            change(&configuration)
            let export = try SpanExport(configuration, recorder, on: loop)
            var service = export.makeService(logger: Logger(label: "test") { _ in log })
            // The time limit of the last exports must not end them early on a slow machine.
            service.lastExports = .seconds(60)
            try await self.run(service) { try await body(log) }
            await export.close()
        }
        return log.lines
    }

    @Test(arguments: [
        ("api-key=x", ["api-key: x"]), ("a=1,b=%20%2C%25", ["a: 1", "b:  ,%"]), (" a = b=c== ,\n\r\n", ["a: b=c=="]),
        ("", []),
    ])
    func headersAreReadAsOpenTelemetryHasThem(text: String, lines: [String]) throws {
        #expect(try CollectorHeaders.read(text).map { "\($0.name): \($0.value)" } == lines)
    }

    @Test(arguments: [
        ("canary", "header 1 has no ="), ("a=", "header 1 has no value"), ("=canary", "header 1 needs a name"),
        ("a=b,\na b=canary", "header 2 needs a name"), ("a:b=canary", "header 1 needs a name"),
        ("a=canary%0D%0Ab: c", "other than printable ASCII"), ("a=canary\u{e9}", "other than printable ASCII"),
        ("a=canary%zz", "a % that begins no escape"), ("Host=canary", "header 1 is host, which the server sets"),
        ("content-length=1", "is content-length"),
    ])
    func aBadHeaderIsReportedWithItsFaultAndNotQuoted(text: String, fault: String) {
        #expect {
            try CollectorHeaders.read(text)
        } throws: {
            "\($0)".contains(fault) && !"\($0)".contains("canary")
        }
    }

    // MARK: The configuration

    /// The environment variables, the address of the collector that they give, and a part of the
    /// reason if they give none.
    @Test(
        arguments: [
            ([:], nil, nil),
            (["SEALPOST_TRACING_ENDPOINT": "http://127.0.0.1:4318"], "http://127.0.0.1:4318/v1/traces", nil),
            (["SEALPOST_TRACING_ENDPOINT": "https://a.example/otlp/"], "https://a.example/otlp/v1/traces", nil),
            (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318/"], "http://a:4318/v1/traces", nil),
            (["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a:4318/x"], "http://a:4318/x", nil),
            (
                ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b/t"],
                "http://b/t", nil
            ),
            (
                ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "SEALPOST_TRACING_ENDPOINT": "http://c"],
                "http://c/v1/traces", nil
            ),
            (["OTEL_EXPORTER_OTLP_ENDPOINT": ""], nil, nil),
            (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "true"], nil, nil),
            (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"], nil, nil),
            (
                ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"],
                nil, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc"
            ),
            (
                ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"],
                "http://a:4318/v1/traces", nil
            ),
            (
                ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_HEADERS": "canary"],
                nil, "OTEL_EXPORTER_OTLP_HEADERS: header 1 has no =; write pairs such as api-key=value"
            ),
            (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a/?b=c"], nil, "OTEL_EXPORTER_OTLP_ENDPOINT must be http://"),
            // OpenTelemetry's variable is for all programs, so a wrong value must not prevent the
            // server's start.
            (["OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"], nil, "OTEL_EXPORTER_OTLP_ENDPOINT must be http://"),
        ] as [([String: String], String?, String?)]
    )
    func theCollectorComesFromTheKeyOrFromOpenTelemetrysVariables(
        environment: [String: String],
        url: String?,
        fault: String?
    ) throws {
        let configuration = try Configuration.load(file: nil, environment: environment)
        #expect(configuration.tracing?.url.text == url)
        #expect((configuration.tracingFault == nil) == (fault == nil))
        if let fault { #expect(configuration.tracingFault?.contains(fault) == true) }
        #expect(configuration.tracingFault?.contains("canary") != true)
        if let tracing = configuration.tracing { #expect(tracing.every == 100 && tracing.service == "sealpost") }
    }

    /// The headers in OpenTelemetry's variables are secrets for the collector that these variables
    /// name. They must not go to another collector.
    @Test(arguments: [
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"], ["own"]), (["SEALPOST_TRACING_ENDPOINT": "http://a"], []),
    ])
    func headersOfAVariableGoToTheCollectorOfAVariable(environment: [String: String], values: [String]) throws {
        let headers = ["OTEL_EXPORTER_OTLP_HEADERS": "a=general", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=own"]
        let environment = environment.merging(headers) { $1 }
        let tracing = try #require(try Configuration.load(file: nil, environment: environment).tracing)
        #expect(tracing.headers.exposed.map(\.value) == values)
    }

    @Test(arguments: [
        "tracing: {headersFile: a}", "tracing: {caFile: a}", "proxy: {credentialsFile: a}",
        "events: {webhook: {secretFile: a}}",
    ])
    func aFileWithoutTheAddressThatNeedsItIsRefused(yaml: String) throws {
        let folder = try TemporaryFolder()
        try yaml.write(toFile: folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        #expect {
            try Configuration.load(file: folder.file("sealpost.yaml"), environment: [:])
        } throws: {
            "\($0)".contains("sealpost.yaml:1: ") && "\($0)".contains(" has no meaning without ")
        }
    }

    /// `headersFile` is valid if only an environment variable names the collector, even if another
    /// variable switches the export off.
    @Test func aFileOfHeadersMayBelongToTheCollectorOfAVariable() throws {
        var environment = ["SEALPOST_TRACING_HEADERSFILE": "a", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"]
        #expect(try Configuration.load(file: nil, environment: environment).tracing?.headersFile == "a")
        environment["OTEL_SDK_DISABLED"] = "true"
        #expect(try Configuration.load(file: nil, environment: environment).tracing == nil)
    }

    @Test func everyKeyIsRead() throws {
        let tracing = try Configuration.load(
            file: nil,
            environment: [
                "SEALPOST_TRACING_ENDPOINT": "https://a", "SEALPOST_TRACING_REQUESTS": "0",
                "SEALPOST_TRACING_CAFILE": "ca.pem", "SEALPOST_TRACING_HEADERSFILE": "key",
                "OTEL_SERVICE_NAME": "push",
            ]
        ).tracing
        #expect(
            tracing?.every == 0 && tracing?.caFile == "ca.pem" && tracing?.headersFile == "key"
                && tracing?.service == "push"
        )
        #expect {
            try Configuration.load(file: nil, environment: ["SEALPOST_TRACING_ENDPOINT": "a:4318"])
        } throws: {
            "\($0)".hasPrefix("SEALPOST_TRACING_ENDPOINT: must be http:// or https://")
        }
    }
}

/// A collector that records all exports, and answers each of them with the same status.
private final class Collector: Responder {
    private let response: Response
    private let taken = Mutex<[(fields: [String: String], body: [UInt8])]>([])
    /// Lets answers wait until a test calls `answer()`.
    private let gate: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation

    init(status: Int = 200, delay: String? = nil, waits: Bool = false, body: String = "{}") {
        var response = Response(status: .init(code: status), body: Array(body.utf8))
        if let delay { response.fields.append(.retryAfter, delay) }
        self.response = response
        (self.gate, self.opener) = AsyncStream.makeStream()
        if !waits { self.opener.finish() }
    }

    var bodies: [[UInt8]] { self.taken.withLock { $0.map(\.body) } }
    /// The header fields of each export.
    var fields: [[String: String]] { self.taken.withLock { $0.map(\.fields) } }

    func answer() {
        self.opener.finish()
    }

    func respond(to request: Request) -> Reply {
        let names = ["api-key", "authorization", "content-encoding", "content-type"]
        let found = names.map { name in (name, HTTPField.Name(name).flatMap { request.head[$0] } ?? "") }
        let fields = Dictionary(uniqueKeysWithValues: found)
        return .later {
            do {
                let body = try await request.body.collect()
                self.taken.withLock { $0.append((fields, body)) }
                for await _ in self.gate {}
                return self.response
            } catch {
                return Response(status: .badRequest)
            }
        }
    }

    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        Response(status: refusal.status)
    }

    /// Passes `body` the address of the collector.
    func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (OutboundURL) async throws -> Result
    ) async throws -> Result {
        let loops = try EventLoopGroup(count: 1)
        defer { loops.stop() }
        let server = HTTPServer(
            listeners: [try Listener(.tcp(host: "127.0.0.1", port: 0))],
            loops: loops,
            limits: ServerLimits { $0.bodyBytes = 1 << 20 },
            responder: self
        )
        let url = try #require(OutboundURL("http://\(server.addresses[0])/v1/traces"))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run() }
            defer { server.stop() }
            return try await body(url)
        }
    }
}
