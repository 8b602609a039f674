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
        let entries = try db.all(
            "select number, at, entry, chain from audit where number > \(start.number) order by number limit 1000"
        ) { try SealedAuditEntry($0) }
        if entries.isEmpty { return .end }
        var link = start
        for entry in entries {
            guard self.audit.chain.isGenuine(entry, after: link) else {
                return .fault(AuditFault(number: entry.link.number))
            }
            link = entry.link
        }
        return .genuine(last: link)
    }
}
