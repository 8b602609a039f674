package import Foundation
package import Logging
package import PushCore
package import PushStore
internal import ServiceLifecycle

/// Sends looks: silent pushes that make devices fetch changes. They are needed when another
/// device, a publisher or the passing of time has changed what a device shows.
///
/// The service enqueues looks for the entries of a `LookBook`, many in one transaction. A crash or
/// a failure of the store loses the entries that are not written yet. The app gets these changes
/// at its next fetch anyway. The looks for recalls are not lost: the store records which of them
/// are missing, and this service also enqueues those that another process has left.
package struct LookService: Sendable {
    /// How long entries are gathered.
    private static let gathering = Duration.milliseconds(200)
    /// The longest wait for a signal. Then the service searches for recalls of servers that have
    /// crashed.
    private static let longestWait = Duration.seconds(60)
    /// The maximum number of attempts to enqueue the pushes for the gathered entries, and the
    /// pause between two attempts.
    private static let attempts = 3
    private static let pause = Duration.seconds(1)
    /// The maximum number of users in one transaction: small enough that a waiting post is not
    /// noticeably delayed.
    private static let batch = 100
    /// The number of transactions for recalls after which the service first writes the entries
    /// that were recorded meanwhile: a recall from a million users must not delay other users'
    /// looks.
    private static let recallPages = 50

    private let store: any OutboxStore
    private let book: LookBook
    private let makeID: @Sendable () -> NotificationID?
    private let workIsWaiting: @Sendable () -> Void
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// `makeID` draws the ids of looks (silent pushes), which have the form of notification ids.
    package init(
        store: any OutboxStore,
        book: LookBook,
        makeID: @escaping @Sendable () -> NotificationID?,
        workIsWaiting: @escaping @Sendable () -> Void,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.book = book
        self.makeID = makeID
        self.workIsWaiting = workIsWaiting
        self.logger = logger
        self.now = now
    }

    /// Enqueues looks (silent pushes) until shutdown, and then those for the last entries.
    package func run() async throws {
        // The last process may have left recalls without all their looks.
        self.book.signal.set()
        await self.book.signal.signallingAtShutdown {
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                await self.book.signal.wait(atMost: Self.longestWait)
                // Cancellation ends the sleep early.
                try? await Task.sleep(for: Self.gathering)
                await self.write()
            }
        }
    }

    /// Enqueues looks (silent pushes) for recalls and for the gathered entries, and tries again
    /// after a failure. A retry makes no second look for a device whose look is already in the
    /// outbox.
    package func write() async {
        let (orders, syncs) = self.book.take()
        for attempt in 1...Self.attempts {
            do {
                return try await self.write(orders, syncs)
            } catch {
                let attempts = "\(attempt) of \(Self.attempts)"
                self.logger.report("devices not told to sync", error, ["attempt": .string(attempts)])
                // Cancellation ends the sleep early.
                if attempt < Self.attempts { try? await Task.sleep(for: Self.pause) }
            }
        }
    }

    // MARK: - Private

    private func write(_ orders: [LookOrder], _ syncs: [LookSync]) async throws {
        try await self.enqueue(orders)
        for syncs in Self.batches(of: syncs) {
            try await self.store.cancelLooks(of: syncs, now: self.now())
        }
        var looks = 0
        defer { if looks > 0 { self.workIsWaiting() } }
        // The entries come first: a recall that fails again and again must not stop them.
        for _ in 0..<Self.recallPages {
            guard
                let count = try await self.store.enqueueRecallLooks(
                    page: Self.batch,
                    makeID: self.makeID,
                    now: self.now()
                )
            else { return }
            looks += count
            // If the lanes were woken for each of several recalls, they might send the look for
            // the first one at once, and a device would get another look for the rest.
            if looks >= Self.batch {
                self.workIsWaiting()
                looks = 0
            }
            // The next start continues.
            if Task.isShuttingDownGracefully || Task.isCancelled { return }
        }
        self.book.signal.set()
    }

    private func enqueue(_ orders: [LookOrder]) async throws {
        for part in Self.batches(of: orders) {
            if try await self.store.enqueueLooks(part, makeID: self.makeID, now: self.now()) { self.workIsWaiting() }
        }
    }

    private static func batches<Entry>(of all: [Entry]) -> [[Entry]] {
        stride(from: 0, to: all.count, by: Self.batch).map { Array(all[$0...].prefix(Self.batch)) }
    }
}
