import Foundation
import Glibc
package import PushAPI
import PushServer

/// Sends administrators' requests to the daemon over its local admin socket. If no daemon runs, a
/// router in this process answers the requests. Commands work in the same way in both cases.
package struct Administration: Sendable {
    /// Whether a daemon answers. Otherwise this process answers the requests, and sends no pushes.
    package let isDaemon: Bool
    /// Makes a connection for one request.
    let connect: @Sendable () throws -> Int32

    init(isDaemon: Bool = false, connect: @escaping @Sendable () throws -> Int32) {
        self.isDaemon = isDaemon
        self.connect = connect
    }

    /// The connection to the daemon; `nil` if no daemon runs, or if the configuration has no admin
    /// socket.
    ///
    /// Throws `AdminSocketError` if a daemon runs but does not answer.
    package init?(of configuration: Configuration) async throws {
        guard let socket = configuration.adminSocket, let connection = try socket.connect() else { return nil }
        close(connection)
        self.init(isDaemon: true) {
            guard let connection = try socket.connect() else { throw AdminSocketError.silent(socket.path) }
            return connection
        }
        try await self.greet(socket)
    }

    // MARK: - Requests

    /// The timeout of each wait in one request.
    private static let timeout = Duration.seconds(60)
    /// The timeout of the first request, which checks that the daemon answers.
    private static let shortTimeout = Duration.seconds(5)
    /// The timeout of tasks whose duration depends on the size of the database.
    private static let longTimeout = Duration.seconds(86_400)

    /// Checks that the daemon answers. Throws `AdminSocketError` if it does not.
    func greet(_ socket: AdminSocket) async throws {
        do {
            _ = try await self.exchange("GET", LocalPaths.daemon, [], Self.shortTimeout, into: ()) { _, _ in }
        } catch LocalExchange.Failure.silent, LocalExchange.Failure.ended {
            throw AdminSocketError.silent(socket.path)
        }
    }

    /// Sends a request, and returns the answer's body; `nil` if the answer has no body. Throws a
    /// `Problem` if the daemon refuses the request.
    @discardableResult
    package func ask(_ method: String, _ target: String, _ body: JSONValue? = nil) async throws -> JSONValue? {
        let bytes: [UInt8] = try await self.request(method, target, body?.bytes ?? [], Self.timeout, into: []) {
            $0 += $1
        }
        return bytes.isEmpty ? nil : try JSONValue(reading: bytes)
    }

    /// Reads a list page by page, and passes each entry to `each`, until `each` returns `false`.
    package func list(
        _ path: String,
        _ member: String,
        query: [(String, String)] = [],
        _ each: (JSONValue) throws -> Bool
    ) async throws {
        var cursor: String?
        repeat {
            let parameters = query + (cursor.map { [("cursor", $0)] } ?? []) + [("limit", "500")]
            let text = parameters.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&")
            let page = try await self.ask("GET", "\(path)?\(text)")
            guard case .array(let entries)? = page?[member] else {
                throw CommandFailure("the server's answer has no \(member)")
            }
            for entry in entries where try !each(entry) { return }
            cursor = page?["More"] == .bool(true) ? page?["Cursor"]?.text : nil
        } while cursor != nil
    }

    /// Sends a request, and passes each line of the answer to `each` as soon as the line arrives.
    /// `each` may change `state`; the function returns the last value of `state`.
    ///
    /// Throws `CommandFailure` with the reason if the database fails meanwhile.
    package func lines<State: Sendable>(
        _ method: String,
        _ target: String,
        _ body: [UInt8] = [],
        into state: State,
        _ each: @escaping @Sendable (inout State, ArraySlice<UInt8>) throws -> Void
    ) async throws -> State {
        let start = (state: state, rest: [UInt8]())
        let end = try await self.request(method, target, body, Self.longTimeout, into: start) { lines, piece in
            lines.rest += piece
            var start = lines.rest.startIndex
            while let end = lines.rest[start...].firstIndex(of: 0x0A) {
                let line = lines.rest[start..<end]
                for (name, code) in Self.failures where line.starts(with: "{\"\(name)\":".utf8) {
                    throw CommandFailure(try JSONValue(reading: line)[name]?.text ?? "", code)
                }
                try each(&lines.state, line)
                start = end + 1
            }
            lines.rest.removeFirst(start)
        }
        return end.state
    }

    /// Sends a request, and returns the last line of the answer. `record` receives each line as
    /// soon as it arrives.
    ///
    /// Throws a `CommandProblem` if the last line contains a problem.
    package func result(
        _ method: String,
        _ target: String,
        _ record: @escaping @Sendable (JSONValue) -> Void = { _ in }
    ) async throws -> JSONValue {
        let last = try await self.lines(method, target, into: JSONValue.null) { last, line in
            last = try JSONValue(reading: line)
            record(last)
        }
        if let problem = CommandProblem(in: last) { throw problem }
        return last
    }

    /// A user's name, or a token's prefix, percent-encoded as a segment of a path.
    package static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            return character.isASCII && (character.isLetter || character.isNumber || "-_.@".contains(character))
                ? String(character) : String(format: "%%%02X", byte)
        }.joined()
    }

    // MARK: - Private

    /// The member of the last line if the store has failed, and the code of the failure.
    private static let failures = [("Failed", CommandProblem.Code.databaseFailed), ("Unusable", .badConfiguration)]

    private func request<State: Sendable>(
        _ method: String,
        _ target: String,
        _ body: [UInt8],
        _ timeout: Duration,
        into state: State,
        _ piece: @escaping @Sendable (inout State, ArraySlice<UInt8>) throws -> Void
    ) async throws -> State {
        do {
            return try await self.exchange(method, target, body, timeout, into: state, piece)
        } catch LocalExchange.Failure.silent, LocalExchange.Failure.ended {
            let doubt = method == "GET" ? "" : "; the command may have taken effect: see sealpost audit list"
            throw CommandFailure("the server's answer did not arrive, or ended early\(doubt)")
        }
    }

    /// Runs on a new thread: the exchange blocks, and must not block a thread that the router
    /// needs for the answer. The router may be in this process.
    private func exchange<State: Sendable>(
        _ method: String,
        _ target: String,
        _ body: [UInt8],
        _ timeout: Duration,
        into state: State,
        _ piece: @escaping @Sendable (inout State, ArraySlice<UInt8>) throws -> Void
    ) async throws -> State {
        try await onThread {
            var exchange = LocalExchange(try self.connect(), timeout: timeout)
            var state = state
            let answer = try exchange.ask(method, target, body) { try piece(&state, $0) }
            guard (200...299).contains(answer.status) else { throw Self.problem(in: answer) }
            return state
        }
    }

    private static func problem(in answer: LocalExchange.Answer) -> any Error {
        do {
            return try JSONDecoder().decode(Problem.self, from: Data(answer.body))
        } catch {
            return CommandFailure("the server has answered with the status \(answer.status)")
        }
    }
}

/// Runs `body` with the daemon. If no daemon runs, opens the database and runs `body` with a
/// router in this process. `creates` and `admitsMoved` have the same meaning as in `openStore`.
///
/// Throws `AdminSocketError` if a daemon runs but does not answer; the command has then changed
/// nothing.
package func withAdministration<Value>(
    _ configuration: Configuration,
    creates: Bool = false,
    admitsMoved: Bool = false,
    _ body: (Administration) async throws -> Value
) async throws -> Value {
    if let daemon = try await Administration(of: configuration) { return try await body(daemon) }
    let store = try configuration.openStore(creates: creates, admitsMoved: admitsMoved)
    return try await LocalServer(configuration, store).whileServing(body)
}
