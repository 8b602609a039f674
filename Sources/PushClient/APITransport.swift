internal import Foundation
internal import HTTPSignatures
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Sends requests with credentials and a random `MyToken`, which the answer must echo; repeats a
/// request if the connection is lost, and returns answers that have passed the checks.
final class APITransport: Sendable {
    /// The server's API; `nil` if the server's URL is invalid.
    let endpoint: Endpoint?
    private let credentials: PushClient.Credentials
    private let options: PushClient.Options
    let own: OwnAccount
    private let check: AnswerCheck
    private let transport: Transport
    /// Whether the server has accepted the password after a challenge. Later requests send the
    /// password without a challenge (RFC 7617 section 2.2). A lock protects the flag, because
    /// calls run at the same time.
    private let isLetIn = Locked(false)
    /// Whether this client has asked the server which account its name and password belong to.
    private let isIdentified = Locked(false)
    /// The app's token that an accepted answer has last confirmed as one of the client's account.
    private let confirmed = Locked<String?>(nil)

    init(server: URL, credentials: PushClient.Credentials, options: PushClient.Options, own: OwnAccount) {
        self.own = own
        self.endpoint = Endpoint(server, signatureKeys: options.signatures.keys)
        self.credentials = credentials
        self.options = options
        self.check = AnswerCheck(keys: options.signatures.keys, tolerance: options.signatureTolerance)
        self.transport = Transport(options)
    }

    /// Returns the server's answer if it is a success or 304; throws the server's refusals.
    ///
    /// The call ends within the options' deadline or, as a part of a longer call, within that
    /// call's deadline.
    func call(_ request: APIRequest) async throws -> Answer {
        if request.isAnonymous {
            return try await CallDeadline.within(self.options.deadline) {
                try Self.success(try await self.ask(request, nil).answer)
            }
        }
        return try await self.signedIn(isSignIn: request.isSignIn, hasPayload: request.hasPayload) {
            try await self.ask(request, $0)
        }
    }

    typealias Asked = (answer: Answer, isChallenge: Bool)

    /// Throws `PushClientError.signedOut` without credentials, and after a sign-out of the
    /// account.
    func checkSignedIn() throws {
        if case .missing = self.credentials.kind { throw PushClientError.signedOut }
        if self.own.isEnded { throw PushClientError.signedOut }
    }

    /// Throws `PushClientError.signedOut` if nobody is signed in. If the client does not know
    /// whether the stored data belong to its token's account, asks the server, and throws for
    /// another account.
    func checkOwner() async throws {
        try self.checkSignedIn()
        if self.own.ownsStored { return }
        try await CallDeadline.within(self.options.deadline) {
            if case .provided(let provider) = self.credentials.kind, provider.last == nil {
                _ = try await self.bounded { try await provider.token(insteadOf: nil) }
                // The token may be that of the app's last start.
                if self.own.ownsStored { return }
            }
            let request = APIRequest("GET", Paths.currentSession)
            let answer = try Self.success(try await self.answer { try await self.ask(request, $0) })
            // `exchange` has learned the account of the answer.
            guard self.own.ownsStored else {
                throw answer.interference(.wrongAccount, self.own.id ?? "an account", answer.account)
            }
        }
    }

    /// Sends a request with credentials. Sends it again if the server asks for a password, or
    /// refuses a token and the app has another token. Throws the server's refusals.
    ///
    /// All requests of a signed-in account pass here. After a sign-out this function throws
    /// `PushClientError.signedOut`, and sends nothing.
    func signedIn(
        isSignIn: Bool = false,
        hasPayload: Bool = false,
        _ ask: (_ authorization: String?) async throws -> Asked
    ) async throws -> Answer {
        try await CallDeadline.within(self.options.deadline) {
            if !isSignIn {
                try await self.checkOwner()
                try await self.identify()
            }
            return try Self.success(try await self.answer(hasPayload: hasPayload, ask))
        }
    }

    // MARK: - Private

    /// If the account id is unknown, asks the server once which account the name and password
    /// belong to. Without this question, a proxy could answer the first call with the data of its
    /// own account, and the client would adopt that account.
    private func identify() async throws {
        guard let username = self.credentials.username, self.own.id == nil, !self.isIdentified.withLock({ $0 }) else {
            return
        }
        let request = APIRequest("GET", Paths.currentSession)
        let answer = try Self.success(try await self.answer { try await self.ask(request, $0) })
        if let account = try answer.account(of: username) { try self.own.begin(as: account) }
        // This client does not ask for its account again, even if the server has no account ids.
        self.isIdentified.withLock { $0 = true }
    }

    private func answer(
        hasPayload: Bool = false,
        _ ask: (_ authorization: String?) async throws -> Asked
    ) async throws -> Answer {
        let answer: Answer
        switch self.credentials.kind {
        case .missing: throw PushClientError.signedOut
        case .provided(let provider):
            answer = try await self.answer(provider) { try await self.answer($0, hasPayload: hasPayload, ask) }
        case .unasked(let authorization): answer = try await ask(authorization).answer
        case .whenChallenged(let authorization):
            let isLetIn = self.isLetIn.withLock { $0 }
            let (first, isChallenge) = try await ask(isLetIn ? authorization : nil)
            guard first.status == 401, isChallenge, !isLetIn else {
                answer = first
                break
            }
            // If the server refuses the password, this call does not send it again.
            answer = try await ask(authorization).answer
            if answer.status != 401 { self.isLetIn.withLock { $0 = true } }
        }
        return answer
    }

    /// Sends a request with the app's token. If the server refuses the token, sends the request
    /// again with another token: a refused request had no effect.
    private func answer(
        _ provider: TokenProvider,
        _ ask: (_ authorization: String) async throws -> Answer
    ) async throws -> Answer {
        let token = try await self.bounded { try await provider.token(insteadOf: nil) }
        let answer = try await ask("Bearer \(token)")
        guard answer.status == 401 else { return answer }
        let other = try await self.bounded { try await provider.token(insteadOf: token) }
        if other == token { return answer }
        return try await ask("Bearer \(other)")
    }

    /// Sends a request with a token of the app. The app may return another user's token, which
    /// would send a payload to that user. So before a payload, the server says whose token it is.
    private func answer(
        _ authorization: String,
        hasPayload: Bool,
        _ ask: (_ authorization: String?) async throws -> Asked
    ) async throws -> Answer {
        if hasPayload, self.confirmed.withLock({ $0 != authorization }) {
            let answer = try await self.ask(APIRequest("GET", Paths.currentSession), authorization).answer
            if answer.status == 401 { return answer }
            _ = try Self.success(answer)
            // Servers without account ids name no account.
            self.confirmed.withLock { $0 = authorization }
        }
        return try await ask(authorization).answer
    }

    /// Runs a closure that the app has passed; throws when the call's time is over.
    private func bounded(_ body: @escaping @Sendable () async throws -> String) async throws -> String {
        do {
            return try await CallDeadline.race(within: CallDeadline.remaining(atMost: self.options.deadline), body)
        } catch {
            // The closure may have no connection either.
            throw NetworkFailure.clientError(error)
        }
    }

    static func success(_ answer: Answer) throws(PushClientError) -> Answer {
        if (200...299).contains(answer.status) || answer.status == 304 { return answer }
        // `JSONValue` has parsed the same bytes, so the decoder's error would add nothing.
        guard let problem = try? JSONDecoder().decode(Problem.self, from: answer.body), problem.status == answer.status
        else { throw answer.unexpected("a problem of status \(answer.status)") }
        if problem.status == 401 { throw .unauthorized(problem) }
        // With 408 and `idempotencyKeyInUse`, the server has not decided about the request.
        let isForNow = [408, 429].contains(problem.status) || problem.status >= 500
        guard isForNow || problem.code == .idempotencyKeyInUse else { throw .problem(problem) }
        throw .busy(problem, retryAfter: answer.fields.retryAfter)
    }

    /// Sends the request, and once more if the connection was lost and the request is repeatable.
    /// If the response is an event stream, its body is written to `channel`.
    func ask(_ request: APIRequest, _ authorization: String?, into channel: EventChannel? = nil) async throws -> Asked {
        do {
            return try await self.askOnce(request, authorization, channel)
        } catch PushClientError.offline(.networkConnectionLost) where request.isRepeatable {
            // The connection ended before any of the answer arrived.
            return try await self.askOnce(request, authorization, channel)
        }
    }

    private func askOnce(
        _ request: APIRequest,
        _ authorization: String?,
        _ channel: EventChannel?
    ) async throws -> Asked {
        let start = ContinuousClock.now
        do {
            let asked = try await self.exchange(request, authorization, channel)
            let event = ClientEvent(request, status: asked.answer.status, start.duration(to: .now), "answered")
            self.options.observe?(event)
            return asked
        } catch {
            let error = NetworkFailure.clientError(error)
            self.options.observe?(ClientEvent(request, error, start.duration(to: .now)))
            throw error
        }
    }

    private func exchange(
        _ request: APIRequest,
        _ authorization: String?,
        _ channel: EventChannel?
    ) async throws -> Asked {
        guard let endpoint else { throw PushClientError.invalidServer }
        if let fault = endpoint.fault(self.options) ?? self.credentials.fault(authorization) { throw fault }
        // An app's own HTTP client, `exchange`, would ignore the pins.
        guard self.options.serverTrust.isAvailable, self.options.exchange == nil || self.options.serverTrust == .system
        else { throw PushClientError.pinningUnavailable }
        let token = MyToken.random()
        var request = request
        request.nonce = APIRequest.randomNonce()
        let account = self.own.id
        var asked = try endpoint.urlRequest(for: request, token, authorization: authorization, account: account)
        try Endpoint.add(self.options.headers?(request.method, request.route) ?? [:], to: &asked)
        let urlRequest = asked
        do {
            let limit = try CallDeadline.remaining(atMost: self.options.timeout)
            let size = min(self.options.answerLimit, request.answerLimit)
            let response: RawResponse
            if channel == nil, let exchange = self.options.exchange {
                response = try await CallDeadline.race(within: limit) {
                    let (body, head) = try await exchange(urlRequest, size)
                    return RawResponse(head, body, upTo: size)
                }
            } else {
                response = try await self.transport.exchange(urlRequest, within: limit, upTo: size, into: channel) {
                    head in
                    AnswerCheck.isEchoed(token, by: head)
                        && (channel == nil || head.statusCode != 200 || head.isEventStream)
                }
            }
            if channel != nil, response.status == 200 {
                return (try self.check.opening(of: request, token, response, account: account), false)
            }
            let answer = try self.check.answer(
                to: request,
                token,
                response,
                account: account,
                now: self.options.now()
            )
            // With a token, the first answer that names an account determines the client's
            // account. With a password, `identify` asks for the account.
            if self.credentials.username == nil, self.credentials.accountID == nil, !request.isSignIn,
                let seen = answer.account, !self.own.learn(seen, from: authorization)
            {
                throw answer.interference(.wrongAccount, self.own.id ?? "an account", seen)
            }
            if answer.account != nil, !request.isSignIn { self.confirmed.withLock { $0 = authorization } }
            return (answer, response.isChallenge)
        } catch {
            guard let found = NetworkFailure.refusedCertificate(error, path: request.path) else { throw error }
            throw PushClientError.interference(found)
        }
    }

}

extension Error {
    /// Whether the network failed, or an answer was not the server's own.
    var isOfNetwork: Bool {
        switch FetchFailure(self) {
        case .offline, .interference: true
        case .busy, nil: false
        }
    }
}
