internal import PushStore

// What other parts bring; this file goes at the merge.

struct NodePlaceholder: Sendable { let number: Int64 }
struct ConditionPlaceholder: Sendable { func note(_ row: StoreEvent.SetAside) {} }

extension PostgreSQLStore {
    var node: NodePlaceholder { fatalError() }
    var condition: ConditionPlaceholder { fatalError() }
}

extension WriteTransaction {
    /// Whether a device cannot be reached until it connects, as `StoreOptions` has it.
    var isAway: @Sendable (_ lane: String, _ device: String) -> Bool { { _, _ in false } }
}
