internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

extension PushServer {
    static let userRoutes = [
        Route(.post, Paths.users, .atLeast(.admin)) { try await $0.addUser($1) }
    ]

    /// Makes a user while the daemon runs, which no other process can.
    private func addUser(_ call: Call) async throws -> Response {
        let body = try JSONBody(try await call.request.body.collect())
        guard let name = Username(try body.requiredString("Name")) else {
            throw Problem(.invalidMember, "Name is not 1 to 100 letters, digits, -, _, @, # or .")
        }
        let roleName = try body.string("Role") ?? Role.device.rawValue
        guard let role = Role(rawValue: roleName) else {
            let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.invalidMember, "Role must be one of \(roles)")
        }
        let password = Secret(try body.requiredString("Password"))
        let hash: PasswordHash
        do {
            hash = try await self.authenticator.hash(password)
        } catch let error as PasswordError where error == .length || error == .controlCharacter {
            throw Problem(.invalidMember, "Password: \(error)")
        }
        guard try await self.store.addUser(name, role: role, password: hash, now: call.now) else {
            throw Problem(.conflict, "there is a user \(name)")
        }
        self.authenticator.accountsChanged()
        return Response(
            status: .created,
            uncached: .object([.init("Name", .string(name.description)), .init("Role", .string(role.rawValue))])
        )
    }
}
