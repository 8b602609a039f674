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
            try Row.fetchAll(
                db.cachedStatement(
                    sql: "select number, at, entry, chain from audit where number < ? order by number desc limit ?"
                ),
                arguments: [number ?? .max, limit]
            ).map { try self.audit.chain.opened(SealedAuditEntry($0)) }
        }
    }

    package func lastAuditNumber() throws(StoreError) -> Int64 {
        try self.read { try Int64.fetchOne($0, sql: "select max(number) from audit") ?? 0 }
    }

    package func auditFault() throws(StoreError) -> AuditFault? {
        guard var link = try self.read({ try self.audit.start($0) }) else { return AuditFault(number: 0) }
        while true {
            switch try self.read({ try self.checkPage($0, after: link) }) {
            case .fault(let fault): return fault
            case .genuine(let last): link = last
            case .end: return nil
            }
        }
    }

    private enum Check {
        case fault(AuditFault)
        case genuine(last: AuditLink)
        case end
    }

    private func checkPage(_ db: Database, after start: AuditLink) throws -> Check {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "select number, at, entry, chain from audit where number > ? order by number limit 1000"
            ),
            arguments: [start.number]
        )
        if rows.isEmpty { return .end }
        var link = start
        for row in rows {
            let number: Int64 = try row[0]
            // A column of another type is a fault of its row, as in `sealed`.
            guard let sealed = try? SealedAuditEntry(row), self.audit.chain.isGenuine(sealed, after: link) else {
                return .fault(AuditFault(number: number))
            }
            link = sealed.link
        }
        return .genuine(last: link)
    }
}
