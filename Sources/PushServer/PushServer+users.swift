internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Manages users while the daemon runs, which no other process can.
extension PushServer {
    static let userRoutes = [
        Route(.post, Paths.users, .atLeast(.admin, .manage)) { try await $0.addUser($1) },
        Route(.patch, Paths.user("{id}"), .atLeast(.admin, .manage)) { try await $0.changeUser($1) },
        Route(.delete, Paths.user("{id}"), .atLeast(.admin, .manage)) { try await $0.deleteUser($1) },
    ]

    private func addUser(_ call: Call) async throws -> Response {
        let body = try JSONBody(try await call.request.body.collect())
        guard let name = Username(try body.requiredString("Name")) else {
            throw Problem(.invalidMember, "Name is not 1 to 100 letters, digits, -, _, @, # or .")
        }
        let role = try self.role(body) ?? .device
        let hash = try await self.hash(Secret(try body.requiredString("Password")), chosenFor: name)
        let record = try call.record(.addUser, of: name.description, detail: role.rawValue)
        guard try await self.store.addUser(name, role: role, password: hash, by: record, now: call.now) else {
            throw Problem(.conflict, "there is a user \(name)")
        }
        return Response(
            status: .created,
            uncached: .object([.init("Name", .string(name.description)), .init("Role", .string(role.rawValue))])
        )
    }

    /// A new role holds from the next request on; a new password ends the sessions of the old one.
    private func changeUser(_ call: Call) async throws -> Response {
        let body = try JSONBody(try await call.request.body.collect())
        let role = try self.role(body)
        var password: PasswordHash?
        let text = try body.string("Password")
        guard let name = Username(call.parameter) else { throw Problem(.notFound) }
        if let text { password = try await self.hash(Secret(text), chosenFor: name) }
        let changes = [role.map { "role \($0.rawValue)" }, password.map { _ in "password" }].compactMap(\.self)
        let record = try call.record(.changeUser, of: name.description, detail: changes.joined(separator: ", "))
        guard try await self.store.changeUser(name, role: role, password: password, by: record) else {
            throw Problem(.notFound)
        }
        self.authenticator.accountsChanged()
        return .noContent
    }

    private func deleteUser(_ call: Call) async throws -> Response {
        guard
            let name = Username(call.parameter),
            try await self.store.deleteUser(name, by: call.record(.deleteUser, of: name.description))
        else { throw Problem(.notFound) }
        self.authenticator.accountsChanged()
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

    private func hash(_ password: Secret<String>, chosenFor name: Username) async throws -> PasswordHash {
        do {
            return try await self.authenticator.hash(password, chosenFor: name)
        } catch let error as PasswordError {
            if case .failed = error { throw error }
            throw Problem(.invalidMember, "Password: \(error)")
        }
    }
}
