import Foundation
package import PushAPI
import PushCore
import PushStore

/// The functions of `sealpost keys`: they use the keyring's file, and the database's records of
/// the keys. They run in the daemon or, if no daemon runs, in the command. They block.
package struct LocalKeyring {
    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    private var file: KeyringFile { KeyringFile(self.configuration.keyring) }

    /// The list of keys as JSON: `Keys`, and with PostgreSQL also `DayKeys`. It has a `Fault` if a
    /// key in use, or the file of day keys, is missing or does not match the database.
    ///
    /// Throws `ConfigurationError` or `StoreError` if no list can be made.
    package func list() throws -> JSONValue {
        let keyring = try self.file.load()
        let used = try self.configuration.storePlace.dataKeys()
        let cluster = self.configuration.storePlace.cluster
        let servers = try cluster?.serverKeys() ?? []
        let days = try cluster?.dayKeys()
        let keys = keyring.numbers.map { number in
            let entry = used.first { $0.number == number }
            let lackedBy = servers.filter { $0.lacks(number, of: keyring) }.map { JSONValue.string($0.name) }
            let members: [JSONValue.Member] = [
                .init("Key", .number(number)),
                .init("Task", .string(number == keyring.sealing ? "seals" : "opens")),
                .init("UsedSince", entry.map { .string($0.usedSince.rfc3339) } ?? .null),
                .init("Seals", .number(entry?.seals ?? 0)),
            ]
            return JSONValue.object(members + (lackedBy.isEmpty ? [] : [.init("LackedBy", .array(lackedBy))]))
        }
        let (holders, dayFault) = try self.dayKeys(days)
        let fault = Self.fault { () throws(StoreError) in try used.check(keyring) } ?? dayFault
        return .object([
            .init("Keys", .array(keys)),
            .init("SealsDays", days.map { .bool($0.isSealing) } ?? .null),
            .init("DayKeys", .array(holders)),
            .init("Fault", fault.map { .string($0) } ?? .null),
        ])
    }

    /// Adds a key to the keyring's file; returns the key's number and the file's path.
    package func rotate() throws -> JSONValue {
        self.json(of: try self.file.rotate())
    }

    /// Removes a key from the keyring's file; returns the key's number and the file's path. Throws
    /// `CommandFailure` if the key is in use.
    package func remove(_ number: UInt32) throws -> JSONValue {
        let place = self.configuration.storePlace
        if let entry = try place.dataKeys().first(where: { $0.number == number }) {
            let since = entry.usedSince.rfc3339.prefix(10)
            let count = try place.countSealed(with: number)
            let users = try (place.cluster?.serverKeys() ?? []).filter { $0.sealing == number }
            let servers = users.map(\.name).joined(separator: ", ")
            let sealing = servers.isEmpty ? "" : "; it encrypts at \(servers)"
            let isFirst = try self.file.load().sealing == number
            throw CommandFailure(
                """
                key \(number) is in use since \(since), and \(count) stored values are encrypted with it: run \
                \(isFirst ? "sealpost keys rotate, and then " : "")sealpost keys reload, which re-encrypts them\(sealing)
                """
            )
        }
        // Even a key that is not marked as in use may be needed. A server may have encrypted a
        // value with the key before it switched to another key, and may have stored this value
        // only after all other values were re-encrypted.
        if let cluster = place.cluster { try self.checkUnneeded(number, in: cluster) }
        try self.file.remove(number)
        return self.json(of: number)
    }

    // MARK: - Private

    /// If values are encrypted with a key that is not marked as in use, throws `CommandFailure`.
    /// If all servers have the key, also marks it as in use again.
    private func checkUnneeded(_ number: UInt32, in place: any ClusterPlace) throws {
        let count = try place.countSealed(with: number)
        if count == 0 { return }
        let encrypted = "\(count) values are encrypted with key \(number)"
        let keyring = try self.file.load()
        let lacking = try place.serverKeys().filter { $0.lacks(number, of: keyring) }.map(\.name)
        guard lacking.isEmpty else {
            let names = lacking.joined(separator: ", ")
            throw CommandFailure("\(encrypted), which is missing on \(names): copy the keyring there")
        }
        try place.takeIntoUse(number, of: keyring)
        throw CommandFailure("\(encrypted): run sealpost keys reload, which re-encrypts them")
    }

    private func json(of number: UInt32) -> JSONValue {
        .object([.init("Key", .number(number)), .init("File", .string(self.configuration.keyring))])
    }

    /// All servers' files of day keys, this machine's file first, each with the first day whose
    /// values it can still decrypt. `fault` describes what is wrong with this machine's file.
    private func dayKeys(_ report: DayKeyReport?) throws -> (holders: [JSONValue], fault: String?) {
        guard let report else { return ([], nil) }
        let file = DayKeyFile(self.configuration.dayKeys)
        let chain: DayChain?
        do {
            chain = try file.load()
        } catch let error as ConfigurationError {
            return ([], error.description)
        }
        let own = Self.json(file.place, chain.map { "\($0.day)" }, at: nil)
        let others = report.holders.filter { $0.place != file.place }.map {
            Self.json($0.place, "\($0.day)", at: $0.at.ISO8601Format())
        }
        let place = self.configuration.dayKeys
        return ([own] + others, Self.fault { () throws(StoreError) in try report.check(chain, at: place) })
    }

    /// An entry for one file of day keys: its place, the first day whose values it can still
    /// decrypt, and when its server reported that day. For this machine's file `at` is `nil`.
    private static func json(_ place: String, _ day: String?, at: String?) -> JSONValue {
        .object([
            .init("DayKeys", .string(place)), .init("From", day.map { .string($0) } ?? .null),
            .init("ToldAt", at.map { .string($0) } ?? .null),
        ])
    }

    private static func fault(_ check: () throws(StoreError) -> Void) -> String? {
        do throws(StoreError) {
            try check()
            return nil
        } catch {
            return error.description
        }
    }
}
