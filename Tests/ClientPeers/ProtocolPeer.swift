package import Foundation
package import PushClient

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A server, or an impostor, that answers each request according to a script, without a network.
///
/// It needs no socket, so tests with it also run on Apple's systems. `ScriptedPeer` is for
/// behaviour that needs sockets: the reuse of connections, the framing of bodies, and the
/// session's reaction to a challenge.
package final class ProtocolPeer: Sendable {
    package typealias Script = PeerScript

    package let url: URL
    private let host: String
    private let script: Locked<Script>
    private let log = Locked<[PeerRequest]>([])
    private let left = Locked(0)

    private init(_ script: @escaping Script) {
        self.host = "\(UUID().uuidString.lowercased()).test"
        // A name of letters, digits and hyphens is always valid as a URL's host.
        self.url = URL(string: "https://\(self.host)") ?? URL(fileURLWithPath: "/")
        self.script = Locked(script)
    }

    /// The requests so far, in the order of their arrival.
    package var requests: [PeerRequest] { self.log.withLock { $0 } }

    /// The number of held answers that the client has abandoned.
    package var leftStreams: Int { self.left.withLock { $0 } }

    /// Uses another script from now on. The index of requests continues.
    package func play(_ script: @escaping Script) {
        self.script.withLock { $0 = script }
    }

    /// Runs `body` with a peer that answers requests by `script` meanwhile.
    @discardableResult
    package static func run<Result: Sendable>(
        _ script: @escaping Script,
        _ body: @escaping @Sendable (ProtocolPeer) async throws -> Result
    ) async throws -> Result {
        let peer = ProtocolPeer(script)
        PeerProtocol.peers.withLock { $0[peer.host] = peer }
        defer { _ = PeerProtocol.peers.withLock { $0.removeValue(forKey: peer.host) } }
        return try await body(peer)
    }

    /// Runs `body` with a client, and answers the client's requests by `script` meanwhile.
    @discardableResult
    package static func run<Result: Sendable>(
        _ script: @escaping Script,
        options: PushClient.Options = .init(testing: []),
        store: PushClient.Store = .memory,
        _ body: @escaping @Sendable (ProtocolPeer, PushClient) async throws -> Result
    ) async throws -> Result {
        try await self.run(script) { peer in
            try await body(peer, peer.client(options: options, store: store))
        }
    }

    package func client(
        _ credentials: PushClient.Credentials = .token("spt_test", account: "alice"),
        options: PushClient.Options = .init(testing: []),
        store: PushClient.Store = .memory
    ) -> PushClient {
        PushClient(server: self.url, credentials: credentials, options: self.options(options), store: store)
    }

    /// Returns the options with which a client reaches the peer.
    package func options(_ others: PushClient.Options = .init(testing: [])) -> PushClient.Options {
        var options = others
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [PeerProtocol.self]
        options.configuration = configuration
        return options
    }

    fileprivate func reply(to request: PeerRequest) -> PeerReply {
        let index = self.log.withLock { log in
            log.append(request)
            return log.count - 1
        }
        return self.script.withLock { $0 }(request, index)
    }

    fileprivate func leave() {
        self.left.withLock { $0 += 1 }
    }
}

/// Passes requests to the peer whose host they name.
private final class PeerProtocol: URLProtocol {
    /// The peers by their host. A lock protects them, because sessions call from their own queues.
    static let peers = Locked<[String: ProtocolPeer]>([:])
    private var isHeld = false

    override static func canInit(with request: URLRequest) -> Bool { request.url?.host?.hasSuffix(".test") == true }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    private var peer: ProtocolPeer? { self.request.url?.host.flatMap { host in Self.peers.withLock { $0[host] } } }

    override func startLoading() {
        guard let peer = self.peer, let url = self.request.url else { return self.fail(.cannotConnectToHost) }
        switch peer.reply(to: PeerRequest(self.request)) {
        case .silence: return
        case .hangUp, .bytes: self.fail(.networkConnectionLost)
        case .answer(let answer):
            self.start(answer, url)
            self.end(answer)
        case .hold(let answer):
            self.isHeld = true
            self.start(answer, url)
        }
    }

    override func stopLoading() {
        if self.isHeld { self.peer?.leave() }
        self.isHeld = false
    }

    // MARK: - Private

    private func start(_ answer: PeerAnswer, _ url: URL) {
        // The lines of a field are joined into one value.
        var fields = Dictionary(answer.fields.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        if let length = answer.announcedLength { fields["Content-Length"] = "\(length)" }
        let response = HTTPURLResponse(
            url: url,
            statusCode: answer.status,
            httpVersion: "HTTP/1.1",
            headerFields: fields
        )
        guard let response else { return self.fail(.badServerResponse) }
        self.client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        if answer.hasBody, !answer.body.isEmpty { self.client?.urlProtocol(self, didLoad: Data(answer.body)) }
    }

    /// Ends the answer as the end of a connection would.
    private func end(_ answer: PeerAnswer) {
        if answer.isWhole { return self.client?.urlProtocolDidFinishLoading(self) ?? () }
        if answer.hangsUp { self.fail(.networkConnectionLost) }
    }

    private func fail(_ code: URLError.Code) {
        self.client?.urlProtocol(self, didFailWithError: URLError(code))
    }
}

extension PeerAnswer {
    fileprivate var hasBody: Bool { ![204, 304].contains(self.status) }

    fileprivate var announcedLength: Int? {
        guard self.hasBody else { return nil }
        switch self.framing {
        case .length: return self.body.count
        case .wrongLength(let count): return count
        case .chunked, .untilTheEnd: return nil
        }
    }

    fileprivate var isWhole: Bool {
        guard self.hasBody else { return true }
        switch self.framing {
        case .length, .untilTheEnd: return true
        case .wrongLength(let count): return count <= self.body.count
        case .chunked(let isEnded): return isEnded
        }
    }
}

extension PeerRequest {
    fileprivate init(_ request: URLRequest) {
        let parts = request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
        let query = parts?.percentEncodedQuery.map { "?\($0)" } ?? ""
        var fields: [String: String] = [:]
        for (name, value) in request.allHTTPHeaderFields ?? [:] { fields[name.lowercased()] = value }
        self.init(
            method: request.httpMethod ?? "GET",
            target: (parts?.percentEncodedPath ?? "") + query,
            fields: fields,
            body: String(decoding: Self.body(of: request), as: UTF8.self)
        )
    }

    /// Returns the body. Apple's sessions provide it as a stream.
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
