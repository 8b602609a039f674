import CurlHTTP
import Foundation
import Logging
import PushCore
import PushDelivery
import PushServer
import Reactor
import ServiceLifecycle

/// The configured collector of spans, and the service that exports to it.
struct SpanExport: Sendable {
    let recorder: SpanRecorder
    private let url: OutboundURL
    private let client: HTTPClient
    private let document: SpanDocument

    /// Throws `ConfigurationError` if the file with the collector's authorities cannot be read.
    init(_ configuration: Configuration.Tracing, _ recorder: SpanRecorder, on loop: EventLoop) throws {
        self.recorder = recorder
        self.url = configuration.url
        self.document = SpanDocument(
            service: configuration.service,
            version: Version.current,
            instance: UUID().uuidString.lowercased()
        )
        let settings = HTTPClientSettings(
            connectTimeout: .seconds(5),
            caFile: configuration.caFile,
            // Spans have nothing secret, and collectors are mostly on the same machine.
            allowsPlainHTTP: !configuration.url.isSecure,
            addresses: .any
        )
        do throws(OutboundError) {
            self.client = try HTTPClient(settings, on: loop)
        } catch {
            throw ConfigurationError("tracing.caFile: \(error)")
        }
    }

    var sample: MetricSample { MetricSample(.spansDropped, [:], Double(self.recorder.dropped)) }

    /// Call it after the service has ended.
    func close() async {
        await self.client.close()
    }

    func makeService(logger: Logger) -> SpanExportService {
        SpanExportService(recorder: self.recorder, logger: logger, send: self.send)
    }

    private func send(_ spans: [Span]) async -> SpanExportService.Answer {
        let request = OutboundRequest(
            .post,
            self.url,
            headers: [.init("content-type", "application/json")],
            body: self.document.body(of: spans),
            timeout: .seconds(Task.isShuttingDownGracefully ? 2 : 10)
        )
        do throws(OutboundError) {
            switch try await self.client.send(request).status {
            case 200...299: return .accepted
            // OTLP's specification lists the answers after which a client may send the same again.
            case let status where [429, 502, 503, 504].contains(status): return .unavailable("status \(status)")
            case let status: return .refused("status \(status)")
            }
        } catch {
            return .unavailable("\(error)")
        }
    }
}

/// Exports the queued spans every five seconds, and sooner if there are many; at shutdown it
/// exports the last ones.
///
/// While the collector does not answer, it keeps one batch and the recorder's queue; further spans
/// are dropped and counted.
struct SpanExportService: Service {
    enum Answer: Sendable {
        case accepted
        /// The collector may accept the same spans later.
        case unavailable(String)
        /// The collector will never accept these spans.
        case refused(String)
    }

    private static let interval = Duration.seconds(5)
    private static let longestDelay = Duration.seconds(60)
    /// At shutdown no export begins later: a slow collector must not keep the next server waiting.
    private static let lastExports = Duration.seconds(2)

    let recorder: SpanRecorder
    let logger: Logger
    let send: @Sendable ([Span]) async -> Answer

    func run() async throws {
        await self.recorder.signal.signallingAtShutdown {
            var failures = 0
            var batch: [Span] = []
            while true {
                let isLast = Task.isShuttingDownGracefully || Task.isCancelled
                let end = ContinuousClock.now + Self.lastExports
                repeat {
                    if batch.isEmpty { batch = self.recorder.take() }
                    if batch.isEmpty { break }
                    self.note(await self.send(batch), of: &batch, &failures)
                } while failures == 0 && (!isLast || ContinuousClock.now < end)
                if isLast { return self.recorder.countDropped(batch.count) }
                let wait = min(Self.interval * (1 << min(failures, 4)), Self.longestDelay)
                await self.recorder.signal.wait(atMost: wait)
            }
        }
    }

    /// Empties the batch, unless it is sent again.
    private func note(_ answer: Answer, of batch: inout [Span], _ failures: inout Int) {
        switch answer {
        case .accepted:
            if failures > 0 { self.logger.info("spans exported again") }
            failures = 0
            batch = []
        case .unavailable(let reason):
            if failures == 0 {
                self.logger.warning("spans not exported; they are kept for a retry", metadata: ["reason": "\(reason)"])
            }
            failures += 1
        case .refused(let reason):
            if failures == 0 {
                self.logger.warning(
                    "spans refused and dropped; see tracing.endpoint",
                    metadata: ["reason": "\(reason)"]
                )
            }
            failures += 1
            self.recorder.countDropped(batch.count)
            batch = []
        }
    }
}
