internal import Foundation
internal import Logging
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// The answer to one `GET /api/stream`: a stream of server-sent events (WHATWG HTML §9.2).
///
/// The stream ends when the client leaves or the server stops. It also ends if the credentials are
/// no longer valid or if the user's devices have changed since the start of the stream. It checks
/// the credentials and the devices at each heartbeat. If servers share the database, it also
/// checks the credentials at once when a server has ended credentials of the user; otherwise
/// before each event. After the end of a stream, the client connects again. If the server refuses
/// the new stream, the answer says why.
struct EventStream: Sendable {
    let handler: StreamHandler
    let caller: Caller
    let credentials: Credentials
    /// The reader of the connection's loop.
    let reader: any StoreReader
    /// The device that the request names; `nil` for all devices of the user.
    let device: String?
    let devices: [RegistrationID]
    /// The last event that the client has received on its previous stream.
    let last: NotificationID?
    let subscription: StreamSubscription

    /// The delay before a client connects again, in milliseconds.
    private static let greeting = Array("retry: 2000\n\n".utf8)
    private static let heartbeat = Array(":\n\n".utf8)
    /// The delay before a further search for pushes to this stream. The delivery may have begun to
    /// send a push just before the stream opened, and may have set this push aside just after. A
    /// page of pushes also becomes due within this time.
    private static let searchDelay = Duration.seconds(1)
    /// The state of the search for pushes that wait for this stream.
    private enum Search {
        /// The store does not know of the stream yet, and lost events may have to be sent again.
        case first
        /// The last search has found a page of pushes, so further pushes may wait.
        case paging
        /// The last search has found all pushes.
        case ended
    }

    /// The number of sent events that a stream remembers. Several devices of the user may share
    /// the stream, each with a push of the same event; the stream sends a remembered event only
    /// once.
    private static let memory = 100

    /// Writes events until the stream ends.
    func run(_ writer: BodyWriter) async throws {
        self.subscription.mailbox.attach { writer.ring() }
        try await writer.write(Self.greeting)
        var search = Search.first
        var next = await self.makeDue(&search)
        var sent: [NotificationID] = []
        var beat = ContinuousClock.now + self.handler.settings.streamHeartbeat
        while true {
            // While lost events may have to be sent again, new events wait. A client that leaves
            // after a new event would name it as its last one, and get no earlier one again.
            if search != .first || self.last == nil {
                let (events, needsRevalidation) = self.subscription.mailbox.take()
                guard try await self.mayDeliver(events, needsRevalidation) else { return }
                try await self.send(events, after: &sent, to: writer)
            }
            switch try await writer.wait(until: min(beat, next ?? beat)) {
            case .rung: continue
            case .serverStops: return
            case .timedOut where next.map { $0 < beat } == true:
                next = await self.makeDue(&search)
            case .timedOut:
                guard try await self.isStillAllowed() else { return }
                try await writer.write(Self.heartbeat)
                next = await self.makeDue(&search)
                beat = .now + self.handler.settings.streamHeartbeat
            }
        }
    }

    // MARK: - Private

    private func send(
        _ events: [PendingEvent],
        after sent: inout [NotificationID],
        to writer: BodyWriter
    ) async throws {
        var text: [UInt8] = []
        for event in events where !sent.contains(event.id) {
            // A look is an event that only makes the client fetch changes. Its first line is a
            // comment in place of the id, so that `Last-Event-ID` stays the id of a notification.
            let name = event.isLook ? ":  " : "id:"
            text.append(contentsOf: "\(name) \(event.id)\ndata: {\"secureId\":\"\(event.id)\"}\n\n".utf8)
            sent.append(event.id)
        }
        do {
            try await writer.write(text)
        } catch {
            for event in events { event.fail() }
            throw error
        }
        for event in events { event.succeed() }
        sent.removeFirst(max(0, sent.count - Self.memory))
    }

    /// Whether events may be sent. If the caller's credentials may have ended, checks them first;
    /// if they have ended, settles the events as failed.
    private func mayDeliver(_ events: [PendingEvent], _ needsRevalidation: Bool) async throws -> Bool {
        let learnsOfEnds = self.handler.authenticator.isReceivingEnds
        guard needsRevalidation || !learnsOfEnds && !events.isEmpty else { return true }
        var isAllowed = false
        defer { if !isAllowed { for event in events { event.fail() } } }
        isAllowed = try await self.areCredentialsGood()
        return isAllowed
    }

    private func areCredentialsGood() async throws -> Bool {
        try await self.handler.authenticator.isStillGood(
            self.caller,
            by: self.credentials,
            reader: self.reader,
            now: self.handler.now()
        )
    }

    private func isStillAllowed() async throws -> Bool {
        guard try await self.areCredentialsGood() else { return false }
        let devices = try await self.handler.streamDevices(self.device, of: self.caller.user, self.reader)
        return devices.map(\.id) == self.devices
    }

    /// Makes a page of pushes due that wait for a stream. Returns the time of the next call; `nil`
    /// means that the next heartbeat calls again.
    ///
    /// The first call also tells the store that the stream is open, and makes pushes due that the
    /// previous stream may have lost. If another stream of the user has the turn, does nothing:
    /// the caller waits for the turn at the connection, and so notices a client that leaves.
    private func makeDue(_ search: inout Search) async -> ContinuousClock.Instant? {
        let (store, user) = (self.handler.store, self.caller.user.id)
        if let turn = self.handler.turns.take(ofUser: user, now: .now) { return turn }
        let (start, now) = (ContinuousClock.now, self.handler.now())
        var count = 0
        defer { self.handler.turns.end(ofUser: user, count: count, start: start, now: .now) }
        do {
            let isFirst = search == .first
            if isFirst {
                count = try await store.streamOpened(for: self.devices, ofUser: user, after: self.last, now: now)
            } else if try await search == .paging ? true : self.reader.isAnythingWaiting(for: self.devices, now: now) {
                count = try await store.makeDue(for: self.devices, ofUser: user, after: nil, now: now)
            }
            if count > 0 { self.handler.workIsWaiting() }
            search = count == WakePace.page ? .paging : .ended
            return isFirst || search == .paging ? .now + Self.searchDelay : nil
        } catch {
            self.handler.logger.warning(
                "event stream catch-up failed; the stream retries",
                metadata: ["error": "\(error)"]
            )
            return search == .first ? .now + Self.searchDelay : nil
        }
    }
}
