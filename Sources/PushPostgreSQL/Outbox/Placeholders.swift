internal import Foundation
internal import PushCore
internal import PushStore

// What other parts bring; this file goes at the merge.

struct NodePlaceholder: Sendable { let number: Int64 }

extension PostgreSQLStore {
    var sealing: Sealing { fatalError() }
    var node: NodePlaceholder { fatalError() }
    func noteSetAside(_ row: StoreEvent.SetAside) {}

    static func insertRecipients(
        _ tx: WriteTransaction,
        users: [Int64],
        of target: PushTarget,
        now: Date
    ) async throws -> Set<Int64> { fatalError() }
    static func goOnWithRecalls(_ tx: WriteTransaction, page: Int) async throws -> Bool { fatalError() }
    static func eraseIfTaken(_ tx: WriteTransaction, _ notifications: [Int64]) async throws {}
    static func subtract(_ tx: WriteTransaction, _ erased: [Int64: Usage]) async throws {}
}

struct Usage: Sendable {
    var notifications: Int64 = 0
    var bytes: Int64 = 0
}

extension WriteTransaction {
    var sealing: Sealing { fatalError() }
    /// Whether a device cannot be reached until it connects, as `StoreOptions` has it.
    var isAway: @Sendable (_ lane: String, _ device: String) -> Bool { { _, _ in false } }
}
