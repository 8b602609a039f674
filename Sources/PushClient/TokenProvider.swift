internal import Foundation

/// Stores a client's token. If there is no token, or the server has refused it, the provider gets
/// a token from the app's closure.
///
/// Only one call runs the closure at a time; other calls wait for its result. The class uses a
/// lock rather than an actor, so that a cancelled call can stop waiting at once.
final class TokenProvider: Sendable {
    private struct State {
        var token: String?
        /// The call that is asking the app now.
        var asking: UUID?
        var waiting: [UUID: CheckedContinuation<Void, any Error>] = [:]
    }

    /// Whether the current task runs inside the app's closure. A client's call in the closure must
    /// not ask for a token, because it would wait for that same closure.
    @TaskLocal static var isAsking = false

    private let provide: @Sendable (String?) async throws -> String
    private let state = Locked(State())

    init(_ provide: @escaping @Sendable (String?) async throws -> String) {
        self.provide = provide
    }

    /// The latest token.
    var last: String? { self.state.withLock { $0.token } }

    /// Returns a token other than the one that the server has refused; throws the errors of the
    /// app's closure.
    func token(insteadOf refused: String?) async throws -> String {
        while true {
            switch self.next(insteadOf: refused) {
            case .known(let token): return token
            case .ask(let last, let id): return try await self.ask(insteadOf: last, as: id)
            case .wait: try await self.wait()
            }
        }
    }

    // MARK: - Private

    private enum Step {
        case known(String)
        case ask(insteadOf: String?, as: UUID)
        case wait
    }

    private func next(insteadOf refused: String?) -> Step {
        self.state.withLock { state in
            if let token = state.token, token != refused { return .known(token) }
            if state.asking != nil { return .wait }
            let id = UUID()
            state.asking = id
            return .ask(insteadOf: state.token, as: id)
        }
    }

    private func ask(insteadOf last: String?, as id: UUID) async throws -> String {
        defer { self.end(id) }
        return try await withTaskCancellationHandler {
            let token = try await Self.$isAsking.withValue(true) { try await self.provide(last) }
            // If this call was abandoned, and another call has asked the app since, the token of
            // the other call is newer and stays.
            self.state.withLock { if $0.asking == id { $0.token = token } }
            return token
        } onCancel: {
            // The waiting calls must not wait for the app's closure, which may ignore its
            // cancellation.
            self.end(id)
        }
    }

    /// Wakes the calls that wait for this call's token. If there is no token, one of them asks the
    /// app next.
    private func end(_ id: UUID) {
        let waiting = self.state.withLock { state -> [UUID: CheckedContinuation<Void, any Error>] in
            guard state.asking == id else { return [:] }
            state.asking = nil
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume() }
    }

    private func wait() async throws {
        let id = UUID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = self.state.withLock { state in
                    guard state.asking != nil, !Task.isCancelled else { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
        try Task.checkCancellation()
    }
}
