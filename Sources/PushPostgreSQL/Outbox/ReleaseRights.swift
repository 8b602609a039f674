internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The accounts that some scheduled notifications name, and the current rights of their senders.
struct ReleaseRights {
    /// The audience to which a sender may send.
    private enum Right {
        /// Everybody in these apps; `nil`: in all.
        case everything(in: Set<AppName>?)
        /// The sender itself, by the keyed hash of its name, in these apps.
        case toItself(Data, in: Set<AppName>)
    }

    /// Leaves out senders who were deleted or disabled.
    private var senders: [Int64: Right] = [:]
    private var named: [Data: (id: Int64, apps: Set<AppName>)] = [:]

    /// Reads the accounts, and locks them against deletion.
    init(_ tx: WriteTransaction, senders: [Int64], named keys: [Data]) async throws {
        let rows = try await tx.query(Self.accounts, senders, keys)
        for row in rows.map({ $0 }) {
            let (id, key) = (try row.integer(0), try row.data(1))
            let apps = Set(storedApps: try row.optionalText(3))
            self.named[key] = (id, apps)
            guard try row.boolean(4) else { continue }
            switch Role(rawValue: try row.text(2)) {
            case .admin?: self.senders[id] = .everything(in: nil)
            case .publisher?: self.senders[id] = .everything(in: apps)
            case .device?, .viewer?: self.senders[id] = .toItself(key, in: apps)
            case nil: break
            }
        }
    }

    static let accounts = """
        select id, name_key, role, apps, disabled_at is null from account
        where id = any($1::int8[]) or name_key = any($2::bytea[]) order by id for key share
        """

    /// Whether a sender may send to an audience.
    func allow(_ sender: Int64, _ audience: HashedAudience) -> Bool {
        switch self.senders[sender] {
        case .everything(let apps)?: apps?.contains(audience.audience.app) ?? true
        case .toItself(let key, let apps)?:
            apps.contains(audience.audience.app) && audience.users.count == audience.audience.expressions.count
                && audience.users.allSatisfy { $0.key == key }
        case nil: false
        }
    }

    /// The users whom an audience names, in the order of their ids. Leaves out users who were
    /// deleted, or lost the app, after the post.
    func users(of audience: HashedAudience) -> [Int64] {
        let known = audience.users.compactMap { self.named[$0.key] }
        return Set(known.filter { $0.apps.contains(audience.audience.app) }.map(\.id)).sorted()
    }
}
