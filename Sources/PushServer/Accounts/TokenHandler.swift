internal import Foundation
internal import HTTPTypes
internal import Logging
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

extension PushServer {
    static let tokenRoutes = [
        Route(.post, Paths.tokens, .atLeast(.admin, .manage)) { try await $0.addToken($1) },
        Route(.get, Paths.tokens, .atLeast(.admin, .manage)) { try await $0.listTokens($1) },
        Route(.delete, Paths.token("{id}"), .atLeast(.admin, .manage)) { try await $0.deleteToken($1) },
    ]

    /// Ends a token, on all loops, before it is answered; `false` if there is none.
    @discardableResult
    func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord) async throws -> Bool {
        guard let fingerprint = try await self.store.revokeToken(prefix, by: record) else { return false }
        self.authenticator.tokenEnded(fingerprint)
        return true
    }

    /// Gives any user a token.
    private func addToken(_ call: Call) async throws -> Response {
        let caller = try call.user.name
        let body = try JSONBody(try await call.request.body.collect())
        let unknown = Problem(.unknownUser, "User is nobody")
        guard
            let name = Username(try body.requiredString("User")),
            let user = try self.readers[call.request.loopIndex].user(named: name)
        else { throw unknown }
        let order = try TokenOrder(
            body,
            role: user.role,
            usual: self.settings.sessionLifetime,
            maximum: BearerToken.lifetime.upperBound
        )
        let expiresAt = call.now + TimeInterval(order.lifetime.components.seconds)
        let token = try await self.store.addToken(
            for: name,
            scopes: order.scopes,
            expiresAt: expiresAt,
            by: call.record(.addToken, of: user.name.description),
            now: call.now
        )
        guard let token else { throw unknown }
        self.logger.info(
            "token made",
            metadata: ["token": "\(token.prefix)", "user": "\(user.name)", "by": "\(caller)"]
        )
        return Response(
            created: Paths.token(token.prefix.description),
            .object([
                .init("Token", .string(token.text.exposed)),
                .init("Prefix", .string(token.prefix.description)),
                .init("ExpiresAt", .string(expiresAt.rfc3339)),
                .init("Scopes", order.scopes.json),
            ])
        )
    }

    /// Lists tokens by their prefixes, a page at a time: `user`, `after` (a prefix) and `limit`.
    private func listTokens(_ call: Call) async throws -> Response {
        let query = try Query(call.request.head.query)
        let user = try query["user"].map { text in
            guard let name = Username(text) else { throw Problem(.invalidParameter, "user is not a user's name") }
            return name
        }
        let last = try query["after"].map { text in
            guard let prefix = TokenPrefix(text) else { throw Problem(.invalidParameter, "after is no prefix") }
            return prefix
        }
        let size = try query.limit
        let now = call.now
        let tokens = try await self.reports.run { try $0.tokens(of: user, after: last, limit: size + 1, now: now) }
        return Response(
            uncached: .object([
                .init("Tokens", .array(tokens.prefix(size).map { $0.json(self.store.audit) })),
                .init("More", .bool(tokens.count > size)),
            ])
        )
    }

    private func deleteToken(_ call: Call) async throws -> Response {
        let caller = try call.user.name
        guard
            let prefix = TokenPrefix(call.parameter),
            try await self.revokeToken(prefix, by: call.record(.revokeToken, of: prefix.description))
        else { throw Problem(.notFound) }
        self.logger.info("token revoked", metadata: ["token": "\(prefix)", "by": "\(caller)"])
        return .noContent
    }
}

extension TokenEntry {
    fileprivate func json(_ audit: AuditTrail) -> JSONValue {
        .object([
            .init("Prefix", .string(self.prefix.description)),
            .init("User", .string(self.username.description)),
            .init("Session", .bool(self.isSession)),
            .init("Scopes", self.scopes.json),
            .init("CreatedAt", .string(self.createdAt.rfc3339)),
            .init("ExpiresAt", .string(self.expiresAt.rfc3339)),
            .init("LastUse", self.usedAt.map { .string($0.rfc3339) } ?? .null),
            .init("AuditId", .string(audit.name(of: self.prefix))),
        ])
    }
}
