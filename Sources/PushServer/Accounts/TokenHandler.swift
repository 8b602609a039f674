internal import Foundation
internal import HTTPTypes
internal import Logging
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Makes, lists and revokes tokens of any user.
struct TokenHandler: Handler {
    let store: any TokenStore
    let reports: ReportReader
    let revoker: TokenRevoker
    /// The lifetime of a token if the request names no lifetime.
    let usualLifetime: Duration
    let logger: Logger

    var routes: [Route] {
        [
            Route(.post, Paths.tokens, .atLeast(.admin, .manage), body: ["User", "Scopes", "ExpiresIn"]) {
                try await self.addToken($0)
            },
            Route(.get, Paths.tokens, .atLeast(.admin, .manage), query: ["user", "cursor", "after", "limit"]) {
                try await self.listTokens($0)
            },
            Route(.delete, Paths.token("{id}"), .atLeast(.admin, .manage)) { try await self.deleteToken($0) },
        ]
    }

    /// Gives any user a token.
    private func addToken(_ context: RequestContext) async throws -> Response {
        let caller = try context.user.name
        let body = try JSONBody(try await context.request.body.collect())
        let unknown = Problem(.unknownUser, "User is not the name of a user")
        guard
            let name = Username(try body.requiredString("User")),
            let user = try await context.reader.user(named: name)
        else { throw unknown }
        guard !user.isDisabled else { throw Problem(.forbidden, "the user is disabled") }
        let order = try TokenOrder(
            body,
            role: user.role,
            usual: self.usualLifetime,
            maximum: BearerToken.lifetime.upperBound
        )
        let expiresAt = context.now + TimeInterval(order.lifetime.components.seconds)
        let token = try await self.store.addToken(
            for: name,
            NewToken(order.scopes, now: context.now, expiresAt: expiresAt),
            by: context.record(.addToken, of: user.name.description, detail: order.summary(until: expiresAt))
        )
        guard let token else { throw unknown }
        self.logger.info(
            "token created",
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

    /// Lists tokens in the order of their prefixes, a page at a time. A cursor is the last prefix
    /// of the previous page.
    private func listTokens(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let user = try query["user"].map { text in
            guard let name = Username(text) else { throw Problem(.invalidParameter, "user must be a user name") }
            return name
        }
        let last = try query.start(
            { TokenPrefix($0) },
            older: "after",
            "a token prefix: spt_ and eight characters"
        )
        let size = try query.limit
        let now = context.now
        let tokens = try await self.reports.run {
            try await $0.tokens(of: user, after: last, limit: size + 1, now: now)
        }
        let shown = tokens.prefix(size)
        return Response(
            page: "Tokens",
            shown.map { $0.json(context.reader) },
            cursor: (shown.last?.prefix ?? last)?.description,
            hasMore: tokens.count > size
        )
    }

    private func deleteToken(_ context: RequestContext) async throws -> Response {
        let caller = try context.user.name
        guard
            let prefix = TokenPrefix(context.parameter),
            try await self.revoker.revoke(prefix, by: context.record(.revokeToken, of: prefix.description))
        else { throw Problem(.notFound) }
        self.logger.info("token revoked", metadata: ["token": "\(prefix)", "by": "\(caller)"])
        return .noContent
    }
}

extension TokenEntry {
    fileprivate func json(_ audit: any AuditReader) -> JSONValue {
        .object([
            .init("Prefix", .string(self.prefix.description)),
            .init("User", .string(self.username.description)),
            .init("Session", .bool(self.isSession)),
            .init("Scopes", self.scopes.json),
            .init("CreatedAt", .string(self.createdAt.rfc3339)),
            .init("ExpiresAt", .string(self.expiresAt.rfc3339)),
            .init("LastUse", self.usedAt.map { .string($0.rfc3339) } ?? .null),
            .init("AuditId", .string(audit.auditName(of: self.prefix))),
        ])
    }
}
