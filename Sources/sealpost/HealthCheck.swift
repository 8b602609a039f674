import CurlHTTP
import Foundation
import PushAPI
import PushApplication
import Reactor

/// Checks the server of a configuration, as a load balancer would.
struct HealthCheck: Sendable {
    /// The checks that the server answers.
    enum Question: String, Sendable {
        case isAlive = "/healthz"
        case isReady = "/readyz"
    }

    let address: SocketAddress
    let isSecure: Bool

    /// Uses the first address that the server listens on. Throws `CommandFailure` if its port is
    /// not known.
    init(_ configuration: Configuration) throws(CommandFailure) {
        guard let address = configuration.listen.lazy.compactMap(SocketAddress.init).first else {
            throw CommandFailure("server.listen has no address; set one with --address")
        }
        try self.init(address, isSecure: configuration.tls != nil)
    }

    /// A wildcard address stands for this machine, and a unix socket never speaks TLS.
    init(_ address: SocketAddress, isSecure: Bool) throws(CommandFailure) {
        guard case .tcp(let host, let port) = address else {
            (self.address, self.isSecure) = (address, false)
            return
        }
        guard port > 0 else {
            throw CommandFailure(
                "the port of \(address) is chosen when the server starts; set the address with --address"
            )
        }
        self.address = .tcp(host: Self.loopback[host] ?? host, port: port)
        self.isSecure = isSecure
    }

    /// Returns the server's answer, such as `ready`.
    ///
    /// Throws `CommandFailure` if there is no answer within `timeout`, if another program than
    /// Sealpost answers, or if the server is not ready.
    func ask(_ question: Question, timeout: Duration) async throws -> String {
        let token = MyToken.random()
        let response = try await self.response(to: question, token: token, timeout: timeout)
        guard response.header(MyToken.fieldName.lowercased()) == token.echo else {
            // If the address speaks TLS, the server refuses plain HTTP, and this refusal does not
            // echo the token.
            let hint = self.isSecure || response.status != 400 ? "" : "; if it speaks TLS, name its file with --config"
            throw CommandFailure(
                "\(self.address) answers with the status \(response.status), but is not a Sealpost server\(hint)"
            )
        }
        let isWell = response.status == 200
        var word = "status \(response.status)"
        // If the body is missing or is not JSON, the status of the answer still counts.
        let answer = try? JSONValue(reading: response.body)
        if case .string(let said) = answer?[isWell ? "Status" : "detail"] { word = said }
        guard isWell else { throw CommandFailure("\(self.address) is not ready: \(word)") }
        return word
    }

    // MARK: - Private

    private static let loopback = ["0.0.0.0": "127.0.0.1", "::": "::1"]

    private func response(
        to question: Question,
        token: MyToken,
        timeout: Duration
    ) async throws -> OutboundResponse {
        var settings = HTTPClientSettings {
            $0.connectTimeout = timeout
            // The server is on this machine. Its certificate has the names that clients use, and
            // not the address that this check uses.
            $0.verifiesServers = false
            $0.allowsPlainHTTP = true
            $0.addresses = .any
        }
        var host = "\(self.address)"
        if case .unix(let path) = self.address { (settings.unixSocket, host) = (path, "localhost") }
        guard let url = OutboundURL("\(self.isSecure ? "https" : "http")://\(host)\(question.rawValue)") else {
            throw CommandFailure("\(self.address) is not an address that can be asked; set one with --address")
        }
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        do throws(OutboundError) {
            let client = try HTTPClient(settings, on: loop)
            let field = OutboundRequest.Header(MyToken.fieldName, token.description)
            let result = await Self.send(OutboundRequest(.get, url, headers: [field], timeout: timeout), with: client)
            await client.close()
            return try result.get()
        } catch {
            throw CommandFailure("\(self.address) does not answer: \(error)")
        }
    }

    private static func send(
        _ request: OutboundRequest,
        with client: HTTPClient
    ) async -> Result<OutboundResponse, OutboundError> {
        do throws(OutboundError) {
            return .success(try await client.send(request))
        } catch {
            return .failure(error)
        }
    }
}
