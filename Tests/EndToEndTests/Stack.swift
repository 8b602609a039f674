import Foundation
import Logging
import PushCore
import PushDelivery
import PushSimulators
import PushStore
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost
@testable import sealpost_demo

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The whole server in the test's process, with simulated providers and real sockets.
struct Stack: Sendable {
    static let password = "correct horse battery"

    let folder: TemporaryFolder
    let providers: Providers
    let application: Application
    let server: URL

    /// Runs the server and the providers while `body` runs, with the users `alice`, who has the
    /// role `device`, and `boss`, a publisher.
    ///
    /// By default, only critical errors are logged, because tests provoke failures on purpose.
    static func run<Result: Sendable>(
        log: any LogHandler = LineLogHandler(logLevel: .critical, writer: .standardError),
        configure: @Sendable (inout Configuration) -> Void = { _ in },
        _ body: @escaping @Sendable (Stack) async throws -> Result
    ) async throws -> Result {
        let folder = try TemporaryFolder()
        let providers = try Providers(folder: folder.path, serviceAccountKey: Self.serviceAccountKey.get())
        var configuration = try Configuration.load(file: providers.writeConfiguration(), environment: [:])
        configuration.listen = ["127.0.0.1:0"]
        configuration.database = folder.file("sealpost.db")
        configuration.keys = folder.path
        configuration.passwords = Self.passwords
        configure(&configuration)
        let logger = Logger(label: "test") { _ in log }
        let application = try Application(configuration, logger: logger)
        for (name, role) in [("alice", Role.device), ("mallory", .device), ("boss", .publisher)] {
            try await Self.addUser(name, role: role, to: application)
        }
        return try await providers.whileRunning {
            try await application.whileRunning { server in
                try await body(
                    Stack(folder: folder, providers: providers, application: application, server: server)
                )
            }
        }
    }

    func addUser(_ name: String, role: Role) async throws {
        try await Self.addUser(name, role: role, to: self.application)
    }

    private static func addUser(_ name: String, role: Role, to application: Application) async throws {
        let username = try #require(Username(name))
        _ = try await application.store.addUser(username, role: role, password: Self.hash, now: Date())
    }

    /// The smallest possible parameters, so that a sign-in takes almost no time.
    private static let passwords = PasswordParameters(memory: 8, passes: 1, lanes: 1) ?? .usual
    /// Making an RSA key takes a tenth of a second, so all stacks share one key.
    private static let serviceAccountKey = Result { try SigningKey.rsa2048() }

    private static let hash: PasswordHash = {
        do {
            return try PasswordHash(of: Self.password, parameters: Self.passwords)
        } catch {
            preconditionFailure("argon2 does not work here: \(error)")
        }
    }()

    /// Makes a request that has credentials from the beginning, without a challenge, as the
    /// tutorial's clients do.
    func request(
        _ method: String,
        _ path: String,
        as user: String = "alice",
        body: String? = nil,
        contentType: String = "application/json; charset=utf-8"
    ) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: path, relativeTo: self.server)))
        request.httpMethod = method
        request.cachePolicy = .reloadIgnoringLocalCacheData
        let credentials = Data("\(user):\(Self.password)".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        if let body {
            request.httpBody = Data(body.utf8)
            request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    /// Returns the pause in which the pushes of a platform are now; `nil` if they are not paused.
    func pause(of platform: String) -> Pause? {
        self.application.status.pauseByLane[Lane(Platform(platform))] ?? nil
    }

    struct Answer {
        let status: Int
        let text: String
        let response: HTTPURLResponse

        /// Returns a member of the JSON body, read with the function that the published clients
        /// use.
        func member(_ name: String) throws -> Any? {
            try (JSONSerialization.jsonObject(with: Data(self.text.utf8)) as? [String: Any])?[name]
        }
    }

    func send(_ request: URLRequest, over session: URLSession = .shared) async throws -> Answer {
        let (data, response) = try await session.data(for: request)
        let answer = try #require(response as? HTTPURLResponse)
        return Answer(status: answer.statusCode, text: String(decoding: data, as: UTF8.self), response: answer)
    }
}

extension PushSimulators.ReceivedPush {
    var text: String { String(decoding: self.request.body, as: UTF8.self) }

    /// Returns a string member of the push's JSON body.
    func member(_ name: String) throws -> String {
        let json = try JSONSerialization.jsonObject(with: Data(self.request.body)) as? [String: Any]
        return try #require(json?[name] as? String, "\(self.text)")
    }
}
