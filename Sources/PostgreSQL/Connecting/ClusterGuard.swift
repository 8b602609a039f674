internal import Synchronization

/// Tracks which cluster a pool uses and the newest timeline of that cluster. Refuses servers with
/// older data.
///
/// The caller passes the cluster's identity; otherwise the pool's first connection determines it.
/// Any thread may use this object.
final class ClusterGuard: Sendable {
    enum Verdict: Hashable {
        case admitted
        /// The server is the first one on a newer timeline. From now on, connections to servers on
        /// older timelines must not be used.
        case advanced
        case refused(ClusterFault.Kind)
    }

    private struct State {
        var newest: ClusterIdentity?
        var fault: ClusterFault?
    }

    private let onEvent: @Sendable (ClusterEvent) -> Void
    private let state: Mutex<State>

    init(newest: ClusterIdentity?, onEvent: @escaping @Sendable (ClusterEvent) -> Void) {
        self.onEvent = onEvent
        self.state = Mutex(State(newest: newest))
    }

    /// The reason why the pool now refuses the database; `nil` if it does not.
    var fault: ClusterFault? { self.state.withLock { $0.fault } }

    /// Decides whether a server may be used.
    func judge(_ identity: ClusterIdentity) -> Verdict {
        let (verdict, wasRefused) = self.state.withLock { state in
            let verdict = Self.verdict(of: identity, after: state.newest)
            if case .refused = verdict { return (verdict, false) }
            state.newest = identity
            return (verdict, state.fault.take() != nil)
        }
        if verdict == .advanced { self.onEvent(.advanced(identity)) }
        if wasRefused { self.onEvent(.trusted) }
        return verdict
    }

    /// Records that a server accepted a connection but was refused with this fault, and that no
    /// other server accepted a connection.
    func record(_ fault: ClusterFault) {
        let hasChanged = self.state.withLock { state in
            defer { state.fault = fault }
            return state.fault != fault
        }
        if hasChanged { self.onEvent(.refused(fault)) }
    }

    static func verdict(of identity: ClusterIdentity, after newest: ClusterIdentity?) -> Verdict {
        guard let newest else { return .admitted }
        guard identity.system == newest.system else { return .refused(.otherCluster) }
        guard identity.timeline >= newest.timeline else {
            return .refused(.olderTimeline(identity.timeline, newest: newest.timeline))
        }
        return identity.timeline == newest.timeline ? .admitted : .advanced
    }
}
