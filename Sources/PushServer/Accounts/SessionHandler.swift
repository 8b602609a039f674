internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Begins and ends sessions. A user exchanges the password for a token. The answer has the token
/// in its body or, for the console's page, in a cookie.
struct SessionHandler: Handler {
    let store: any TokenStore
    let authenticator: Authenticator
    let revoker: TokenRevoker
    let pages: PageSessions
    let lifetime: Duration
    /// The lifetime of a session of the console's page: twelve hours, so that a user must sign in
    /// again on the next day.
    private static let pageLifetime = Duration.seconds(43_200)

    var routes: [Route] {
        [
            Route(.post, Paths.sessions, .atLeast(.device, []), body: ["Scopes", "ExpiresIn", "Cookie"]) {
                try await self.beginSession($0)
            },
            Route(.get, Paths.currentSession, .atLeast(.device, [])) { try await self.showSession($0) },
            Route(.delete, Paths.currentSession, .atLeast(.device, [])) { try await self.endSession($0) },
        ]
    }

    /// Gives the caller a token in place of the password.
    ///
    /// A request with a token of this server cannot begin a session, or sessions could be extended
    /// for ever. A token of the configured issuer can begin a session if the configuration allows
    /// such sessions; the session then has no more scopes than that token. If a certificate or a
    /// proxy has identified the caller, the new token is valid only together with a certificate or
    /// a proxy that names the same user.
    private func beginSession(_ context: RequestContext) async throws -> Response {
        guard try context.token == nil else {
            throw Problem(.forbidden, "a session starts with the password; a token cannot start one")
        }
        let issued = try context.known.issued
        guard issued == nil || self.authenticator.issuer?.rules.allowsSessions == true else {
            throw Problem(.forbidden, "an issuer's token cannot start a session; send it with each request")
        }
        let user = try context.user
        let body = try await context.optionalBody()
        try body.refuseNull(["Cookie"])
        let isForPage = try body.bool("Cookie") ?? false
        let order = try TokenOrder(
            body,
            role: user.role,
            usual: isForPage ? min(self.lifetime, Self.pageLifetime) : self.lifetime,
            maximum: self.lifetime,
            // The console's page gets all scopes of the role: without `manage`, the page's user
            // would need the password for many actions.
            scopes: (isForPage ? user.role.scopes : user.role.usualScopes).intersection(issued?.scopes ?? .all)
        )
        guard order.scopes.isSubset(of: issued?.scopes ?? .all) else {
            throw Problem(.invalidMember, "Scopes must be among the token's scopes: \(issued?.scopes ?? [])")
        }
        let expiresAt = context.now + TimeInterval(order.lifetime.components.seconds)
        let session = try await self.store.addSession(
            for: user,
            NewToken(order.scopes, isVouched: context.known.isVouched, now: context.now, expiresAt: expiresAt),
            by: context.record(.beginSession, of: user.name.description, detail: order.summary(until: expiresAt))
        )
        guard let session else { throw Problem(.unauthorized) }
        for fingerprint in session.ended { self.authenticator.tokenEnded(fingerprint) }
        if isForPage {
            let text = session.token.text
            let value = self.pages.value(for: text.exposed)
            var response = Response(
                created: Paths.currentSession,
                self.json(of: user, order.scopes, until: expiresAt, pageToken: value)
            )
            PageSessions.set(text, seconds: order.lifetime.components.seconds, in: &response)
            return response
        }
        return Response(
            created: Paths.currentSession,
            .object([
                .init("Name", .string(user.name.description)),
                .init("Account", .string(self.authenticator.accounts.id(ofUser: user.id).text)),
                .init("Token", .string(session.token.text.exposed)),
                .init("ExpiresAt", .string(expiresAt.rfc3339)),
                .init("Scopes", order.scopes.json),
            ])
        )
    }

    /// Shows the caller's user and scopes. A reloaded console page also gets the value of
    /// `Page-Token` for its requests.
    private func showSession(_ context: RequestContext) async throws -> Response {
        let caller = try context.known
        let user = caller.user
        let page = try self.pageToken(of: context)
        return Response(
            uncached: self.json(of: user, caller.scopes ?? user.role.scopes, until: caller.expiresAt, pageToken: page)
        )
    }

    private func pageToken(of context: RequestContext) throws -> String? {
        let head = context.request.head
        guard head.count(of: .authorization) == 0 else { return nil }
        return try self.pages.token(of: head, isRestored: true).map { self.pages.value(for: $0) }
    }

    private func json(of user: User, _ scopes: Scopes, until end: Date?, pageToken: String?) -> JSONValue {
        .object([
            .init("Name", .string(user.name.description)),
            .init("Account", .string(self.authenticator.accounts.id(ofUser: user.id).text)),
            .init("Role", .string(user.role.rawValue)),
            .init("Scopes", scopes.json),
            .init("ExpiresAt", end.map { .string($0.rfc3339) } ?? .null),
            .init("PageToken", pageToken.map { .string($0) } ?? .null),
        ])
    }

    /// Revokes the token of this request.
    private func endSession(_ context: RequestContext) async throws -> Response {
        guard try context.known.issued == nil else {
            throw Problem(
                .notFound,
                "an issuer's token cannot be revoked; it expires, or an administrator disables the user"
            )
        }
        guard let token = try context.token else { throw Problem(.notFound, "the request has no bearer token") }
        try await self.revoker.revoke(token.prefix, by: context.record(.revokeToken, of: context.user.name.description))
        var response = Response.noContent
        if PageSessions.isOfPage(context.request.head) { PageSessions.clear(in: &response) }
        return response
    }
}

extension Scopes {
    /// The names of the scopes, as a JSON array.
    var json: JSONValue { .array(self.names.map { .string($0) }) }
}
