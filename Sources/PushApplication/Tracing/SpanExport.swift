import CurlHTTP
import Foundation
import Logging
import PushCore
import PushDelivery
import PushSenders
import PushServer
import Reactor
import ServiceLifecycle

/// The configured collector of spans, and the service that exports spans to it.
struct SpanExport: Sendable {
    let recorder: SpanRecorder
    private let configuration: Configuration.Tracing
    private let client: HTTPClient
    private let document: SpanDocument

    /// Throws `ConfigurationError` if the file with the authorities that sign the collector's
    /// certificate, or the file with the header lines, cannot be read.
    init(_ configuration: Configuration.Tracing, _ recorder: SpanRecorder, on loop: EventLoop) throws {
        try TLSSetup.checkAuthorities(in: configuration.caFile, key: "tracing.caFile")
        self.recorder = recorder
        self.configuration = configuration
        self.document = SpanDocument(
            service: configuration.service,
            version: Version.current,
            instance: UUID().uuidString.lowercased()
        )
        let settings = HTTPClientSettings {
            $0.connectTimeout = .seconds(5)
            $0.caFile = configuration.caFile
            // Plain HTTP is allowed: spans contain no secrets, and most collectors run on the same
            // machine.
            $0.allowsPlainHTTP = !configuration.url.isSecure
            $0.addresses = .any
        }
        do throws(OutboundError) {
            self.client = try HTTPClient(settings, on: loop)
        } catch {
            throw ConfigurationError("tracing.caFile: \(error)")
        }
        _ = try self.headers()
    }

    /// The header lines of an export. Each export reads the file again, so a new API key is in use
    /// at once.
    private func headers() throws -> [OutboundRequest.Header] {
        guard let file = self.configuration.headersFile else { return self.configuration.headers.exposed }
        let key = "tracing.headersFile"
        let text = try SecretFile.text(of: file, key: key)
        do throws(CollectorHeaders.Fault) {
            return try CollectorHeaders.read(text)
        } catch {
            throw ConfigurationError("\(key): \(file): \(error)")
        }
    }

    var sample: MetricSample { MetricSample(.spansDropped, [:], Double(self.recorder.dropped)) }

    /// Closes the client; call this after the service has ended.
    func close() async {
        await self.client.close()
    }

    func makeService(logger: Logger) -> SpanExportService {
        SpanExportService(recorder: self.recorder, logger: logger, send: self.send)
    }

    private func send(_ spans: [Span]) async -> SpanExportService.Answer {
        let plain = self.document.body(of: spans)
        let packed = Gzip.compress(plain, nameLength: 0)
        do {
            var headers = try self.headers()
            headers.append(OutboundRequest.Header("content-type", "application/json"))
            if packed != nil { headers.append(OutboundRequest.Header("content-encoding", "gzip")) }
            let request = OutboundRequest(
                .post,
                self.configuration.url,
                headers: headers,
                body: packed ?? plain,
                timeout: .seconds(10)
            )
            let response = try await self.client.send(request)
            switch response.status {
            case 200...299: return .accepted(PartialSuccess(response.body, of: spans.count))
            // OTLP's specification lists the answers after which a client may send the same spans
            // again.
            case let status where [429, 502, 503, 504].contains(status):
                let delay = RetryAfter.duration(response.header("retry-after"), now: Date())
                return .unavailable("status \(status)", delay: delay)
            case let status: return .refused("status \(status)")
            }
        } catch {
            return .unavailable("\(error)")
        }
    }
}

/// Exports the queued spans every five seconds, and sooner if there are many. At shutdown it
/// exports the remaining spans.
///
/// While the collector does not answer, one batch and the recorder's queue stay in memory. Further
/// spans are dropped and counted.
struct SpanExportService: Service {
    enum Answer: Sendable {
        case accepted(PartialSuccess? = nil)
        /// The collector may accept the same spans later, after the delay that it has chosen.
        case unavailable(String, delay: Duration? = nil)
        /// The collector will never accept these spans.
        case refused(String)
    }

    private static let interval = Duration.seconds(5)
    private static let longestDelay = Duration.seconds(60)
    /// The shortest time between two log lines about partly accepted exports.
    private static let reportInterval = Duration.seconds(600)

    let recorder: SpanRecorder
    let logger: Logger
    /// How long exports may continue after shutdown begins: a slow collector must not delay a
    /// restart.
    var lastExports = Duration.seconds(2)
    let send: @Sendable ([Span]) async -> Answer

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.exportUntilShutdown() }
            group.addTask {
                // The end of the exports cancels this task: `gracefulShutdown` then throws, and
                // the sleep ends early.
                guard (try? await gracefulShutdown()) != nil else { return }
                try? await Task.sleep(for: self.lastExports)
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func exportUntilShutdown() async {
        await self.recorder.signal.signallingAtShutdown {
            var failures = 0
            var batch: [Span] = []
            var nextReport = ContinuousClock.now
            while true {
                let isLast = Self.isEnding
                var delay: Duration?
                repeat {
                    if batch.isEmpty { batch = self.recorder.take() }
                    if batch.isEmpty { break }
                    let answer = await self.send(batch)
                    self.note(answer, of: &batch, &failures, &nextReport)
                    if case .unavailable(_, let chosen) = answer { delay = chosen }
                } while failures == 0
                if isLast { return self.recorder.countDropped(batch.count) }
                let backoff = min(Self.interval * (1 << min(failures, 4)), Self.longestDelay)
                await self.wait(max(backoff, delay ?? backoff), wakesEarly: failures == 0)
                // The collector has named a time for the next export, but this process ends
                // earlier. So these spans are lost.
                if delay != nil, Self.isEnding { return self.recorder.countDropped(batch.count) }
            }
        }
    }

    private static var isEnding: Bool { Task.isShuttingDownGracefully || Task.isCancelled }

    /// Waits for `duration`, or until shutdown begins. With `wakesEarly`, a full batch also ends
    /// the wait.
    private func wait(_ duration: Duration, wakesEarly: Bool) async {
        let end = ContinuousClock.now + duration
        repeat {
            await self.recorder.signal.wait(atMost: end - ContinuousClock.now)
        } while !wakesEarly && ContinuousClock.now < end && !Self.isEnding
    }

    /// Logs the collector's answer as far as necessary, and empties the batch unless it must be
    /// sent again.
    private func note(
        _ answer: Answer,
        of batch: inout [Span],
        _ failures: inout Int,
        _ nextReport: inout ContinuousClock.Instant
    ) {
        switch answer {
        case .accepted(let part):
            if let part { self.note(part, of: batch.count, &nextReport) }
            if failures > 0 { self.logger.info("spans exported again") }
            failures = 0
            batch = []
        case .unavailable(let reason, _):
            if failures == 0 {
                self.logger.warning("spans not exported; they are kept for a retry", metadata: ["reason": "\(reason)"])
            }
            failures += 1
        case .refused(let reason):
            if failures == 0 {
                self.logger.warning(
                    "spans refused and dropped; see tracing.endpoint and tracing.headersFile",
                    metadata: ["reason": "\(reason)"]
                )
            }
            failures += 1
            self.recorder.countDropped(batch.count)
            batch = []
        }
    }

    private func note(_ part: PartialSuccess, of count: Int, _ nextReport: inout ContinuousClock.Instant) {
        self.recorder.countDropped(part.rejected)
        guard ContinuousClock.now >= nextReport else { return }
        nextReport = .now + Self.reportInterval
        self.logger.warning(
            "collector answered a batch of spans with a message",
            metadata: ["spans": "\(count)", "rejected": "\(part.rejected)", "message": "\(part.message)"]
        )
    }
}
