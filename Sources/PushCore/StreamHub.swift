internal import Synchronization

/// The event streams that are open, by the devices that they speak for. From any thread.
package final class StreamHub: Sendable {
    /// How a push to a device ended.
    package enum Delivery: Sendable, Hashable {
        /// The socket of one of its streams has taken it.
        case handedOver
        /// No stream is open, or those that were have ended before that.
        case nobodyThere
        /// The streams that are open have too much to take already.
        case full
    }

    private struct Streams {
        var byDevice: [DeviceHandle: [StreamMailbox]] = [:]
        var countByUser: [Int64: Int] = [:]
    }

    /// How many streams a user may have open: a handful of machines with some windows each.
    package static let maximumPerUser = 20

    private let streams = Mutex(Streams())

    package init() {}

    /// Opens a mailbox for the devices, until it is let go of; `nil` if the user has as many as may be.
    package func open(_ devices: [DeviceHandle], ofUser user: Int64) -> StreamSubscription? {
        let mailbox = StreamMailbox()
        let isOpen = self.streams.withLock { streams in
            guard streams.countByUser[user, default: 0] < Self.maximumPerUser else { return false }
            streams.countByUser[user, default: 0] += 1
            for device in devices { streams.byDevice[device, default: []].append(mailbox) }
            return true
        }
        return isOpen ? StreamSubscription(self, mailbox, devices: devices, user: user) : nil
    }

    /// Whether a stream is open that speaks for the device.
    package func isListening(_ device: DeviceHandle) -> Bool {
        self.streams.withLock { $0.byDevice[device] != nil }
    }

    /// Brings a push to all the streams of a device, and returns when one of their sockets has taken it.
    package func deliver(_ id: NotificationID, to device: DeviceHandle) async -> Delivery {
        let mailboxes = self.streams.withLock { $0.byDevice[device] ?? [] }
        guard !mailboxes.isEmpty else { return .nobodyThere }
        let event = PendingEvent(id, copies: mailboxes.count)
        var isTaken = false
        for mailbox in mailboxes where mailbox.put(event) { isTaken = true }
        // One that has just been closed is full, too: trying again soon tells which it was.
        guard isTaken else { return .full }
        return await event.isHandedOver ? .handedOver : .nobodyThere
    }

    fileprivate func close(_ mailbox: StreamMailbox, of devices: [DeviceHandle], user: Int64) {
        self.streams.withLock { streams in
            streams.countByUser[user] = streams.countByUser[user].flatMap { $0 > 1 ? $0 - 1 : nil }
            for device in devices {
                streams.byDevice[device]?.removeAll { $0 === mailbox }
                if streams.byDevice[device]?.isEmpty == true { streams.byDevice[device] = nil }
            }
        }
        mailbox.close()
    }
}

/// Keeps a mailbox open: it is closed when this goes, at the latest.
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
