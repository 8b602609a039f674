internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Looks up users, each once in a transaction: the posts of a batch often have the same
/// recipients.
struct UserSearch {
    private var found: [Data: (id: Int64, apps: Set<AppName>)] = [:]

    /// The user with the keyed hash of a name; `nil` if there is none, or it does not belong to
    /// the app.
    mutating func user(withKey key: Data, of app: AppName, _ db: Database) throws -> Int64? {
        if let user = self.found[key] { return user.apps.contains(app) ? user.id : nil }
        let user = try db.first(prepared: "select id, apps from user where name_key = ?", key) {
            (id: $0.integer(0), apps: Set(storedApps: $0.optionalText(1)))
        }
        guard let user else { return nil }
        self.found[key] = user
        return user.apps.contains(app) ? user.id : nil
    }
}
