internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Manages users while the daemon runs. During this time, no other process can manage users.
struct UserHandler: Handler {
    let store: any AccountStore
    let reports: ReportReader
    let authenticator: Authenticator
    let settings: ServerSettings
    let scope: AppScope

    var routes: [Route] {
        [
            Route(
                .post,
                Paths.users,
                .atLeast(.admin, .manage),
                body: ["Name", "Password", "WithoutPassword", "Role", "Apps", "RequiresEncryption"]
            ) {
                try await self.addUser($0)
            },
            Route(.get, Paths.users, .atLeast(.admin, .manage, seeing: .view), query: ["cursor", "after", "limit"]) {
                try await self.listUsers($0)
            },
            Route(.get, Paths.user("{id}"), .atLeast(.admin, .manage, seeing: .view)) {
                try await self.showUser($0)
            },
            Route(
                .patch,
                Paths.user("{id}"),
                .atLeast(.admin, .manage),
                body: ["Role", "Apps", "Password", "Disabled", "RequiresEncryption"]
            ) {
                try await self.changeUser($0)
            },
            Route(.delete, Paths.user("{id}"), .atLeast(.admin, .manage)) { try await self.deleteUser($0) },
            Route(.put, Paths.ownPassword, .atLeast(.device, []), body: ["Current", "New"]) {
                try await self.changeOwnPassword($0)
            },
        ]
    }

    private func addUser(_ context: RequestContext) async throws -> Response {
        let body = try JSONBody(try await context.request.body.collect())
        guard let name = Username.ofNewUser(try body.requiredString("Name")) else {
            throw Problem(.invalidMember, "Name must be \(Username.rule)")
        }
        try body.refuseNull(["Role", "Apps", "RequiresEncryption"])
        let role = try self.role(body) ?? .device
        let apps = try self.apps(body)
        let requiresEncryption = try body.bool("RequiresEncryption") ?? false
        let hash = try await self.newHash(body, of: name, context)
        let detail = [
            role.rawValue, apps.map { "apps \($0.text)" },
            requiresEncryption ? UserEntry.encryption(isRequired: true) : nil,
        ].compactMap(\.self).joined(separator: ", ")
        let isAdded = try await self.store.addUser(
            NewUser(name, role: role, apps: apps ?? [.usual], requiresEncryption: requiresEncryption, password: hash),
            by: context.record(.addUser, of: name.description, detail: detail),
            now: context.now
        )
        guard isAdded else { throw Problem(.conflict, "user \(name) already exists") }
        return Response(
            created: Paths.user(name.description.percentEncoded),
            .object([
                .init("Name", .string(name.description)),
                .init("Role", .string(role.rawValue)),
                .init("Apps", (apps ?? [.usual]).json),
                .init("RequiresEncryption", .bool(requiresEncryption)),
            ])
        )
    }

    /// Lists users, a page at a time. A cursor is the last user name of the previous page.
    private func listUsers(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let apps = self.scope.limit(of: try context.user)
        let last = try query.start(
            { self.scope.text(ofCursor: $0, within: apps).flatMap { Username($0) } },
            older: "after",
            AppScope.rule(ofCursor: "a user name", within: apps)
        )
        let size = try query.limit
        var scan = ListScan<UserEntry, Username>(
            after: last,
            limit: size,
            step: apps == nil ? size : ListScanLimits.step,
            place: \.name,
            where: { AppScope.sees($0.apps, within: apps) }
        )
        try await scan.run { last, count in
            try await self.reports.run { try await $0.users(after: last, limit: count) }
        }
        let cursor = try self.scope.cursor(scan.last?.description, within: apps)
        return Response(page: "Users", scan.found.map(\.json), cursor: cursor, hasMore: scan.hasMore)
    }

    private func showUser(_ context: RequestContext) async throws -> Response {
        guard
            let name = Username(context.parameter),
            let user = try await context.reader.userEntry(named: name),
            self.scope.sees(user.apps, try context.user)
        else { throw Problem(.notFound) }
        return Response(uncached: user.json)
    }

    /// Changes a user. All changes take effect with the user's next request. A new password ends
    /// the sessions that began with the old password.
    private func changeUser(_ context: RequestContext) async throws -> Response {
        let body = try JSONBody(try await context.request.body.collect())
        // The answer to a change that a null leaves out would say that it was made.
        try body.refuseNull(["Role", "Apps", "Password", "Disabled", "RequiresEncryption"])
        let (role, apps) = (try self.role(body), try self.apps(body))
        let isDisabled = try body.bool("Disabled")
        let requiresEncryption = try body.bool("RequiresEncryption")
        let text = try body.string("Password")
        guard let name = Username(context.parameter) else { throw Problem(.notFound) }
        var password: PasswordHash?
        if let text { password = try await self.hash(Secret(text), chosenFor: name, context) }
        let changes = [
            role.map { "role \($0.rawValue)" }, apps.map { "apps \($0.text)" }, password.map { _ in "password" },
            isDisabled.map { $0 ? "disabled" : "enabled" }, requiresEncryption.map(UserEntry.encryption),
        ]
        let detail = changes.compactMap(\.self).joined(separator: ", ")
        var change = AccountChange.nothing
        (change.role, change.apps, change.password) = (role, apps, password)
        (change.isDisabled, change.requiresEncryption) = (isDisabled, requiresEncryption)
        let record = try context.record(.changeUser, of: name.description, detail: detail)
        let outcome = try await self.store.changeUser(name, change, by: record, now: context.now)
        return try self.answer(to: outcome, of: name)
    }

    private func deleteUser(_ context: RequestContext) async throws -> Response {
        guard let name = Username(context.parameter) else { throw Problem(.notFound) }
        return try await self.delete(name, context)
    }

    func delete(_ name: Username, _ context: RequestContext) async throws -> Response {
        let record = try context.record(.deleteUser, of: name.description)
        return try self.answer(to: try await self.store.deleteUser(name, by: record, now: context.now), of: name)
    }

    private func answer(to change: UserChange, of name: Username) throws(Problem) -> Response {
        switch change {
        case .done:
            self.authenticator.accountChanged(name)
            return .noContent
        case .missing: throw Problem(.notFound)
        case .lastAdministrator:
            throw Problem(.lastAdministrator, "this user is the last enabled administrator; add another one first")
        }
    }

    /// Changes the caller's password. The request must contain the current password: whoever has
    /// only a stolen token cannot take over the account.
    private func changeOwnPassword(_ context: RequestContext) async throws -> Response {
        let body = try JSONBody(try await context.request.body.collect())
        let (current, new) = (try body.requiredString("Current"), try body.requiredString("New"))
        let user = try context.user
        let isChanged = try await self.naming("New") {
            try await self.authenticator.changePassword(
                of: user,
                from: Secret(current),
                to: Secret(new),
                by: context.record(.changeUser, of: user.name.description, detail: "own password"),
                from: context.request.origin,
                reader: context.reader
            )
        }
        // The status is not 401, because the caller is authenticated. After 401, a client would
        // only ask its user for the credentials again.
        guard isChanged else { throw Problem(.wrongPassword, "Current is not the user's present password") }
        return .noContent
    }

    private func role(_ body: JSONBody) throws(Problem) -> Role? {
        guard let name = try body.string("Role") else { return nil }
        guard let role = Role(rawValue: name) else {
            let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.invalidMember, "Role must be one of \(roles)")
        }
        return role
    }

    /// The member `Apps`: the apps that the user belongs to from now on.
    private func apps(_ body: JSONBody) throws(Problem) -> Set<AppName>? {
        guard let names = try body.strings("Apps") else { return nil }
        guard !names.isEmpty else { throw Problem(.invalidMember, "Apps must have at least one app") }
        let known = self.settings.apps
        var apps: Set<AppName> = []
        for name in names {
            guard let app = AppName(name), known.contains(app) else {
                throw Problem(.unknownApp, "\"\(name.prefix(64))\" is not configured; the apps are \(known.text)")
            }
            apps.insert(app)
        }
        return apps
    }

    /// The hash of the new user's password. A request for a user without a password must have
    /// `WithoutPassword`, since a missing `Password` may be a mistake.
    private func newHash(_ body: JSONBody, of name: Username, _ context: RequestContext) async throws -> PasswordHash {
        if try body.bool("WithoutPassword") == true {
            guard body.value("Password") == nil else {
                throw Problem(.invalidMember, "Password and WithoutPassword cannot be combined; send one of them")
            }
            return .none(self.authenticator.parameters)
        }
        return try await self.hash(Secret(try body.requiredString("Password")), chosenFor: name, context)
    }

    private func hash(
        _ password: Secret<String>,
        chosenFor name: Username,
        _ context: RequestContext
    ) async throws -> PasswordHash {
        let (caller, origin) = (try context.user.name, context.request.origin)
        return try await self.naming("Password") {
            try await self.authenticator.hash(password, chosenFor: name, by: caller, from: origin)
        }
    }

    /// Runs `body`, and turns an error about a password into a problem that names `member`, the
    /// member of the request that contains the password.
    private func naming<Value>(_ member: String, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PasswordError {
            if case .failed = error { throw error }
            throw Problem(.invalidMember, "\(member): \(error)")
        }
    }
}

extension String {
    /// A user's name as one path segment. Of its characters, only the number sign has a meaning in
    /// a URL.
    fileprivate var percentEncoded: String { self.replacing("#", with: "%23") }
}

extension UserEntry {
    /// Whether the user's clients must encrypt, as a text for the audit and for the outcome of an
    /// import.
    static func encryption(isRequired: Bool) -> String { "encryption \(isRequired ? "required" : "optional")" }

    fileprivate var json: JSONValue {
        .object([
            .init("Name", .string(self.name.description)),
            .init("Role", .string(self.role.rawValue)),
            .init("Apps", self.apps.json),
            .init("Tags", .array(self.tags.map { .string($0.description) })),
            .init("CreatedAt", .string(self.createdAt.rfc3339)),
            .init("Disabled", .bool(self.isDisabled)),
            .init("HasPassword", .bool(self.hasPassword)),
            .init("RequiresEncryption", .bool(self.requiresEncryption)),
            .init("LastPush", self.pushedAt.map { .string($0.rfc3339) } ?? .null),
            .init("LastFetch", self.fetchedAt.map { .string($0.rfc3339) } ?? .null),
        ])
    }
}

extension Set<AppName> {
    fileprivate var json: JSONValue { .array(self.sorted().map { .string($0.description) }) }

    fileprivate var text: String { self.sorted().map(\.description).joined(separator: " ") }
}
