internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore

/// The apps whose users, devices and pushes an administrator or a viewer sees: all apps, or the
/// viewer's own apps.
struct AppScope: Sendable {
    /// The apps of the configuration.
    private let apps: Set<AppName>
    /// The key that encrypts the cursors of callers who do not see all apps.
    private let cursorKey: SymmetricKey

    init(_ settings: ServerSettings, cursorKey: SymmetricKey) {
        self.apps = settings.apps
        self.cursorKey = cursorKey
    }

    /// The apps that the caller sees; `nil` if the caller sees all apps.
    func limit(of caller: User) -> Set<AppName>? {
        caller.role == .admin || caller.apps.isSuperset(of: self.apps) ? nil : caller.apps
    }

    /// Whether the caller sees a user who belongs to these apps.
    func sees(_ apps: Set<AppName>, _ caller: User) -> Bool {
        Self.sees(apps, within: self.limit(of: caller))
    }

    /// Whether a caller who sees the apps of `limit` sees a user who belongs to `apps`.
    static func sees(_ apps: Set<AppName>, within limit: Set<AppName>?) -> Bool {
        limit.map { !$0.isDisjoint(with: apps) } ?? true
    }

    /// Throws a `not-found` problem for a user or an app that does not exist, or that a caller
    /// with this limit does not see: a misspelt filter must not look like an empty list.
    func check(
        user: Username?,
        app: AppName? = nil,
        within limit: Set<AppName>?,
        _ reader: any StoreReader
    ) async throws {
        // Only a caller with a limit may not see what exists.
        let start = limit == nil ? "there is no" : "you see no"
        if let app, !(limit ?? self.apps).contains(app) { throw Problem(.notFound, "\(start) app \(app)") }
        guard let user else { return }
        guard let found = try await reader.user(named: user), Self.sees(found.apps, within: limit) else {
            throw Problem(.notFound, "\(start) user \(user)")
        }
    }
}

/// The cursors of lists. A page may end at an entry of an app that the caller does not see, so a
/// caller with a limit gets the cursor encrypted.
extension AppScope {
    /// The length to which each cursor is padded before its encryption, so that no encrypted
    /// cursor reveals the length of a name.
    private static let cursorLength = 112

    /// Describes the valid cursors of a caller with this limit, for the text of a problem. `rule`
    /// describes cursors that are not encrypted.
    static func rule(ofCursor rule: String, within limit: Set<AppName>?) -> String {
        limit == nil ? rule : "the Cursor of another page"
    }

    func cursor(_ text: String?, within limit: Set<AppName>?) throws -> String? {
        guard let text, limit != nil else { return text }
        let padding = repeatElement(UInt8(ascii: " "), count: max(0, Self.cursorLength - text.utf8.count))
        return try AES.GCM.seal(Array(text.utf8) + padding, using: self.cursorKey).combined.map(Base64.url.text(of:))
    }

    /// The text of a cursor that the server has given to a caller with this limit; `nil` for any
    /// other cursor.
    func text(ofCursor cursor: String, within limit: Set<AppName>?) -> String? {
        if limit == nil { return cursor }
        guard
            let bytes = Base64.url.bytes(in: cursor.utf8),
            // A failure always means that the server has not encrypted this text.
            let text = try? AES.GCM.open(AES.GCM.SealedBox(combined: bytes), using: self.cursorKey)
        else { return nil }
        return String(decoding: text.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    }
}
