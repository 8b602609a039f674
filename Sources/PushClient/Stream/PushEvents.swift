internal import Foundation
internal import PushAPI

/// Pushes over the server's event stream, as `PushClient.events(platform:silence:)` returns them.
public struct PushEvents: AsyncSequence, Sendable {
    let client: PushClient
    let platform: String
    let silence: Duration

    /// The first call of `next()` connects.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// An iterator with at most one open stream, which it closes when it is released.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let events: PushEvents
        private var connection: EventConnection?
        private var last: String?
        /// The number of failures since the server last sent anything.
        private var failures = 0
        private var pause: Duration?
        private var retry: Duration

        init(_ events: PushEvents) {
            self.events = events
            self.retry = events.client.options.streamRetry
        }

        /// Returns the next event, never `nil`. Throws ``PushClientError/signedOut`` if nobody is
        /// signed in, `CancellationError`, and permanent refusals by the server.
        public mutating func next() async throws -> PushEvent? {
            do {
                while true { if let event = try await self.step() { return event } }
            } catch {
                self.connection = nil
                throw error
            }
        }
    }
}

extension PushEvents.Iterator {
    /// The longest delay between two attempts, if the server does not ask for a longer delay.
    private static let longestPause = Duration.seconds(60)

    private var client: PushClient { self.events.client }

    /// Waits for the next signal of the stream. Returns `nil` if the signal is no event for the
    /// app.
    private mutating func step() async throws -> PushEvent? {
        try self.client.checkSignedIn()
        let silence = self.events.silence
        do {
            guard let channel = self.connection?.channel else { return try await self.connect() }
            let signal = try await self.untilSignOut { try await channel.next(within: silence) }
            guard let signal else { return self.disconnect(nil) }
            (self.failures, self.retry) = (0, channel.retry ?? self.retry)
            guard case .event(let event) = signal else { return nil }
            let fetched = try await self.fetch(event.id)
            self.last = event.last ?? self.last
            return .pushed(event.id, fetched)
        } catch PushClientError.busy(let problem, let time) {
            return self.disconnect(PushClientError.busy(problem, retryAfter: time), atLeast: time ?? .zero)
        } catch let error where error.isOfNetwork {
            return self.disconnect(error)
        }
    }

    private mutating func connect() async throws -> PushEvent {
        if let pause { try await self.untilSignOut { try await Task.sleep(for: pause) } }
        self.pause = nil
        let device = try await self.device()
        let (client, last) = (self.client, self.last)
        do {
            self.connection = try await self.untilSignOut {
                EventConnection(try await client.api.open(device, after: last))
            }
            return .connected
        } catch PushClientError.problem(let problem) where problem.status == 404 && self.isOwnDevice {
            // The server has ended the registration: the next attempt registers the device again.
            self.client.records.registration = nil
            return self.disconnect(PushClientError.problem(problem))
        }
    }

    /// Waits for `result`; throws `PushClientError.signedOut` as soon as this client is signed
    /// out.
    private func untilSignOut<Result: Sendable>(
        _ result: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let (inbox, interval) = (self.client.inbox, self.events.silence)
        return try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask(operation: result)
            group.addTask {
                while true {
                    let commit = try await inbox.read().commit
                    try await inbox.waitForChange(after: commit, atMost: interval)
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    private mutating func disconnect(_ error: (any Error)?, atLeast time: Duration = .zero) -> PushEvent {
        self.connection = nil
        let pause = min(self.retry * (1 << min(self.failures, 10)), Self.longestPause) * Double.random(in: 0.75...1.25)
        self.failures += 1
        self.pause = max(pause, min(time, .seconds(3600)))
        return .disconnected(error, retryIn: self.pause ?? pause)
    }

    /// Fetches the notification of a push. Returns `nil` if the notification is gone or cannot be
    /// fetched now.
    private func fetch(_ id: Int64) async throws -> Fetched<NotificationItem>? {
        do {
            return try await self.client.notification(id)
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            return nil
        } catch let error where error.isOfNetwork {
            return nil
        }
    }

    // MARK: - The device

    /// Returns the id of the existing registration, or of a new registration. Registers again if
    /// the server lacks the device's keys since an attempt that failed.
    private func device() async throws -> String {
        try await self.client.api.checkOwner()
        if let stored = self.client.records.registration, !stored.isUnfinished { return stored.id }
        return try await self.client.register(platform: self.events.platform, handle: "")
    }

    /// Whether this stream has registered the device. If the app has registered it, the app must
    /// learn that the registration has ended.
    private var isOwnDevice: Bool {
        let own = StoredRegistration.fingerprint(
            platform: self.events.platform,
            handle: "",
            tags: [],
            isSandbox: false,
            isShared: self.client.isDeviceShared
        )
        return self.client.records.registration?.isSame(as: own, session: nil) == true
    }
}

/// A stream that ends when its last reference is released, for example when the app leaves the
/// loop.
private final class EventConnection: Sendable {
    let channel: EventChannel

    init(_ channel: EventChannel) {
        self.channel = channel
    }

    deinit {
        self.channel.cancel()
    }
}
