internal import Foundation
internal import GRDB
package import PushCore
package import PushStore

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
            ).map(self.audit.entry)
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
            guard try row[0] == link.number + 1, self.audit.isGenuine(row, after: link.chain) else {
                return .fault(AuditFault(number: try row[0]))
            }
            link = try AuditLink(number: row[0], chain: row[3])
        }
        return .genuine(last: link)
    }
}
