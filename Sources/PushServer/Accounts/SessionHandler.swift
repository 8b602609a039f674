internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

extension PushServer {
    static let sessionRoutes = [
        Route(.post, Paths.sessions, .atLeast(.device, [])) { try await $0.beginSession($1) },
        Route(.delete, Paths.currentSession, .atLeast(.device, [])) { try await $0.endSession($1) },
    ]

    /// Gives the caller a token in place of the password. One token cannot get another, or none would ever end.
    private func beginSession(_ call: Call) async throws -> Response {
        guard try call.token == nil else { throw Problem(.forbidden, "a session begins with the password") }
        let user = try call.user
        let bytes = try await call.request.body.collect()
        let body = try bytes.isEmpty ? JSONBody(.object([])) : JSONBody(bytes)
        let lifetime = self.settings.sessionLifetime
        let order = try TokenOrder(body, role: user.role, usual: lifetime, maximum: lifetime)
        let expiresAt = call.now + TimeInterval(order.lifetime.components.seconds)
        let session = try await self.store.addSession(
            for: user,
            scopes: order.scopes,
            expiresAt: expiresAt,
            by: call.record(.beginSession, of: user.name.description),
            now: call.now
        )
        guard let session else { throw Problem(.unauthorized) }
        for fingerprint in session.ended { self.authenticator.tokenEnded(fingerprint) }
        return Response(
            created: Paths.currentSession,
            .object([
                .init("Token", .string(session.token.text.exposed)),
                .init("ExpiresAt", .string(expiresAt.rfc3339)),
                .init("Scopes", order.scopes.json),
            ])
        )
    }

    /// Ends the token of this request.
    private func endSession(_ call: Call) async throws -> Response {
        guard let token = try call.token else { throw Problem(.notFound, "the caller came without a token") }
        try await self.revokeToken(token.prefix, by: call.record(.revokeToken, of: call.user.name.description))
        return .noContent
    }
}

extension Scopes {
    /// An array of names.
    var json: JSONValue { .array(self.names.map { .string($0) }) }
}
