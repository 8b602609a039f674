internal import Foundation
internal import PushAPI

/// The sign-outs of an account that the server does not know yet.
struct SignOuts: Sendable {
    private let account: Account

    init(_ account: Account) {
        self.account = account
    }

    /// Ends devices and sessions at a server; returns whether that has none left to end.
    func finish(at server: URL, _ options: PushClient.Options) async throws -> Bool {
        let name = Endpoint(server, signatureKeys: [])?.name
        // What cannot be read now waits.
        for order in (try? self.account.signOuts()) ?? [] where order.server == name {
            do {
                try await self.end(order, at: server, options)
            } catch let error where error.leavesWhatIsKept {
                return false
            }
            try self.account.finish(order)
        }
        return true
    }

    private func end(_ order: SignOutOrder, at server: URL, _ options: PushClient.Options) async throws {
        let api = APITransport(server: server, credentials: order.credentials, options: options)
        if let id = order.registration { try await self.end(Paths.registration(id), api) }
        if order.authorization.hasPrefix("Bearer ") { try await self.end(Paths.currentSession, api) }
    }

    private func end(_ path: String, _ api: APITransport) async throws {
        do {
            _ = try await api.call(APIRequest("DELETE", path))
        } catch PushClientError.unauthorized {
            // The session has ended already, and its registration cannot be ended with it any more.
        } catch PushClientError.problem(let problem) where [403, 404, 410].contains(problem.status) {
            // It is gone already.
        }
    }
}

extension SignOutOrder {
    init(_ server: String, _ credentials: PushClient.Credentials, registration: String?) {
        switch credentials.kind {
        case .provided(let provider):
            // Without a token there is no session of this client; a device that it registered before ends with the next one.
            let authorization = provider.last.map { "Bearer \($0)" } ?? ""
            self.init(server: server, authorization: authorization, isWhenChallenged: false, registration: registration)
        case .unasked(let text):
            self.init(server: server, authorization: text, isWhenChallenged: false, registration: registration)
        case .whenChallenged(let text):
            self.init(server: server, authorization: text, isWhenChallenged: true, registration: registration)
        }
    }

    var credentials: PushClient.Credentials {
        PushClient.Credentials(
            kind: self.isWhenChallenged ? .whenChallenged(self.authorization) : .unasked(self.authorization),
            account: ""
        )
    }
}
