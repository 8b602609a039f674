internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Gives tokens to devices without the user's password: a device sends a code that works once, and
/// gets a token in exchange.
struct EnrolmentHandler: Handler {
    let store: any TokenStore
    let authenticator: Authenticator
    /// The lifetime of a token that a device gets for a code.
    let lifetime: Duration

    var routes: [Route] {
        [
            Route(
                .post,
                Paths.userEnrolment("{id}"),
                .atLeast(.publisher, .manage),
                body: ["Scopes", "ExpiresIn"]
            ) {
                try await self.makeCode($0)
            },
            Route(.post, Paths.enrolment, .anybody, body: ["Code"]) { try await self.enrol($0) },
        ]
    }

    /// Makes a code for a user; only the answer to this request shows the code.
    ///
    /// An administrator may make a code for any user. A publisher (an app's own backend) may make
    /// a code only for a user of its apps who has the role `device` and no password. Anybody who
    /// has the code can act as the user.
    private func makeCode(_ context: RequestContext) async throws -> Response {
        let caller = try context.user
        let body = try await context.optionalBody()
        let user = try await context.managedUser()
        guard let hash = try await context.reader.password(of: user) else { throw Problem(.notFound) }
        guard caller.role == .admin || hash.isNone else {
            throw Problem(.forbidden, "a publisher may enrol only users without a password")
        }
        guard !user.isDisabled else { throw Problem(.forbidden, "the user is disabled") }
        let order = try TokenOrder(
            body,
            role: user.role,
            usual: EnrolmentCode.usualLifetime,
            maximum: EnrolmentCode.lifetime.upperBound
        )
        guard order.lifetime >= EnrolmentCode.lifetime.lowerBound else {
            throw Problem(.invalidMember, "ExpiresIn must be at least 60 seconds")
        }
        let code = EnrolmentCode.random()
        let expiresAt = context.now + TimeInterval(order.lifetime.components.seconds)
        let isAdded = try await self.store.addEnrolment(
            code.fingerprint,
            for: user,
            NewToken(order.scopes, now: context.now, expiresAt: expiresAt),
            by: context.record(.enrol, of: user.name.description, detail: order.summary(until: expiresAt))
        )
        guard isAdded else { throw Problem(.notFound) }
        return Response(
            created: Paths.enrolment,
            .object([
                .init("Code", .string(code.text.exposed)),
                .init("ExpiresAt", .string(expiresAt.rfc3339)),
                .init("Scopes", order.scopes.json),
            ])
        )
    }

    /// Exchanges a code for a token. Every invalid code gets the same answer, and counts as a
    /// failed sign-in.
    private func enrol(_ context: RequestContext) async throws -> Response {
        let (now, origin) = (context.now, context.request.origin)
        let text = try JSONBody(try await context.request.body.collect()).requiredString("Code")
        let client = AuditRecord.Actor(
            name: nil,
            token: nil,
            client: context.request.client.description,
            request: context.id.stored
        )
        let expiresAt = now + TimeInterval(self.lifetime.components.seconds)
        var enrolment: Enrolment?
        // This cheap read comes before the write, so that a stranger's wrong guess does not enter
        // the writer's queue.
        if let code = EnrolmentCode(text), try await context.reader.hasEnrolment(code.fingerprint, now: now) {
            enrolment = try await self.store.redeemEnrolment(code.fingerprint, expiresAt: expiresAt, now: now) {
                let actor = AuditRecord.Actor(name: $0, token: nil, client: client.client, request: client.request)
                let detail = "by a code, scopes \($1), until \(expiresAt.rfc3339)"
                return AuditRecord(.beginSession, of: $0.description, detail: detail, by: actor, at: now)
            }
        }
        guard let enrolment else {
            throw self.authenticator.gate.refusal(.enrolmentRefused, from: origin, now: now)
        }
        for fingerprint in enrolment.session.ended { self.authenticator.tokenEnded(fingerprint) }
        self.authenticator.gate.recordRight(now: now)
        return Response(
            created: Paths.currentSession,
            .object([
                .init("Name", .string(enrolment.user.description)),
                .init("Account", .string(self.authenticator.accounts.id(ofUser: enrolment.userID).text)),
                .init("Token", .string(enrolment.session.token.text.exposed)),
                .init("ExpiresAt", .string(expiresAt.rfc3339)),
                .init("Scopes", enrolment.scopes.json),
            ])
        )
    }
}
