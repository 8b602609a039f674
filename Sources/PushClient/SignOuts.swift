internal import Bytes
internal import Foundation
internal import PushAPI

/// An account's sign-outs that the server does not know yet.
struct SignOuts: Sendable {
    private let account: Account
    /// Provides a token for a sign-out order that has no valid token; `nil` if there is no client
    /// of the session.
    private let token: (@Sendable (_ refused: String?) async -> String?)?

    init(_ account: Account, token: (@Sendable (_ refused: String?) async -> String?)? = nil) {
        self.account = account
        self.token = token
    }

    /// Ends the registrations and sessions of the waiting sign-outs; returns whether the server
    /// has ended all of them.
    func finish(at server: URL, _ options: PushClient.Options) async throws -> Bool {
        var isDone = true
        for order in self.orders(at: Endpoint(server, signatureKeys: [])?.name) {
            do {
                if try await !self.finish(order, at: server, options) { isDone = false }
            } catch let error where error.isOfNetwork {
                return false
            }
        }
        return isDone
    }

    /// Ends the registrations of signed-out sessions that have no valid token. The account's next
    /// session calls this function, with its own token.
    func finishDevices(with api: APITransport) async throws {
        for order in self.orders(at: api.endpoint?.name) where order.authorization.isEmpty {
            if let id = try self.registration(of: order) { try await self.end(Paths.registration(id), api) }
            try PushClientError.storing { try self.account.finish(order) }
        }
    }

    // MARK: - Private

    private func orders(at server: String?) -> [SignOutOrder] {
        // Sign-out orders that cannot be read wait for a later call.
        ((try? self.account.signOuts()) ?? []).filter { $0.server == server }
    }

    /// Carries out a sign-out order that could not be written; returns whether the server has
    /// ended the order's registration and session.
    func carryOut(_ order: SignOutOrder, at server: URL, _ options: PushClient.Options) async -> Bool {
        // There is only one attempt: a later attempt would need the order, which is not stored.
        (try? await self.end(order, at: server, options)) ?? false
    }

    /// Carries out a sign-out order; if its token is refused, tries once more with a new token.
    /// Returns whether the server has ended the order's registration and session.
    private func finish(_ order: SignOutOrder, at server: URL, _ options: PushClient.Options) async throws -> Bool {
        var (order, refused) = (order, String?.none)
        for _ in 0..<2 {
            if order.authorization.isEmpty {
                guard let token = await self.token?(refused) else { break }
                order = try self.replace(order, authorization: "Bearer \(token)")
            }
            do {
                let isAcknowledged = try await self.end(order, at: server, options)
                try PushClientError.storing { try self.account.finish(order) }
                return isAcknowledged
            } catch PushClientError.unauthorized where order.registration == nil {
                // The session has ended already, or somebody has sent the request without its
                // token.
                try PushClientError.storing { try self.account.finish(order) }
                return false
            } catch PushClientError.unauthorized {
                refused = order.authorization.hasPrefix("Bearer ") ? String(order.authorization.dropFirst(7)) : nil
                order = try self.replace(order, authorization: "")
            }
        }
        // If the order names no registration, the account's next session has nothing to end, so
        // the order is done.
        if order.registration == nil { try PushClientError.storing { try self.account.finish(order) } }
        return false
    }

    private func replace(_ order: SignOutOrder, authorization: String) throws -> SignOutOrder {
        var other = order
        other.authorization = authorization
        try PushClientError.storing { try self.account.replace(order, with: other) }
        return other
    }

    /// Ends an order's registration and session. Returns whether the server has ended both;
    /// `false` after a refusal that another attempt would not change.
    private func end(_ order: SignOutOrder, at server: URL, _ options: PushClient.Options) async throws -> Bool {
        let own = OwnAccount(nil, known: order.account)
        let api = APITransport(server: server, credentials: order.credentials, options: options, own: own)
        var isAcknowledged = true
        if let id = try self.registration(of: order) {
            isAcknowledged = try await self.end(Paths.registration(id), api)
        }
        guard order.authorization.hasPrefix("Bearer ") else { return isAcknowledged }
        do {
            // The end of a session also ends its registration. An identity provider's token has no
            // session that the server could end.
            return try await self.end(Paths.currentSession, api) || isAcknowledged
        } catch PushClientError.unauthorized {
            // The session has ended already, or somebody has sent the request without its token.
            return false
        }
    }

    /// The id of the registration to end. `nil` if the order names none, or if the current session
    /// uses it: in all sessions of one user, the server gives a device the same registration id.
    private func registration(of order: SignOutOrder) throws -> String? {
        let current = try PushClientError.storing { try self.account.currentRegistration() }
        return current == order.registration ? nil : order.registration
    }

    /// Deletes a resource of the server. Returns whether the resource is gone; `false` if the
    /// token may not delete it.
    @discardableResult
    private func end(_ path: String, _ api: APITransport) async throws -> Bool {
        do {
            _ = try await api.call(APIRequest("DELETE", path))
            return true
        } catch PushClientError.problem(let problem) where [403, 404, 410].contains(problem.status) {
            return problem.status != 403 && path != Paths.currentSession
        }
    }
}

extension SignOutOrder {
    init(_ server: String, _ credentials: PushClient.Credentials, registration: String?, account: String?) {
        let (authorization, isWhenChallenged): (String, Bool) =
            switch credentials.kind {
            case .missing: ("", false)
            // If the app has just started, there is no token yet; the client asks the app for a
            // token after the local sign-out.
            case .provided(let provider): (provider.last.map { "Bearer \($0)" } ?? "", false)
            case .unasked(let text): (text, false)
            case .whenChallenged(let text): (text, true)
            }
        self.init(
            server: server,
            // A token that no request can have has opened no session.
            authorization: credentials.fault(authorization) == nil ? authorization : "",
            isWhenChallenged: isWhenChallenged,
            registration: registration,
            account: account
        )
    }

    var credentials: PushClient.Credentials {
        PushClient.Credentials(
            kind: self.isWhenChallenged ? .whenChallenged(self.authorization) : .unasked(self.authorization),
            account: "",
            username: self.username
        )
    }

    /// The user name that belongs to the password; `nil` with a token.
    private var username: String? {
        guard self.authorization.hasPrefix("Basic "),
            let text = Base64.standard.bytes(in: self.authorization.dropFirst(6).utf8)
        else { return nil }
        return String(decoding: text.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
    }
}
