internal import PostgreSQL
internal import PushStore

extension DatabaseMark {
    init(_ identity: ClusterIdentity) {
        self.init(cluster: identity.system, timeline: identity.timeline)
    }
}

extension ClusterIdentity {
    init(_ mark: DatabaseMark) {
        self.init(system: mark.cluster, timeline: mark.timeline)
    }
}

extension StoreError {
    /// The error for a server that contradicts the stored `DatabaseMark`. `place` is where that
    /// mark is stored.
    static func refused(_ fault: ClusterFault, kept place: String?) -> StoreError {
        .refused(summary: fault.summary, reason: fault.description, kept: place ?? "nowhere")
    }
}
