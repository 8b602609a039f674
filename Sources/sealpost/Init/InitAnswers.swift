import Foundation
import PushApplication
import PushCore
import PushPostgreSQL
import PushStore
import Reactor

/// The answers that `sealpost init` needs. Each answer was checked, whether it was typed or given
/// as an option.
struct InitAnswers {
    var listen = "127.0.0.1:8080"
    /// The absolute path of a database file, or the address of a PostgreSQL database.
    var database = Self.absolute("var/sealpost.db")
    /// The absolute path of the folder for the keys.
    var keys = Self.absolute("var")
    /// The certificate and its key; `nil` if the server runs without TLS, behind a proxy.
    var tls: Configuration.TLS.Identity?
    /// The first administrator; if it is `nil`, the server prints a link with which an
    /// administrator can be made.
    var administrator: Username?

    /// The default folder for the keys. For a database in a file, it is the folder of that file.
    static func usualKeys(beside database: String) -> String {
        PostgreSQLPlace(database) == nil
            ? URL(fileURLWithPath: database).deletingLastPathComponent().path : self.absolute("var")
    }

    // MARK: Checks

    static func listen(_ text: String) throws(InitRefusal) -> String {
        guard let address = SocketAddress.listening(at: text) else {
            throw InitRefusal(
                "\"\(text)\" is not an address; use a numeric address with a port, such as 127.0.0.1:8080, a port alone, or unix:/PATH"
            )
        }
        return "\(address)"
    }

    /// Checks an answer; for an address of PostgreSQL, a connection must succeed.
    static func database(_ text: String) throws(InitRefusal) -> String {
        guard let place = PostgreSQLPlace(text) else { return try self.path(text, isFolder: false) }
        if let fault = place.fault { throw InitRefusal("the address of the database: \(fault)") }
        do throws(StoreError) {
            _ = try place.dataKeys()
        } catch {
            throw InitRefusal("\(error)")
        }
        return text
    }

    static func keys(_ text: String) throws(InitRefusal) -> String {
        try self.path(text, isFolder: true)
    }

    /// Reads a certificate and a private key. They must belong together, as the server requires.
    static func tls(certificate: String, privateKey: String) throws(InitRefusal) -> Configuration.TLS.Identity {
        let identity = Configuration.TLS.Identity(
            certificate: self.absolute(certificate),
            privateKey: self.absolute(privateKey)
        )
        do {
            try identity.check()
        } catch {
            throw InitRefusal("\(error)")
        }
        return identity
    }

    static func administrator(_ text: String) throws(InitRefusal) -> Username {
        guard let name = Username.ofNewUser(text) else {
            throw InitRefusal("\"\(text)\" is not \(Username.rule)")
        }
        return name
    }

    // MARK: - Private

    private static func path(_ text: String, isFolder: Bool) throws(InitRefusal) -> String {
        let path = self.absolute(text)
        var isThereFolder: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isThereFolder)
        guard !text.isEmpty, !isThere || isThereFolder.boolValue == isFolder else {
            throw InitRefusal("\(path) is \(isFolder ? "no folder" : "a folder, and not a file")")
        }
        return path
    }

    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardized.path }
}

/// The reason why an answer is not valid; the question is asked again.
struct InitRefusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
