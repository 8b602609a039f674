internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Begins and ends sessions: tokens that users get for their password.
struct SessionHandler: Handler {
    let store: any TokenStore
    let authenticator: Authenticator
    let revoker: TokenRevoker
    let lifetime: Duration

    var routes: [Route] {
        [
            Route(.post, Paths.sessions, .atLeast(.device, []), body: ["Scopes", "ExpiresIn"]) {
                try await self.beginSession($0)
            },
            Route(.delete, Paths.currentSession, .atLeast(.device, [])) { try await self.endSession($0) },
        ]
    }

    /// Gives the caller a token in place of the password. One token cannot get another, or none would ever end. The token
    /// of a caller whom a certificate or a proxy has identified is valid only together with one.
    private func beginSession(_ context: RequestContext) async throws -> Response {
        guard try context.token == nil else {
            throw Problem(.forbidden, "a session starts with the password, not with a token")
        }
        let user = try context.user
        let bytes = try await context.request.body.collect()
        let body = try bytes.isEmpty ? JSONBody(.object([])) : JSONBody(bytes)
        let order = try TokenOrder(body, role: user.role, usual: self.lifetime, maximum: self.lifetime)
        let expiresAt = context.now + TimeInterval(order.lifetime.components.seconds)
        let session = try await self.store.addSession(
            for: user,
            scopes: order.scopes,
            expiresAt: expiresAt,
            isVouched: context.known.isVouched,
            by: context.record(.beginSession, of: user.name.description, detail: order.summary(until: expiresAt)),
            now: context.now
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
    private func endSession(_ context: RequestContext) async throws -> Response {
        guard let token = try context.token else { throw Problem(.notFound, "the request has no bearer token") }
        try await self.revoker.revoke(token.prefix, by: context.record(.revokeToken, of: context.user.name.description))
        return .noContent
    }
}

extension Scopes {
    /// An array of names.
    var json: JSONValue { .array(self.names.map { .string($0) }) }
}
