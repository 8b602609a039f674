internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The error that ends a transaction if the stored end of a hash chain is not the end that this
/// server knows. Another server has then taken the chain over, and adds entries to it.
struct AuditChainLost: Error {}

/// The numbers of the audit's entries. A number consists of the hash chain's number, shifted to
/// the left, and the entry's position in the chain.
enum AuditNumber {
    static let placeBits: Int64 = 40

    /// The number before the first entry of the chain.
    static func start(ofChain chain: Int64) -> Int64 { chain << Self.placeBits }
}

extension WriteTransaction {
    /// Adds entries to one of the audit's hash chains: returns the chain's new end, and the
    /// statement that inserts the entries.
    ///
    /// The statement fails unless it inserts all entries. It inserts nothing if the stored end of
    /// the chain is no longer the end that this server knows. So a server that was paused for long
    /// cannot fork a chain that another server has taken over.
    func extending(_ head: AuditHead, by drafts: [AuditDraft]) throws -> (head: AuditHead, statement: Statement) {
        var entries: [SealedAuditEntry] = []
        var link = head.link
        for draft in drafts {
            let entry = try self.audit.sealed(draft, after: link)
            entries.append(entry)
            link = entry.link
        }
        let statement = try Statement(
            Self.newEntries,
            head.chain,
            head.server,
            head.link.number,
            link.number,
            link.code,
            self.audit.mac(ofEnd: link),
            entries.map(\.link.number),
            entries.map(\.at),
            entries.map(\.entry),
            entries.map(\.link.code),
            entries.count
        )
        return (AuditHead(chain: head.chain, server: head.server, link: link), statement)
    }

    /// The SQLSTATE of the deliberate failure of `newEntries`: a division by zero.
    static let refusal = "22012"

    private static let newEntries = """
        with h as (
            update audit_chain set number = $4, link = $5, mac = $6 where chain = $1 and node = $2 and number = $3
            returning chain),
        a as (
            insert into audit (number, at, entry, link)
            select e.number, e.at, e.entry, e.link
            from h cross join unnest($7::int8[], $8::int8[], $9::bytea[], $10::bytea[]) as e (number, at, entry, link)
            returning number)
        select 1 / case when count(*) = $11 then 1 else 0 end from a
        """

    /// The end of the hash chain that gets this transaction's entries. If the transaction's
    /// `WriterSlot` has no chain yet, takes over the first chain whose server has ended. If there
    /// is no such chain, begins a new one.
    func head(of slot: WriterSlot, server: Int64) async throws -> AuditHead {
        if let head = slot.head { return head }
        if let row = try await self.query(Self.freeChain, server).first {
            let link = AuditLink(number: try row.integer("number"), code: try row.data("link"))
            // A chain whose stored end was altered is not taken over; `auditFault` reports it.
            if try row.data("mac") == self.audit.mac(ofEnd: link) {
                return AuditHead(chain: try row.integer("chain"), server: server, link: link)
            }
        }
        while true {
            guard let chain = try await self.query(Self.nextChain).first?.integer() else { throw AuditChainLost() }
            let start = AuditLink(number: AuditNumber.start(ofChain: chain), code: Data())
            let codes = (start: self.audit.mac(ofStart: start), end: self.audit.mac(ofEnd: start))
            let values: [any Bindable] = [chain, server, start.number, start.code, codes.start, codes.end]
            let isNew = try await self.query(Self.newChain, values: values)
            if isNew.changed == 1 { return AuditHead(chain: chain, server: server, link: start) }
            // Another transaction has already begun a chain with this number, so the loop tries
            // the next number.
        }
    }

    static let freeChain = """
        with f as (
            select c.chain from audit_chain c
            where not exists (select 1 from node n where n.number = c.node and not n.is_fenced)
            order by c.chain limit 1 for update of c skip locked)
        update audit_chain a set node = $1 from f where a.chain = f.chain returning a.chain, a.number, a.link, a.mac
        """

    static let nextChain = "select coalesce(max(chain) + 1, 0) from audit_chain"

    static let newChain = """
        insert into audit_chain (chain, node, number, link, start_number, start_link, start_mac, mac)
        values ($1, $2, $3, $4, $3, $4, $5, $6) on conflict (chain) do nothing
        """
}
