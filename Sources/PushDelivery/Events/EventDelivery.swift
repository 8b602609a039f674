package import Foundation
package import Logging
package import PushCore
package import PushStore
internal import ServiceLifecycle

/// Sends the events in the store to the operator's receiver, in their order, and each event at
/// least once.
///
/// The next message is sent only after the receiver has acknowledged the one before. The number of
/// the last acknowledged event is stored after the receiver's answer. So if the process ends
/// between the answer and the write, the next process sends the message once more, and no message
/// is omitted.
package struct EventDelivery: Sendable {
    /// The largest number of events in one message, which then has some 130 KB.
    static let batch = 500
    /// The pause after a message that was not full, so that events are gathered for the next
    /// message.
    private static let gathering = Duration.seconds(1)
    /// The pause before a retry after a failure of the store.
    private static let delayAfterFailure = Duration.seconds(1)

    private let store: any EventStore
    private let reader: any EventReader
    private let sender: any EventSender
    private let encode: @Sendable ([PushEvent], Date) -> [UInt8]
    private let status: EventStatus
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// No other code may use `reader`. `encode` writes the body of a message with
    /// events.
    package init(
        store: any EventStore,
        reader: any EventReader,
        sender: any EventSender,
        encode: @escaping @Sendable ([PushEvent], Date) -> [UInt8],
        status: EventStatus,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.reader = reader
        self.sender = sender
        self.encode = encode
        self.status = status
        self.logger = logger
        self.now = now
    }

    /// Sends events until shutdown, and then waits for the message that is being sent.
    package func run() async throws {
        var progress = Progress()
        await self.status.signal.signallingAtShutdown {
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                guard let delay = await self.step(&progress) else { continue }
                await self.status.signal.wait(atMost: delay)
            }
        }
    }

    // MARK: - Private

    private struct Progress {
        /// The number of the last event that is known to be acknowledged.
        var delivered: Int64 = 0
        /// The message that is sent until the receiver acknowledges it.
        var message: Message?
    }

    private struct Message {
        let batch: EventBatch
        let count: Int
        let last: Int64
        let isFull: Bool
    }

    /// Sends the next message, if events wait and the receiver may be called. Returns how long the
    /// loop must wait before the next step.
    private func step(_ progress: inout Progress) async -> Duration? {
        let now = self.now()
        if let until = self.status.pausedUntil(now: now) {
            return min(.seconds(until.timeIntervalSince(now)), .seconds(EventReceiverHealth.longestPause))
        }
        do {
            if progress.message == nil { progress.message = try await self.nextMessage(&progress) }
        } catch {
            self.logger.report("read of events failed; it is retried", error)
            return Self.delayAfterFailure
        }
        guard let message = progress.message else { return Self.gathering }
        do throws(SendFailure) {
            try await self.sender.send(message.batch)
        } catch {
            self.record(error)
            return nil
        }
        progress.message = nil
        progress.delivered = message.last
        self.log(self.status.recordDelivered(message.count, now: self.now()))
        do {
            try await self.store.recordDelivered(eventsUpTo: message.last)
        } catch {
            // The failed write does no harm: after the next message, a higher number is stored,
            // which covers these events, too.
            self.logger.report("number of the last delivered event not saved; the next message saves it", error)
        }
        // A random part keeps servers that share the store from sending at the same moments.
        return message.isFull ? nil : Self.gathering * Double.random(in: 0.5...1)
    }

    private func nextMessage(_ progress: inout Progress) async throws -> Message? {
        // The store has a higher number if another server has delivered events meanwhile, and a
        // lower one if this server's number could not be saved.
        progress.delivered = max(progress.delivered, try await self.reader.lastDeliveredEvent())
        let page = try await self.reader.events(after: progress.delivered, ofSender: nil, limit: Self.batch)
        guard let first = page.events.first, let last = page.events.last else { return nil }
        // A message with other events has another id. So a receiver that already knows the id of a
        // message already has all its events.
        let id = "events-\(first.number)-\(last.number)"
        return Message(
            batch: EventBatch(id: id, body: self.encode(page.events, self.now())),
            count: page.events.count,
            last: last.number,
            isFull: page.hasMore
        )
    }

    private func record(_ failure: SendFailure) {
        self.log(self.status.record(failure, now: self.now(), jitter: .random(in: 0...1)))
    }

    private func log(_ event: HealthEvent?) {
        if let event { self.logger.log(receiver: event) }
    }
}
