package import Foundation
package import PushCore
package import PushStore

/// Makes and changes users according to the lines of an import. Importing the same lines again
/// changes nothing.
package struct UserImport: Sendable {
    /// The result of a line; in a dry run, the result that the line would have.
    package enum Outcome: Sendable, Hashable {
        case added
        /// The changes to the user, in words.
        case changed([String])
        case unchanged
        case refused(String)
    }

    private let store: any AccountStore
    private let reader: any SharedReader
    private let parameters: PasswordParameters
    private let takesHashes: Bool
    private let isDry: Bool
    /// The actor who imports the users, for the audit; `nil` for the operator at the command line.
    private let actor: AuditRecord.Actor?
    private let now: @Sendable () -> Date
    /// The names of the users on earlier lines.
    private var names: Set<Username> = []

    /// Creates an import. New users' passwords are hashed with `parameters`. If `takesHashes` is
    /// `false`, lines with the hash of a password are refused. A dry run changes nothing.
    package init(
        store: any AccountStore,
        reader: any SharedReader,
        parameters: PasswordParameters,
        takesHashes: Bool,
        isDry: Bool,
        actor: AuditRecord.Actor? = nil,
        now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.reader = reader
        self.parameters = parameters
        self.takesHashes = takesHashes
        self.isDry = isDry
        self.actor = actor
        self.now = now
    }

    /// Applies a line. Throws only if the store fails.
    ///
    /// A new user whose line has no hash gets no password. An existing password stays: an import
    /// uses the hash of a line only for users without a password. If it replaced existing
    /// passwords, a repeated import would undo later changes by users.
    package mutating func apply(_ line: UserLine) async throws -> Outcome {
        guard self.names.insert(line.name).inserted else { return .refused("\(line.name) has a line before") }
        guard line.hash == nil || self.takesHashes else {
            return .refused("has a PasswordHash; import it with --with-hashes, or remove it")
        }
        guard let user = try await self.reader.userEntry(named: line.name) else { return try await self.add(line) }
        return try await self.change(user, by: line)
    }

    private func add(_ line: UserLine) async throws -> Outcome {
        if self.isDry { return .added }
        let role = line.role ?? .device
        let record = self.record(.addUser, line, role.rawValue)
        let isAdded = try await self.store.addUser(
            // The user gets no password yet. If the line says `Disabled`, the user is disabled
            // only after this call, and must not be able to sign in before that.
            NewUser(line.name, role: role, apps: line.apps ?? [.usual], password: .none(self.parameters)),
            by: record,
            // A record from before this time would seem to be about an earlier user of the name.
            now: record.at
        )
        guard isAdded else { return .refused("\(line.name) was made by another meanwhile; import again") }
        // If the server crashes here, a repeated import makes the remaining changes.
        guard let user = try await self.reader.userEntry(named: line.name) else {
            return .refused("\(line.name) was deleted meanwhile; import again")
        }
        if case .refused(let reason) = try await self.change(user, by: line) { return .refused(reason) }
        return .added
    }

    private func change(_ user: UserEntry, by line: UserLine) async throws -> Outcome {
        let role = line.role == user.role ? nil : line.role
        let apps = line.apps == user.apps ? nil : line.apps
        let isDisabled = line.isDisabled == user.isDisabled ? nil : line.isDisabled
        let requiresEncryption = line.requiresEncryption == user.requiresEncryption ? nil : line.requiresEncryption
        let hash = user.hasPassword ? nil : line.hash
        let tags = line.tags == Set(user.tags) ? nil : line.tags
        let changes = [
            role.map { "role \($0.rawValue)" },
            apps.map { "apps \($0.sorted().map(\.description).joined(separator: " "))" },
            hash.map { _ in "password" }, isDisabled.map { $0 ? "disabled" : "enabled" },
            requiresEncryption.map(UserEntry.encryption),
        ].compactMap(\.self)
        let all = changes + (tags == nil ? [] : ["tags"])
        if all.isEmpty { return .unchanged }
        if self.isDry { return .changed(all) }
        if !changes.isEmpty {
            var change = AccountChange.nothing
            (change.role, change.apps, change.password) = (role, apps, hash)
            (change.isDisabled, change.requiresEncryption) = (isDisabled, requiresEncryption)
            let record = self.record(.changeUser, line, changes.joined(separator: ", "))
            switch try await self.store.changeUser(user.name, change, by: record, now: self.now()) {
            case .done: break
            case .missing: return .refused("\(user.name) was deleted meanwhile; import again")
            case .lastAdministrator:
                return .refused("\(user.name) is the last enabled administrator; add another one first")
            }
        }
        if let tags {
            let record = self.record(.setTags, line, "")
            guard try await self.store.setTags(tags, ofUser: user.name, ifStill: nil, by: record) else {
                return .refused("\(user.name) was deleted meanwhile; import again")
            }
        }
        return .changed(all)
    }

    private func record(_ action: AuditRecord.Action, _ line: UserLine, _ detail: String) -> AuditRecord {
        let (name, now) = (line.name.description, self.now())
        guard let actor else { return AuditRecord(action, of: name, detail: detail, at: now) }
        return AuditRecord(action, of: name, detail: detail, by: actor, at: now)
    }
}
