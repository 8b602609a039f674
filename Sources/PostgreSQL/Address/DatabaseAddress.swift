internal import Foundation

/// A database's address:
/// `postgres://user@host:port,host:port/name?passwordFile=secret&sslrootcert=ca.pem`.
///
/// The notation is libpq's, but is read more strictly. A host is a name, a numeric address (IPv6
/// in brackets) or a unix socket's folder, as `%2Frun%2Fpostgresql` or
/// `postgres:///name?host=/run/postgresql&port=5433`. Only these options are allowed: `host`,
/// `passwordFile`, `port`, `sslcert`, `sslkey`, `sslmode`, `sslrootcert`. The address itself
/// contains no password.
///
/// If a host is another machine, the default of `sslmode` is `verify-full`. The modes of libpq
/// that fall back to clear text are refused.
package struct DatabaseAddress: Sendable, Hashable {
    /// The protection of connections over TCP, under libpq's names.
    enum Protection: String, Sendable, Hashable, CaseIterable {
        case disable
        /// The connection is encrypted, but the client does not verify the server.
        case require
        case verifyAuthority = "verify-ca"
        case verifyFull = "verify-full"

        var verifies: Bool { self == .verifyAuthority || self == .verifyFull }
    }

    /// The hosts of the database's servers; at least one.
    let hosts: [DatabaseHost]
    /// The name of the role; `nil`: the name of the process's user.
    let user: String?
    let password: String?
    /// The database's name on its server.
    package let database: String
    let protection: Protection
    let rootCertificate: String?
    let certificate: String?
    let key: String?
    let passwordFile: String?

    /// Parses an address in the notation of `DatabaseAddress`.
    ///
    /// If the address names a file with the password, `secret` returns the file's text, or throws
    /// if other users may read the file.
    package init(_ text: String, secret: (_ file: String) throws -> String = { _ in "" }) throws(AddressError) {
        let parts = try AddressParts(text)
        var options = parts.options
        self.hosts = try Self.hosts(parts.hosts, &options)
        self.user = parts.user
        self.database = parts.database
        self.rootCertificate = options.removeValue(forKey: "sslrootcert")
        self.certificate = options.removeValue(forKey: "sslcert")
        self.key = options.removeValue(forKey: "sslkey")
        self.passwordFile = options.removeValue(forKey: "passwordFile")
        self.password = try Self.password(inFile: self.passwordFile, secret)
        let isLocal = self.hosts.allSatisfy(\.isLocal)
        self.protection = try Self.protection(options.removeValue(forKey: "sslmode"), isLocal: isLocal)
        if let unknown = options.keys.min() {
            throw AddressError(
                "the option \(unknown) is not one of host, passwordFile, port, sslcert, sslkey, sslmode, sslrootcert"
            )
        }
        guard !self.protection.verifies || self.rootCertificate != nil else {
            throw AddressError(
                "sslmode=\(self.protection.rawValue) needs sslrootcert, a file with the authority's certificate "
                    + "(or choose sslmode=require, which does not check the server's certificate)"
            )
        }
        guard (self.certificate == nil) == (self.key == nil) else {
            throw AddressError("sslcert and sslkey must be set together")
        }
    }

    // MARK: - Private

    private static func hosts(
        _ hosts: [DatabaseHost],
        _ options: inout [String: String]
    ) throws(AddressError) -> [DatabaseHost] {
        let names = options.removeValue(forKey: "host")
        let port = options.removeValue(forKey: "port")
        guard let names else {
            guard port == nil else { throw AddressError("the option port needs the option host") }
            guard !hosts.isEmpty else { throw AddressError("a host is missing") }
            return hosts
        }
        guard hosts.isEmpty else {
            throw AddressError("hosts are given twice: before the database and in the option host")
        }
        var named: [DatabaseHost] = []
        for name in names.split(separator: ",", omittingEmptySubsequences: false) {
            named.append(try DatabaseHost(name: String(name), port: port))
        }
        return named
    }

    private static func protection(_ text: String?, isLocal: Bool) throws(AddressError) -> Protection {
        guard let text else { return isLocal ? .disable : .verifyFull }
        guard let protection = Protection(rawValue: text) else {
            let names = Protection.allCases.map(\.rawValue).joined(separator: ", ")
            throw AddressError("sslmode is not one of \(names)")
        }
        return protection
    }

    private static func password(
        inFile path: String?,
        _ secret: (_ file: String) throws -> String
    ) throws(AddressError) -> String? {
        guard let path else { return nil }
        let text: String
        do {
            text = try secret(path)
        } catch {
            throw AddressError("\(error)")
        }
        let line = text.hasSuffix("\n") ? text.dropLast() : text[...]
        guard !line.isEmpty, !line.contains(where: { $0.isNewline || $0 == "\0" }) else {
            throw AddressError("the password's file \(path) does not have exactly one line")
        }
        return String(line)
    }
}

extension DatabaseAddress: CustomStringConvertible, CustomReflectable {
    /// The address without its password. The function `dump` does not show the password, either.
    package var description: String {
        let user = self.user.map { "\(AddressParts.encoded($0))@" } ?? ""
        let hosts = self.hosts.map(\.description).joined(separator: ",")
        var options = ["sslmode=\(self.protection.rawValue)"]
        for (name, value) in [
            ("sslrootcert", self.rootCertificate), ("sslcert", self.certificate), ("sslkey", self.key),
            ("passwordFile", self.passwordFile),
        ] {
            if let value { options.append("\(name)=\(AddressParts.encoded(value))") }
        }
        let list = options.joined(separator: "&")
        return "postgres://\(user)\(hosts)/\(AddressParts.encoded(self.database))?\(list)"
    }

    package var customMirror: Mirror { Mirror(self, children: ["address": self.description]) }
}

/// The reason why a text is not a database's address. It never quotes the text, which may contain
/// a password.
package struct AddressError: Error, Sendable, Hashable, CustomStringConvertible {
    package let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    package var description: String { "database address: \(self.reason)" }
}
