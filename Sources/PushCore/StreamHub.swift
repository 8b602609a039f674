internal import Synchronization

/// The open event streams, by the devices to which they carry pushes. Any thread may use this
/// object.
package final class StreamHub: Sendable {
    /// How a push to a device ended.
    package enum Delivery: Sendable, Hashable {
        /// The socket of the device's newest stream has accepted the push.
        case handedOver
        /// The device has no open stream, or all its streams have ended before a socket accepted
        /// the push.
        case nobodyThere
        /// The mailbox of the device's newest stream is full, or too many pushes wait for the
        /// sockets of the device's user.
        case full
    }

    private struct Streams {
        /// The mailboxes of each device, the newest stream's last.
        var byDevice: [DeviceHandle: [StreamMailbox]] = [:]
        var byUser: [Int64: [StreamMailbox]] = [:]
        /// The number of pushes that wait for the sockets of each user.
        var waiting: [Int64: Int] = [:]
        var waitingInTotal = 0
        /// The time of the next retry for each user with full streams.
        var turns: [Int64: ContinuousClock.Instant] = [:]
        var onSilence: (@Sendable ([DeviceHandle]) -> Void)?

        /// Counts one more waiting push of the user; `false` if too many wait already.
        mutating func beginWait(of user: Int64) -> Bool {
            let limit = max(10, (StreamHub.maximumWaiting - self.waitingInTotal) / 9)
            guard self.waiting[user, default: 0] < limit else { return false }
            self.waiting[user, default: 0] += 1
            self.waitingInTotal += 1
            return true
        }

        mutating func endWait(of user: Int64) {
            let left = self.waiting[user, default: 1] - 1
            self.waiting[user] = left > 0 ? left : nil
            self.waitingInTotal -= 1
        }

        mutating func takeTurn(of user: Int64, now: ContinuousClock.Instant) -> ContinuousClock.Instant {
            if self.turns.count >= StreamHub.maximumTurns { self.turns = self.turns.filter { $0.value > now } }
            let earliest = now + StreamHub.retryDelays.lowerBound
            let turn = min(max(self.turns[user] ?? earliest, earliest), now + StreamHub.retryDelays.upperBound)
            self.turns[user] = turn + StreamHub.retryInterval
            return turn
        }
    }

    /// The largest number of open streams of a user: enough for a handful of machines with some
    /// windows each.
    package static let maximumPerUser = 20
    /// The number of concurrent calls of a lane (queue of pushes) to event streams. A user gets a
    /// ninth of the calls that remain, so a single user gets 100. Thus even ten users who do not
    /// read leave a third of the calls to others.
    private static let maximumWaiting = 1000
    /// The delays before a retry of a push that the streams did not take, and the time between two
    /// retries for one user. Otherwise thousands of pushes to a user who does not read would be
    /// retried at once, before the pushes to other users.
    private static let retryDelays = Duration.seconds(1)...Duration.seconds(60)
    private static let retryInterval = Duration.milliseconds(4)
    /// The number of users with turns above which past turns are removed.
    private static let maximumTurns = 1000

    private let streams = Mutex(Streams())

    package init() {}

    /// Opens a mailbox for the devices. The mailbox stays open until the subscription is released.
    /// Returns `nil` if the user already has `maximumPerUser` open streams.
    package func open(_ devices: [DeviceHandle], ofUser user: Int64) -> StreamSubscription? {
        let mailbox = StreamMailbox(ofUser: user)
        let isOpen = self.streams.withLock { streams in
            guard streams.byUser[user, default: []].count < Self.maximumPerUser else { return false }
            streams.byUser[user, default: []].append(mailbox)
            for device in devices { streams.byDevice[device, default: []].append(mailbox) }
            return true
        }
        return isOpen ? StreamSubscription(self, mailbox, devices: devices, user: user) : nil
    }

    /// Sets the closure that is called with the devices whose last stream was just closed. Any
    /// thread may call the closure, and a device may already have a new stream by then.
    package func watch(_ body: @escaping @Sendable ([DeviceHandle]) -> Void) {
        self.streams.withLock { $0.onSilence = body }
    }

    /// The devices for which a stream is open.
    package var devices: [DeviceHandle] { self.streams.withLock { Array($0.byDevice.keys) } }

    /// Whether a stream is open for the device.
    package func isListening(_ device: DeviceHandle) -> Bool {
        self.streams.withLock { $0.byDevice[device] != nil }
    }

    /// Puts a push into all streams of a device, and returns when the socket of the newest stream
    /// has accepted it. If that stream ends before, the next newest one gets the push again.
    ///
    /// The older streams do not count: a client whose network has changed leaves a dead stream,
    /// whose socket may accept many pushes that the client never gets.
    ///
    /// If `isLook` is `true`, the push only makes the client fetch changes. Such a push has no
    /// event id, so that a client that reconnects resumes after the last event with the id of a
    /// notification.
    package func deliver(_ id: NotificationID, isLook: Bool = false, to device: DeviceHandle) async -> Delivery {
        let (user, mayWait) = self.streams.withLock { streams in
            guard let user = streams.byDevice[device]?.first?.user else { return (Int64?.none, false) }
            return (user, streams.beginWait(of: user))
        }
        guard let user else { return .nobodyThere }
        guard mayWait else { return .full }
        defer { self.streams.withLock { $0.endWait(of: user) } }
        while true {
            let mailboxes = self.streams.withLock { $0.byDevice[device] ?? [] }
            guard let newest = mailboxes.last else { return .nobodyThere }
            let event = PendingEvent(id, isLook: isLook)
            // A mailbox that has just been closed refuses the event, too. Whether the mailbox was
            // full or closed becomes clear when the push is retried.
            guard newest.put(event) else { return .full }
            for mailbox in mailboxes.dropLast() { mailbox.put(PendingEvent(id, isLook: isLook)) }
            if await event.isHandedOver { return .handedOver }
        }
    }

    /// The delay before the retry of a push to a device with full streams.
    package func retryDelay(of device: DeviceHandle, now: ContinuousClock.Instant = .now) -> Duration {
        self.streams.withLock { streams in
            guard let user = streams.byDevice[device]?.first?.user else { return Self.retryDelays.lowerBound }
            return now.duration(to: streams.takeTurn(of: user, now: now))
        }
    }

    /// Makes the streams of a user, or of all users if `user` is `nil`, check their credentials
    /// before they send further events.
    package func revalidate(user: Int64?) {
        let mailboxes = self.streams.withLock { streams in
            if let user { return streams.byUser[user] ?? [] }
            return streams.byUser.values.flatMap(\.self)
        }
        for mailbox in mailboxes { mailbox.revalidate() }
    }

    fileprivate func close(_ mailbox: StreamMailbox, of devices: [DeviceHandle], user: Int64) {
        let (silent, onSilence) = self.streams.withLock { streams in
            streams.byUser[user]?.removeAll { $0 === mailbox }
            if streams.byUser[user]?.isEmpty == true { streams.byUser[user] = nil }
            var silent: [DeviceHandle] = []
            for device in devices {
                streams.byDevice[device]?.removeAll { $0 === mailbox }
                guard streams.byDevice[device]?.isEmpty == true else { continue }
                streams.byDevice[device] = nil
                silent.append(device)
            }
            return (silent, streams.onSilence)
        }
        mailbox.close()
        if !silent.isEmpty { onSilence?(silent) }
    }
}

/// Keeps a mailbox open, and closes the mailbox when this object is released.
package final class StreamSubscription: Sendable {
    package let mailbox: StreamMailbox
    private let hub: StreamHub
    private let devices: [DeviceHandle]
    private let user: Int64

    fileprivate init(_ hub: StreamHub, _ mailbox: StreamMailbox, devices: [DeviceHandle], user: Int64) {
        self.hub = hub
        self.mailbox = mailbox
        self.devices = devices
        self.user = user
    }

    deinit {
        self.hub.close(self.mailbox, of: self.devices, user: self.user)
    }
}
