/// Decides which clients may have a connection, by a total limit and one for each address. Pure: it counts, and its
/// caller acts.
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
        /// `leave` must be called when the connection ends. If it `evicts`, the connection that has been idle longest
        /// is closed for it.
        case welcome(evicts: Bool)
        /// The client is told why; `leaveRefused` must be called when the connection ends.
        case refused(Refusal)
        /// The connection is closed without an answer.
        case dropped
    }

    /// The most clients that are being told of a refusal at a time. They are counted apart from connections in use.
    static let refusedAtOnce = 64

    /// May be exchanged at any time; clients that have a connection keep it.
    var limits: ServerLimits
    private(set) var inUse = 0
    private(set) var refused = 0
    private var byOrigin: [PeerAddress: Int] = [:]

    init(limits: ServerLimits) {
        self.limits = limits
    }

    /// Counts a connection unless it is dropped. `origin` is `nil` if only the total limit applies. A client that does
    /// not hear refusals, because they would cost a TLS handshake, is dropped.
    mutating func enter(from origin: PeerAddress?, hearsRefusals: Bool) -> Verdict {
        let fromOrigin = origin.map { self.byOrigin[$0, default: 0] } ?? 0
        if self.inUse >= self.limits.maxConnections { return self.refuse(.overloaded, hearsRefusals) }
        if fromOrigin >= self.limits.maxConnectionsPerAddress, origin != nil {
            return self.refuse(.tooManyConnections, hearsRefusals)
        }
        self.inUse += 1
        if let origin { self.byOrigin[origin] = fromOrigin + 1 }
        // A tenth is kept free, so that idle connections do not keep new ones out.
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
