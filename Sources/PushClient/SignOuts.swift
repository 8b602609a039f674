internal import Foundation
internal import PushAPI

/// The sign-outs of an account that the server does not know yet.
struct SignOuts: Sendable {
    private let account: Account
    /// Gives a token where there is none, or one that is no longer good; `nil` where no client of the session is at hand.
    private let token: (@Sendable (_ refused: String?) async -> String?)?

    init(_ account: Account, token: (@Sendable (_ refused: String?) async -> String?)? = nil) {
        self.account = account
        self.token = token
    }

    /// Ends devices and sessions at a server; returns whether that has none left to end.
    func finish(at server: URL, _ options: PushClient.Options) async throws -> Bool {
        var isDone = true
        for order in self.orders(at: Endpoint(server, signatureKeys: [])?.name) {
            do {
                if try await !self.finish(order, at: server, options) { isDone = false }
            } catch let error where error.leavesWhatIsKept {
                return false
            }
        }
        return isDone
    }

    /// Ends the devices of sessions that have left no token that is good, with the account's next session.
    func finishDevices(with api: APITransport) async throws {
        for order in self.orders(at: api.endpoint?.name) where order.authorization.isEmpty {
            if let id = try self.registration(of: order) { try await self.end(Paths.registration(id), api) }
            try self.account.finish(order)
        }
    }

    // MARK: - Private

    private func orders(at server: String?) -> [SignOutOrder] {
        // What cannot be read now waits.
        ((try? self.account.signOuts()) ?? []).filter { $0.server == server }
    }

    /// Returns whether it is done. Its token is renewed once.
    private func finish(_ order: SignOutOrder, at server: URL, _ options: PushClient.Options) async throws -> Bool {
        var (order, refused) = (order, String?.none)
        for _ in 0..<2 {
            if order.authorization.isEmpty {
                guard let token = await self.token?(refused) else { break }
                order = try self.replace(order, authorization: "Bearer \(token)")
            }
            do {
                try await self.end(order, at: server, options)
                try self.account.finish(order)
                return true
            } catch PushClientError.unauthorized where order.registration == nil {
                // The session has ended already.
                try self.account.finish(order)
                return true
            } catch PushClientError.unauthorized {
                refused = order.authorization.hasPrefix("Bearer ") ? String(order.authorization.dropFirst(7)) : nil
                order = try self.replace(order, authorization: "")
            }
        }
        // Without a device there is nothing that the next session could end.
        if order.registration == nil { try self.account.finish(order) }
        return false
    }

    private func replace(_ order: SignOutOrder, authorization: String) throws -> SignOutOrder {
        var other = order
        other.authorization = authorization
        try self.account.replace(order, with: other)
        return other
    }

    private func end(_ order: SignOutOrder, at server: URL, _ options: PushClient.Options) async throws {
        let api = APITransport(server: server, credentials: order.credentials, options: options)
        if let id = try self.registration(of: order) { try await self.end(Paths.registration(id), api) }
        guard order.authorization.hasPrefix("Bearer ") else { return }
        do {
            try await self.end(Paths.currentSession, api)
        } catch PushClientError.unauthorized {
            // The session has ended already.
        }
    }

    /// The device to end; `nil` if there is none, or the session of now has it: the server gives one device of one user one id.
    private func registration(of order: SignOutOrder) throws -> String? {
        try self.account.currentRegistration() == order.registration ? nil : order.registration
    }

    private func end(_ path: String, _ api: APITransport) async throws {
        do {
            _ = try await api.call(APIRequest("DELETE", path))
        } catch PushClientError.problem(let problem) where [403, 404, 410].contains(problem.status) {
            // It is gone already.
        }
    }
}

extension SignOutOrder {
    init(_ server: String, _ credentials: PushClient.Credentials, registration: String?) {
        switch credentials.kind {
        case .provided(let provider):
            // The app has just started, if there is none: it is asked for one once the account is signed out here.
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
