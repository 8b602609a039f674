internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A snapshot of the data keys in use, and of the keys that each server has. It determines a
/// server's encrypting key: the first key of its keyring that all servers have.
///
/// Every server that is not fenced counts, even one whose lease has expired: if it was only
/// paused, it resumes with the same number and the keys that it has published.
struct KeyAgreement: Sendable {
    /// A server, or a command, that uses the database and is not fenced: no other server may take
    /// over its work.
    struct Holder: Sendable {
        let server: Int64
        let name: String
        let sealing: UInt32
        /// The server's keys; `nil` for an older version, which does not publish its keys.
        let held: HeldKeys?
        /// Whether this is a command rather than a server. Servers do not wait until commands have
        /// a key.
        let isCommand: Bool

        var keys: ServerKeys { ServerKeys(name: self.name, sealing: self.sealing, checkValues: self.held?.checkValues) }
    }

    let used: [DataKeyEntry]
    let holders: [Holder]

    /// Selects the keys in use and the servers in one statement, so that the rows belong to one
    /// snapshot.
    static let all = """
        select \(DataKeyEntry.Column.list), null as server, null as name, null as sealing, null as keys from data_key
        union all
        select null, null, null, null, n.number, n.name, n.sealing, n.keys from node n where not n.is_fenced
        order by used_at, number, sealing, server
        """

    init(_ rows: Rows) throws {
        var (used, holders) = ([DataKeyEntry](), [Holder]())
        for row in rows {
            guard let server = try row.optionalInteger("server") else {
                if let key = try DataKeyEntry(row) { used.append(key) }
                continue
            }
            let (keys, sealing) = (try row.optionalData("keys"), UInt32(clamping: try row.integer("sealing")))
            let isCommand = keys?.isEmpty == true
            let (name, held) = (try row.text("name"), isCommand ? nil : keys.map { HeldKeys($0) })
            holders.append(Holder(server: server, name: name, sealing: sealing, held: held, isCommand: isCommand))
        }
        (self.used, self.holders) = (used, holders)
    }

    /// The keys of all servers except the server with the number `server`.
    func servers(besides server: Int64?) -> [ServerKeys] {
        self.holders.filter { !$0.isCommand && $0.server != server }.map(\.keys)
    }

    /// Throws `StoreError.wrongKeyring` if the keyring lacks a key in use, or has another key
    /// under its number. The error names the server that encrypts with the key.
    func check(_ keyring: Keyring) throws(StoreError) {
        for entry in self.used {
            do {
                try [entry].check(keyring)
            } catch {
                guard case .wrongKeyring(let reason) = error,
                    let server = self.holders.first(where: { $0.sealing == entry.number && !$0.isCommand })
                else { throw error }
                throw .wrongKeyring(
                    reason: """
                        \(reason), and the server \(server.name) encrypts with it now: copy the keyring of that server to this one
                        """
                )
            }
        }
    }

    /// The encrypting key of the server with the number `server`. If this is not the first key of
    /// the server's keyring, also returns the servers that lack the first key.
    ///
    /// If servers of older versions encrypt with different keys, there may be no key that all
    /// servers have. The result is then one of the keys in use.
    func choice(_ keyring: Keyring, besides server: Int64?) -> (sealing: UInt32, wait: KeyWait?) {
        let servers = self.servers(besides: server)
        let sealing =
            keyring.numbers.first { number in !servers.contains { $0.lacks(number, of: keyring) } }
            ?? keyring.numbers.first { number in self.used.contains { $0.number == number } }
            ?? keyring.sealing
        guard sealing != keyring.sealing else { return (sealing, nil) }
        let lacking = Set(servers.filter { $0.lacks(keyring.sealing, of: keyring) }.map(\.name))
        return (sealing, KeyWait(number: keyring.sealing, sealing: sealing, lacking: lacking.sorted()))
    }

    /// The present encrypting keys of all servers, and the keys with which the servers will
    /// encrypt next.
    var needed: Set<UInt32> {
        Set(self.holders.map(\.sealing)).union(self.holders.compactMap { $0.held?.keys.first?.number })
    }
}

/// The keys of a server's keyring in the form that other servers see. Each key has a number and a
/// check value; the keys are in the order of the keyring.
struct HeldKeys: Sendable, Hashable {
    struct Key: Sendable, Hashable {
        let number: UInt32
        let checkValue: Data
    }

    private static let (numberLength, length) = (4, 20)

    let keys: [Key]

    init(_ keyring: Keyring) {
        self.keys = keyring.numbers.compactMap { number in
            keyring.checkValue(of: number).map { Key(number: number, checkValue: $0) }
        }
    }

    /// Reads the stored form; an incomplete key at the end of `bytes` is ignored.
    init(_ bytes: Data) {
        var (keys, rest) = ([Key](), bytes[...])
        while rest.count >= Self.length {
            let number = rest.prefix(Self.numberLength).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let value = rest.dropFirst(Self.numberLength).prefix(Self.length - Self.numberLength)
            keys.append(Key(number: number, checkValue: Data(value)))
            rest = rest.dropFirst(Self.length)
        }
        self.keys = keys
    }

    var bytes: Data {
        self.keys.reduce(into: Data()) { bytes, key in
            withUnsafeBytes(of: key.number.bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(key.checkValue)
        }
    }

    var checkValues: [UInt32: Data] { Dictionary(self.keys.map { ($0.number, $0.checkValue) }) { first, _ in first } }
}
