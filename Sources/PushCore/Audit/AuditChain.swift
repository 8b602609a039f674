internal import Cryptography
package import Foundation

/// Makes and checks the entries of the audit.
///
/// An entry consists of an encrypted text and a link. The link is a keyed hash over the entry and
/// over the link of the entry before it. If somebody changes an entry, or removes one from the
/// middle, the links no longer match. Without the key, nobody can repair them.
package struct AuditChain: Sendable {
    private static let separator: Character = "\t"

    private let vault: Vault
    private let hash: KeyedHash

    package init(_ vault: Vault, _ secret: IndexSecret) {
        self.vault = vault
        self.hash = KeyedHash(key: secret.derive("audit"))
    }

    /// The name that the audit uses for a token: a keyed hash of the token's prefix.
    package func name(of token: TokenPrefix) -> String {
        let code = self.hash.code { $0.update(data: Array("token \(token)".utf8)) }
        let digits = Array("0123456789abcdef".utf8)
        let bytes = code.prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    package func draft(_ record: AuditRecord) -> AuditDraft {
        let actor = record.actor
        // No field contains a separator: names, ids and addresses cannot contain one, and the
        // server writes the details without one.
        let fields = [
            record.action.rawValue, record.subject, record.detail, actor.name?.description ?? "",
            actor.token.map(self.name) ?? "", actor.client, actor.request,
        ]
        let text = fields.joined(separator: String(Self.separator))
        return AuditDraft(at: record.at.milliseconds, text: Data(text.utf8))
    }

    /// Makes the entry that follows the entry with the link `last`.
    package func sealed(_ draft: AuditDraft, after last: AuditLink) throws -> SealedAuditEntry {
        let number = last.number + 1
        return SealedAuditEntry(
            at: draft.at,
            entry: try self.vault.seal(draft.text, in: .audit(number)),
            link: AuditLink(number: number, code: self.code(last.code, number: number, at: draft.at, text: draft.text))
        )
    }

    /// Decrypts a row of the audit.
    package func opened(_ sealed: SealedAuditEntry) throws -> AuditEntry {
        let text = try self.vault.open(sealed.entry, in: .audit(sealed.link.number))
        let fields = String(decoding: text, as: UTF8.self)
            .split(separator: Self.separator, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 7 else { throw VaultError.unreadable }
        return AuditEntry(
            number: sealed.link.number,
            at: Date(milliseconds: sealed.at),
            action: fields[0],
            subject: fields[1],
            detail: fields[2],
            actor: fields[3],
            token: fields[4],
            client: fields[5],
            request: fields[6]
        )
    }

    /// The number of the first of these entries that was changed since it was appended. The
    /// entries follow `link`; an entry is `nil` if its row cannot be decoded. Moves `link` past
    /// the unchanged entries before the changed one.
    package func fault(in entries: [SealedAuditEntry?], after link: inout AuditLink) -> Int64? {
        for entry in entries {
            guard let entry, self.isGenuine(entry, after: link) else {
                return entry?.link.number ?? link.number + 1
            }
            link = entry.link
        }
        return nil
    }

    /// Whether a row has stayed unchanged since it was appended after the entry with the link
    /// `previous`.
    private func isGenuine(_ sealed: SealedAuditEntry, after previous: AuditLink) -> Bool {
        let number = sealed.link.number
        guard number == previous.number + 1 else { return false }
        do {
            let text = try self.vault.open(sealed.entry, in: .audit(number))
            return self.code(previous.code, number: number, at: sealed.at, text: text) == sealed.link.code
        } catch {
            return false
        }
    }

    /// A keyed hash over the start of the audit: the link of the last deleted entry, which the
    /// first remaining entry follows.
    package func mac(ofStart link: AuditLink) -> Data {
        self.code(link.code, number: link.number, at: 0, text: Data("start".utf8))
    }

    /// A keyed hash over the link of the newest entry.
    package func mac(ofEnd link: AuditLink) -> Data {
        self.code(link.code, number: link.number, at: 0, text: Data("end".utf8))
    }

    // MARK: - Private

    private func code(_ previous: Data, number: Int64, at: Int64, text: Data) -> Data {
        let code = self.hash.code { hash in
            hash.update(data: previous)
            withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
            withUnsafeBytes(of: at.bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: text)
        }
        return Data(code)
    }
}

/// The text of an audit entry. It is made from the record before the transaction begins.
package struct AuditDraft: Sendable {
    package let at: Int64
    package let text: Data
}

/// The number and the keyed hash of an entry. The hash of the next entry covers both.
package struct AuditLink: Sendable, Hashable {
    package let number: Int64
    /// The keyed hash over the entry and the link before it. Before the first entry, it is empty.
    package let code: Data

    package init(number: Int64, code: Data) {
        (self.number, self.code) = (number, code)
    }
}

/// A row of the audit.
package struct SealedAuditEntry: Sendable, Hashable {
    package let at: Int64
    /// The entry's text, encrypted.
    package let entry: Data
    package let link: AuditLink

    package init(at: Int64, entry: Data, link: AuditLink) {
        (self.at, self.entry, self.link) = (at, entry, link)
    }
}

extension AuditRecord {
    /// A copy of this record whose detail begins with the name that the audit uses for the token.
    package func about(_ token: TokenPrefix, in audit: AuditChain) -> AuditRecord {
        var record = self
        let details = ["token \(audit.name(of: token))", record.detail]
        record.detail = details.filter { !$0.isEmpty }.joined(separator: ", ")
        return record
    }
}
