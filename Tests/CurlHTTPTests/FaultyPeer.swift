import CurlHTTP
import Foundation
import PushSimulators
import PushTesting
import Reactor

/// An HTTP client, and a simulated provider that makes faults on purpose. They use HTTP/2 and TLS.
struct FaultyPeer: Sendable {
    let client: HTTPClient
    let provider: WNSSimulator
    /// The pushes that arrive at the provider, in order.
    let arrivals: AsyncStream<ReceivedPush>
    private let url: OutboundURL
    private let token: String

    /// The outcome of a call: the status, or the name of the error.
    enum Outcome: Sendable, Hashable, CustomStringConvertible {
        case status(Int)
        case failed(OutboundError)

        var description: String {
            switch self {
            case .status(let status): String(status)
            case .failed(let error): error.description
            }
        }
    }

    func post(timeout: Duration = .seconds(240)) async -> Outcome {
        let headers = [
            OutboundRequest.Header("Authorization", "Bearer " + self.token),
            .init("Content-Type", "application/octet-stream"), .init("X-WNS-Type", "wns/raw"),
        ]
        let request = OutboundRequest(.post, self.url, headers: headers, body: Array("42".utf8), timeout: timeout)
        do throws(OutboundError) {
            return .status(try await self.client.send(request).status)
        } catch {
            return .failed(error)
        }
    }

    /// Makes `count` calls at once. Returns the number of calls with each outcome.
    func post(_ count: Int, timeout: Duration = .seconds(240)) async -> [String: Int] {
        await withTaskGroup(of: Outcome.self) { group in
            for _ in 0..<count { group.addTask { await self.post(timeout: timeout) } }
            return await group.reduce(into: [:]) { $0[$1.description, default: 0] += 1 }
        }
    }

    /// The number of connections that carried pushes.
    var connectionCount: Int { Set(self.provider.pushes.received.map(\.request.connection)).count }

    /// The number of pushes that the provider has handled, including repeated ones.
    var deliveredCount: Int { self.provider.pushes.received.count(where: \.verdict.isDelivered) }

    func arrival() async -> ReceivedPush? {
        var iterator = self.arrivals.makeAsyncIterator()
        return await iterator.next()
    }

    static func with<Value: Sendable>(
        _ rules: [FaultRule],
        settings change: @Sendable (inout HTTPClientSettings) -> Void = { _ in },
        _ body: @Sendable (FaultyPeer) async throws -> Value
    ) async throws -> Value {
        let folder = try TemporaryFolder()
        // libcurl reads the file `ca.pem` for each connection, so the folder must exist until the
        // end.
        defer { withExtendedLifetime(folder) {} }
        let authority = try TestAuthority()
        try authority.write(to: folder.file("ca.pem"))
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        var settings = HTTPClientSettings { ($0.caFile, $0.addresses) = (folder.file("ca.pem"), .any) }
        change(&settings)
        let client = try HTTPClient(settings, on: loop)
        let (arrivals, arrived) = AsyncStream.makeStream(of: ReceivedPush.self)
        var options = SimulatorOptions()
        options.onPush = { arrived.yield($0) }
        let result = try await WNSSimulator(authority: authority, options: options).whileRunning { provider in
            let peer = try await FaultyPeer(client, provider, arrivals)
            provider.pushes.setFaults(rules)
            return try await body(peer)
        }
        await client.close()
        return result
    }

    private init(_ client: HTTPClient, _ provider: WNSSimulator, _ arrivals: AsyncStream<ReceivedPush>) async throws {
        struct Answer: Decodable {
            let accessToken: String
        }
        self.client = client
        self.provider = provider
        self.arrivals = arrivals
        guard let url = OutboundURL(provider.makeChannel()), let tokenURL = OutboundURL(provider.tokenEndpoint) else {
            throw CancellationError()
        }
        self.url = url
        let secret =
            provider.credentials.clientSecret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let form =
            "grant_type=client_credentials&client_id=\(provider.credentials.clientID)&client_secret=\(secret)"
            + "&scope=https%3A%2F%2Fwns.windows.com%2F.default"
        let request = OutboundRequest(
            .post,
            tokenURL,
            headers: [.init("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.utf8)
        )
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self.token = try decoder.decode(Answer.self, from: Data(try await client.send(request).body)).accessToken
        // Later calls do not use the present connections, but new ones.
        client.renewConnections()
    }
}
