internal import Foundation
internal import PushCore
internal import PushStore

// What other parts bring; this file goes at the merge.

extension PostgreSQLStore {
    var sealing: Sealing { fatalError() }
    var receipts: ReceiptBook { fatalError() }
    func receiptsAreWaiting() {}
}

extension WriteTransaction {
    var sealing: Sealing { fatalError() }
}
