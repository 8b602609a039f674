public import Foundation
public import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A device's side of the API: register, send to oneself, collect.
///
/// Each request carries a `MyToken`, and no answer without its echo is believed: a proxy that answers from its cache or
/// invents an answer shows itself as `PushClientError.interference`.
///
/// ```swift
/// let session = try await PushClient(server: url, username: "alice", password: password).signIn()
/// let client = PushClient(server: url, token: session.token)  // keep the token, and forget the password
/// try await client.register(platform: "apns", handle: deviceToken)
/// let item = try await client.notification(secureId)
/// ```
public struct PushClient: Sendable {
    private let server: URL
    private let authorization: String
    private let session: URLSession

    /// A client that signs in with every request, unasked.
    public init(server: URL, username: String, password: String) {
        let credentials = Data("\(username):\(password)".utf8).base64EncodedString()
        self.init(server: server, authorization: "Basic \(credentials)")
    }

    /// A client that shows the token of a session, or one that an administrator made.
    public init(server: URL, token: String) {
        self.init(server: server, authorization: "Bearer \(token)")
    }

    private init(server: URL, authorization: String) {
        self.server = server
        self.authorization = authorization
        self.session = URLSession(configuration: .ephemeral, delegate: NoSecondTry(), delegateQueue: nil)
    }

    /// Exchanges the password for a token, which can be ended and ends by itself.
    ///
    /// A client that shows a token already is refused with a `forbidden` problem.
    public func signIn() async throws -> Session {
        let answer = try await self.call("POST", Paths.sessions)
        guard let session = Session(answer) else { throw PushClientError.unreadable }
        return session
    }

    /// Ends the token that this client shows: every later call is `unauthorized`.
    public func signOut() async throws {
        _ = try await self.call("DELETE", Paths.currentSession)
    }

    /// Registers a device and returns its registration id.
    ///
    /// If the server says that the id is no longer valid, asks for a new one, once.
    @discardableResult
    public func register(platform: String, handle: String, tags: [String] = []) async throws -> String {
        let body = JSONValue.object([
            .init("Platform", .string(platform)), .init("Handle", .string(handle)),
            .init("Tags", .array(tags.map { .string($0) })),
        ])
        let id = try await self.requestRegistration(handle: handle)
        do {
            _ = try await self.call("PUT", Paths.registration(id), body: body)
            return id
        } catch PushClientError.problem(let problem) where problem.code == .registrationGone {
            let id = try await self.requestRegistration(handle: nil)
            _ = try await self.call("PUT", Paths.registration(id), body: body)
            return id
        }
    }

    /// Sends a text to the caller's own devices and returns what was stored.
    public func send(_ payload: String) async throws -> NotificationItem {
        try self.item(await self.call("POST", Paths.notifications, body: .string(payload)))
    }

    /// Collects a notification by the `secureId` of its push.
    public func notification(_ id: Int64) async throws -> NotificationItem {
        try self.item(await self.call("GET", Paths.notification(id)))
    }

    // MARK: - Private

    private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
        do {
            return try await self.session.data(for: request)
        } catch let error as URLError where error.code == .cancelled && !Task.isCancelled {
            // So Foundation on Linux reports a refused challenge, for which it shows no answer.
            throw PushClientError.unauthorized
        }
    }

    private func requestRegistration(handle: String?) async throws -> String {
        var path = Paths.register
        if let handle {
            // Everything but letters and digits: a handle may be a URL itself.
            path += "?handle=" + (handle.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
        guard let id = try await self.call("POST", path).text else { throw PushClientError.unreadable }
        return id
    }

    private func item(_ json: JSONValue) throws -> NotificationItem {
        guard let item = NotificationItem(json) else { throw PushClientError.unreadable }
        return item
    }

    /// The body of a successful answer; null if it is empty.
    private func call(_ method: String, _ path: String, body: JSONValue? = nil) async throws -> JSONValue {
        guard let url = URL(string: path, relativeTo: self.server) else { throw PushClientError.unreadable }
        let token = MyToken.random()
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.cachePolicy = .reloadIgnoringLocalCacheData
        request.setValue(self.authorization, forHTTPHeaderField: "Authorization")
        request.setValue(token.description, forHTTPHeaderField: MyToken.fieldName)
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(body.bytes)
        }
        let (data, response) = try await self.answer(to: request)
        guard let answer = response as? HTTPURLResponse else { throw PushClientError.unreadable }
        let echo = answer.value(forHTTPHeaderField: MyToken.fieldName)
        guard echo == token.echo else {
            throw PushClientError.interference(expected: token.echo, seen: echo)
        }
        guard answer.statusCode != 401 else { throw PushClientError.unauthorized }
        guard (200...299).contains(answer.statusCode) else {
            // An answer of our own server that is not a problem: older, or newer.
            guard let problem = try? JSONDecoder().decode(Problem.self, from: data) else {
                throw PushClientError.unreadable
            }
            throw PushClientError.problem(problem)
        }
        if data.isEmpty { return .null }
        // Why it is not JSON would tell the app nothing.
        guard let json = try? JSONValue(reading: data) else { throw PushClientError.unreadable }
        return json
    }
}

/// Answers a challenge by giving up: the credentials were sent already, and would be refused again.
private final class NoSecondTry: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let isBasic = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
        completionHandler(isBasic ? .rejectProtectionSpace : .performDefaultHandling, nil)
    }
}

/// Why a call failed, besides the network's own `URLError`.
public enum PushClientError: Error, Sendable, Hashable {
    /// Somebody between the server and here answered: the token's echo is wrong or missing.
    case interference(expected: String, seen: String?)
    /// The server's own refusal.
    case problem(Problem)
    /// The name or the password is wrong, or the token is no longer good.
    case unauthorized
    /// The server's answer is none that this version understands.
    case unreadable
}
