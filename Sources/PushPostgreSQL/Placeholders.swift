internal import Foundation
internal import PushCore
internal import PushStore

// What other parts bring; this file goes at the merge.

extension PostgreSQLStore {
    var sealing: Sealing { fatalError() }
    var receipts: ReceiptBook { fatalError() }
    func receiptsAreWaiting() {}
    static var fanoutPage: Int { 1000 }

    static func enqueue(
        _ tx: WriteTransaction,
        _ target: PushTarget,
        besides recipients: Set<Int64>,
        page: Int,
        now: Date
    ) async throws -> (reach: Reach, hasWork: Bool) { fatalError() }
}

extension WriteTransaction {
    var sealing: Sealing { fatalError() }
}

struct PushTarget: Sendable {
    let id: Int64
    let sequence: Int64
    let collapseID: String?
    let isReadOnce: Bool
    let expiresAt: Date
    let audience: HashedAudience
}

extension Audience {
    var platformNames: String? { get throws { nil } }
}
