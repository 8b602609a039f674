internal import Foundation
internal import Synchronization

/// The token that a client signs in with, asked for when there is none or the server no longer takes it.
///
/// One call asks the app at a time; others wait for what that brings. A lock rather than an actor, so that a call that is cancelled
/// while it waits can leave at once.
final class TokenProvider: Sendable {
    private struct State {
        var token: String?
        var isAsking = false
        var waiting: [UUID: CheckedContinuation<Void, any Error>] = [:]
    }

    private let provide: @Sendable (String?) async throws -> String
    private let state = Mutex(State())

    init(_ provide: @escaping @Sendable (String?) async throws -> String) {
        self.provide = provide
    }

    /// The token that it gave last.
    var last: String? { self.state.withLock { $0.token } }

    /// A token other than the one that the server has refused; throws what the app's closure throws.
    func token(insteadOf refused: String?) async throws -> String {
        while true {
            switch self.next(insteadOf: refused) {
            case .known(let token): return token
            case .ask(let last): return try await self.ask(insteadOf: last)
            case .wait: try await self.wait()
            }
        }
    }

    // MARK: - Private

    private enum Step {
        case known(String)
        case ask(insteadOf: String?)
        case wait
    }

    private func next(insteadOf refused: String?) -> Step {
        self.state.withLock { state in
            if let token = state.token, token != refused { return .known(token) }
            if state.isAsking { return .wait }
            state.isAsking = true
            return .ask(insteadOf: state.token)
        }
    }

    private func ask(insteadOf last: String?) async throws -> String {
        defer { self.end() }
        let token = try await self.provide(last)
        self.state.withLock { $0.token = token }
        return token
    }

    /// Those who wait look again; one of them asks if this call has brought nothing.
    private func end() {
        let waiting = self.state.withLock { state in
            state.isAsking = false
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
                    guard state.isAsking, !Task.isCancelled else { return true }
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
