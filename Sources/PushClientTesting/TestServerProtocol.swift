internal import Foundation
internal import HTTPSignatures
internal import PushClient

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A request as the server reads it.
struct TestRequest: Sendable {
    let method: String
    let path: String
    let query: String?
    var token: String
    let tag: String?
    let idempotencyKey: String?
    let lastEvent: String?
    /// The signature that its `Accept-Signature` asks for; `nil` without that field.
    let signature: SignatureRequest?
    /// The user name of Basic credentials; `nil` if the request has none.
    let username: String?
    let body: [UInt8]

    /// The parts of the request that the server signs.
    func signed(nonce: String?) -> SignedRequest {
        SignedRequest(method: self.method, path: self.path, query: self.query, token: self.token, nonce: nonce)
    }

    func withToken(_ token: String) -> TestRequest {
        var other = self
        other.token = token
        return other
    }
}

/// An answer before it is sent.
struct TestAnswer: Sendable {
    let status: Int
    var fields: [String: String]
    var body: [UInt8]

    init(_ status: Int, fields: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// The result that a client sees.
enum TestOutcome: Sendable {
    case answer(TestAnswer)
    case cut(TestAnswer)
    case failure(URLError.Code)
    case silence
    /// The head of an event stream, and its number.
    case stream(TestAnswer, Int)
}

/// Passes requests to the server whose host they name, in place of a network.
final class TestServerProtocol: URLProtocol {
    /// The servers by their hosts. A lock protects the dictionary, because sessions call from
    /// queues of their own.
    static let servers = Locked<[String: Weak]>([:])

    override static func canInit(with request: URLRequest) -> Bool { self.server(request) != nil }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// The number of the event stream; `nil` until its head was sent.
    private var stream: Int?

    override func startLoading() {
        guard let server = Self.server(self.request), let url = self.request.url, let client = self.client else {
            return
        }
        if self.stream != nil { return self.flow() }
        switch server.exchange(Self.read(self.request)) {
        case .silence: return
        case .failure(let code): client.urlProtocol(self, didFailWithError: URLError(code))
        case .answer(let answer):
            self.start(answer, url, client)
            client.urlProtocol(self, didLoad: Data(answer.body))
            client.urlProtocolDidFinishLoading(self)
        case .cut(let answer):
            self.start(answer, url, client)
            client.urlProtocol(self, didLoad: Data(answer.body.prefix(answer.body.count / 2)))
            client.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
        case .stream(let head, let number):
            self.stream = number
            self.start(head, url, client)
            server.attach(number, self.wake())
            self.flow()
        }
    }

    override func stopLoading() {
        #if canImport(FoundationNetworking)
            // The session calls this method also when `wake()` suspends and resumes a task. Such a
            // task has not ended, so its stream stays.
            if self.task?.state == .running || self.task?.state == .suspended { return }
        #endif
        if let stream { Self.server(self.request)?.detach(stream) }
    }

    // MARK: - Streams

    /// Delivers the stream's pending bytes, and its end.
    private func flow() {
        guard let stream, let server = Self.server(self.request), let client = self.client else { return }
        let (bytes, end) = server.take(stream)
        // Detaches before the client learns of the end, so that a test that has seen the end finds
        // no open stream.
        if end != nil { server.detach(stream) }
        if !bytes.isEmpty { client.urlProtocol(self, didLoad: Data(bytes)) }
        switch end {
        case nil: return
        case .byServer: client.urlProtocolDidFinishLoading(self)
        case .ofNetwork(let code): client.urlProtocol(self, didFailWithError: URLError(code))
        }
    }

    /// Runs `flow()` on the session's own queue or thread: a protocol must not call its client
    /// from anywhere else.
    private func wake() -> @Sendable () -> Void {
        #if canImport(FoundationNetworking)
            // When a task is resumed, its protocol starts again on the session's own queue.
            let task = self.task
            return {
                task?.suspend()
                task?.resume()
            }
        #else
            let place = Place(loading: self, thread: .current)
            return {
                place.loading.perform(#selector(Self.wakened), on: place.thread, with: nil, waitUntilDone: false)
            }
        #endif
    }

    #if !canImport(FoundationNetworking)
        /// `@unchecked Sendable` is safe: the code only passes these references on.
        private struct Place: @unchecked Sendable {
            let loading: TestServerProtocol
            let thread: Thread
        }

        @objc private func wakened() { self.flow() }
    #endif

    // MARK: - Private

    private func start(_ answer: TestAnswer, _ url: URL, _ client: any URLProtocolClient) {
        let response = HTTPURLResponse(
            url: url,
            statusCode: answer.status,
            httpVersion: "HTTP/1.1",
            headerFields: answer.fields
        )
        guard let response else { return }
        client.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    }

    private static func server(_ request: URLRequest) -> TestServer? {
        guard let host = request.url?.host else { return nil }
        return self.servers.withLock { $0[host]?.server }
    }

    private static func read(_ request: URLRequest) -> TestRequest {
        let parts = request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
        return TestRequest(
            method: request.httpMethod ?? "GET",
            path: parts?.percentEncodedPath ?? "",
            query: parts?.percentEncodedQuery,
            token: request.value(forHTTPHeaderField: "MyToken") ?? "",
            tag: request.value(forHTTPHeaderField: "If-None-Match"),
            idempotencyKey: request.value(forHTTPHeaderField: "Idempotency-Key"),
            lastEvent: request.value(forHTTPHeaderField: "Last-Event-ID"),
            signature: request.value(forHTTPHeaderField: "Accept-Signature").flatMap {
                try? SignatureRequest(acceptSignature: [$0])
            },
            username: Self.username(request.value(forHTTPHeaderField: "Authorization") ?? ""),
            body: self.body(of: request)
        )
    }

    private static func username(_ authorization: String) -> String? {
        guard authorization.hasPrefix("Basic "), let bytes = Data(base64Encoded: String(authorization.dropFirst(6)))
        else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
    }

    /// Apple's sessions provide a body as a stream.
    private static func body(of request: URLRequest) -> [UInt8] {
        if let body = request.httpBody { return Array(body) }
        guard let stream = request.httpBodyStream else { return [] }
        stream.open()
        defer { stream.close() }
        var (body, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4096))
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            guard count > 0 else { return body }
            body += buffer.prefix(count)
        }
    }
}
