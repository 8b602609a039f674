internal import CEpoll

/// The operations for which a descriptor is ready.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package static let read = Readiness(rawValue: 1)
    package static let write = Readiness(rawValue: 2)
    /// The peer closed, or the descriptor failed; a read or write then shows which of the two,
    /// without blocking.
    package static let hangUp = Readiness(rawValue: 4)

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(mask: UInt32) {
        var readiness: Readiness = []
        if mask & EPOLLIN.rawValue != 0 { readiness.insert(.read) }
        if mask & EPOLLOUT.rawValue != 0 { readiness.insert(.write) }
        if mask & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { readiness.insert(.hangUp) }
        self = readiness
    }

    func mask(_ trigger: Trigger) -> UInt32 {
        var mask: UInt32 = 0
        if self.contains(.read) { mask |= EPOLLIN.rawValue }
        if self.contains(.write) { mask |= EPOLLOUT.rawValue }
        if self.contains(.hangUp) { mask |= EPOLLRDHUP.rawValue }
        if trigger == .edge { mask |= EPOLLET.rawValue }
        return mask
    }
}

/// When a watch reports: at each change, or as long as the state lasts.
package enum Trigger: Sendable {
    case edge
    case level
}

/// Receives the readiness of a descriptor, on the loop's thread.
package protocol ReadinessHandler: AnyObject {
    func handle(_ readiness: Readiness)
}
