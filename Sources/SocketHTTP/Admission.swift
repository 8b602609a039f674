/// Decides which clients may have a connection, by a total limit and one for each address. It only
/// counts and decides; its caller acts.
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
        /// The caller must call `leave` when the connection ends. If `evicts` is `true`, the
        /// caller closes the connection that has been idle longest, to make room.
        case welcome(evicts: Bool)
        /// The server sends the client the reason; the caller must call `leaveRefused` when the
        /// connection ends.
        case refused(Refusal)
        /// The caller closes the connection without an answer.
        case dropped
    }

    /// The largest number of clients that receive a refusal at a time, in addition to the
    /// connections in use.
    static let refusedAtOnce = 64

    /// The limits may be replaced at any time; open connections stay.
    var limits: ServerLimits
    private(set) var inUse = 0
    private(set) var refused = 0
    private var byOrigin: [PeerAddress: Int] = [:]

    init(limits: ServerLimits) {
        self.limits = limits
    }

    /// Counts a connection unless it is dropped. `origin` is `nil` if only the total limit
    /// applies. If `hearsRefusals` is `false`, because a refusal would cost a TLS handshake, the
    /// client is dropped instead of refused.
    mutating func enter(from origin: PeerAddress?, hearsRefusals: Bool) -> Verdict {
        let fromOrigin = origin.map { self.byOrigin[$0, default: 0] } ?? 0
        if self.inUse >= self.limits.maxConnections { return self.refuse(.overloaded, hearsRefusals) }
        if fromOrigin >= self.limits.maxConnectionsPerAddress, origin != nil {
            return self.refuse(.tooManyConnections, hearsRefusals)
        }
        self.inUse += 1
        if let origin { self.byOrigin[origin] = fromOrigin + 1 }
        // The last tenth stays free, so that idle connections do not block new ones.
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
