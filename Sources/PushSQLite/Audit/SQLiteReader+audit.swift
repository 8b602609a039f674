internal import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func auditName(of token: TokenPrefix) -> String {
        self.audit.name(of: token)
    }

    package func auditEntries(before number: Int64?, limit: Int) throws(StoreError) -> [AuditEntry] {
        try self.read { db in
            try db.all(
                """
                select number, at, entry, chain from audit
                where number < \(number ?? .max) order by number desc limit \(limit)
                """
            ) { try self.audit.chain.opened(SealedAuditEntry($0)) }
        }
    }

    package func lastAuditNumber() throws(StoreError) -> Int64 {
        try self.read { try AuditTrail.last($0)?.number ?? 0 }
    }

    package func auditFault() throws(StoreError) -> AuditFault? {
        guard var link = try self.read({ try self.audit.start($0) }) else { return AuditFault(number: 0) }
        while true {
            let entries = try self.read { db in
                try db.all(
                    "select number, at, entry, chain from audit where number > \(link.number) order by number limit 1000"
                ) { try SealedAuditEntry($0) as SealedAuditEntry? }
            }
            if entries.isEmpty { return nil }
            if let fault = self.audit.chain.fault(in: entries, after: &link) { return fault }
        }
    }
}
