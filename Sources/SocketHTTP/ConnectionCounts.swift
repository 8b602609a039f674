internal import Synchronization

/// How many connections there are, in all and from each address, and who may have one more. From any thread.
final class ConnectionCounts: Sendable {
    enum Admission {
        case welcome
        /// To be told so.
        case refused(Refusal)
        /// To be closed without a word.
        case dropped
    }

    private struct Counts {
        var all = 0
        var byOrigin: [PeerAddress: Int] = [:]
    }

    /// Above the limit, so many more at a time are told so; the rest is just closed.
    private static let refusedAtOnce = 1024

    private let limits: ServerLimits
    private let counts = Mutex(Counts())

    init(limits: ServerLimits) {
        self.limits = limits
    }

    /// Counts a connection unless it is dropped; `leave` must follow its end. `origin` is `nil` if only the sum counts.
    func enter(from origin: PeerAddress?) -> Admission {
        self.counts.withLock { counts in
            guard counts.all < self.limits.maxConnections + Self.refusedAtOnce else { return .dropped }
            counts.all += 1
            if let origin { counts.byOrigin[origin, default: 0] += 1 }
            if counts.all > self.limits.maxConnections { return .refused(.overloaded) }
            if let origin, counts.byOrigin[origin, default: 0] > self.limits.maxConnectionsPerAddress {
                return .refused(.tooManyConnections)
            }
            return .welcome
        }
    }

    func leave(from origin: PeerAddress?) {
        self.counts.withLock { counts in
            counts.all -= 1
            guard let origin, let count = counts.byOrigin[origin] else { return }
            counts.byOrigin[origin] = count > 1 ? count - 1 : nil
        }
    }
}
