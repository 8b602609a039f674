/// Decides which clients may have a connection, by a limit for all connections and a limit for
/// each address. This type only counts and decides; its caller sends answers and closes sockets.
///
/// ```swift
/// switch admission.enter(from: origin, hearsRefusals: true) {
/// case .welcome: …; admission.leave(from: origin)
/// case .refused(let refusal): …; admission.leaveRefused()
/// case .dropped: close(socket)
/// }
/// ```
struct Admission {
    enum Verdict: Hashable {
        /// The client may have a connection; the caller must call `leave` when it ends. If
        /// `evicts` is `true`, the caller also closes the connection that has been idle longest,
        /// to make room.
        case welcome(evicts: Bool)
        /// The server answers the client with the reason. The caller must call `leaveRefused` when
        /// the connection ends.
        case refused(Refusal)
        /// The caller closes the connection without an answer.
        case dropped
    }

    /// The maximum number of refused clients that are being answered at the same time. They do not
    /// count as connections in use.
    static let refusedAtOnce = 64

    /// A caller may replace the limits at any time; open connections stay open.
    var limits: ServerLimits
    private(set) var inUse = 0
    private(set) var refused = 0
    private var byOrigin: [PeerAddress: Int] = [:]

    init(limits: ServerLimits) {
        self.limits = limits
    }

    /// Counts a connection unless it is dropped. `origin` is `nil` if only the limit for all
    /// connections applies. `hearsRefusals` is `false` if an answer would cost a TLS handshake:
    /// the client is then dropped instead of refused.
    mutating func enter(from origin: PeerAddress?, hearsRefusals: Bool) -> Verdict {
        let fromOrigin = origin.map { self.byOrigin[$0, default: 0] } ?? 0
        if self.inUse >= self.limits.maxConnections { return self.refuse(.overloaded, hearsRefusals) }
        if fromOrigin >= self.limits.maxConnectionsPerAddress, origin != nil {
            return self.refuse(.tooManyConnections, hearsRefusals)
        }
        self.inUse += 1
        if let origin { self.byOrigin[origin] = fromOrigin + 1 }
        // Evictions begin before the limit is reached. The last tenth of the connections stays
        // free, so that idle connections do not block new ones.
        return .welcome(evicts: self.inUse > self.limits.maxConnections - self.limits.maxConnections / 10)
    }

    mutating func leave(from origin: PeerAddress?) {
        self.inUse -= 1
        guard let origin, let count = self.byOrigin[origin] else { return }
        self.byOrigin[origin] = count > 1 ? count - 1 : nil
    }

    mutating func leaveRefused() {
        self.refused -= 1
    }

    private mutating func refuse(_ refusal: Refusal, _ hearsRefusals: Bool) -> Verdict {
        guard hearsRefusals, self.refused < Self.refusedAtOnce else { return .dropped }
        self.refused += 1
        return .refused(refusal)
    }
}
