internal import Bytes
internal import Foundation
internal import HTTPTypes
internal import PushAPI
package import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

/// The one-time code that permits its holder to make the first administrator of a server without
/// users.
package final class SetupCode: Sendable {
    /// How long a setup code is valid.
    package static let lifetime = Duration.seconds(3600)

    private let code = Mutex<(text: Secret<String>, end: ContinuousClock.Instant)?>(nil)

    package init() {}

    /// Makes a new code, for the server to show to the operator who starts it.
    package func make() -> Secret<String> {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        let text = Secret(Hexadecimal.text(of: bytes))
        self.code.withLock { $0 = (text, .now + Self.lifetime) }
        return text
    }

    /// Whether `text` is the current code, and the code has not expired.
    func matches(_ text: String) -> Bool {
        guard let (code, end) = self.code.withLock({ $0 }), .now < end else { return false }
        let (given, made) = (Array(text.utf8), Array(code.exposed.utf8))
        guard given.count == made.count else { return false }
        return zip(given, made).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Uses up the code. Returns `false` if `text` is no longer the current code. Of several
    /// concurrent calls with the code, only one returns `true`.
    func take(_ text: String) -> Bool {
        guard self.matches(text) else { return false }
        return self.code.withLock { code in
            guard code?.text.exposed == text else { return false }
            code = nil
            return true
        }
    }
}

/// Makes the first administrator for whoever has the code that the server showed at its start.
struct SetupHandler: Handler {
    let store: any AccountStore
    let reports: ReportReader
    let authenticator: Authenticator
    let code: SetupCode

    var routes: [Route] {
        [
            Route(.post, Paths.setup, .anybody, body: .init(["Code", "Name", "Password"], strangersLimit: 4096)) {
                try await self.setUp($0)
            }
        ]
    }

    /// Makes the first administrator. Accepts a code only once, and only while the server has no
    /// users.
    private func setUp(_ context: RequestContext) async throws -> Response {
        let body = try JSONBody(try await context.request.body.collect())
        let refusal = Problem(.forbidden, "the link was used or has expired; restart the server for a new one")
        let text = try body.requiredString("Code")
        guard self.code.matches(text) else { throw refusal }
        guard let name = Username.ofNewUser(try body.requiredString("Name")) else {
            throw Problem(.invalidMember, "Name must be \(Username.rule)")
        }
        let password = Secret(try body.requiredString("Password"))
        let hash: PasswordHash
        do {
            let origin = context.request.origin
            hash = try await self.authenticator.hash(password, chosenFor: name, by: name, from: origin)
        } catch let error as PasswordError {
            if case .failed = error { throw error }
            throw Problem(.invalidMember, "Password: \(error)")
        }
        guard try await !self.reports.run({ try await $0.hasUsers() }), self.code.take(text) else { throw refusal }
        let actor = AuditRecord.Actor(
            name: nil,
            token: nil,
            client: context.request.client.description,
            request: context.id.stored
        )
        let isAdded = try await self.store.addUser(
            NewUser(name, role: .admin, password: hash),
            by: AuditRecord(.addUser, of: name.description, detail: "admin, by the link", by: actor, at: context.now),
            now: context.now
        )
        guard isAdded else { throw refusal }
        return Response(created: Paths.sessions, .object([.init("Name", .string(name.description))]))
    }
}
