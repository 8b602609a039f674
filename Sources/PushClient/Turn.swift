internal import Foundation

/// Lets calls of one client that must not overlap run one after the other.
///
/// The class uses a lock rather than an actor, so that a cancelled call can stop waiting at once.
final class Turn: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [(id: UUID, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Locked(State())

    /// Throws `CancellationError` if the task is cancelled before its turn, and
    /// `PushClientError.timedOut` if the call's time ends before the task's turn.
    func take<Value>(within limit: Duration, _ body: () async throws -> Value) async throws -> Value {
        let remaining = try CallDeadline.remaining(atMost: limit)
        guard await self.wait(atMost: remaining) else {
            try Task.checkCancellation()
            throw PushClientError.timedOut
        }
        defer { self.pass() }
        try Task.checkCancellation()
        return try await body()
    }

    // MARK: - Private

    /// Returns whether it is the caller's turn.
    private func wait(atMost limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await self.wait() }
            group.addTask {
                // The group cancels this sleep when the turn comes.
                try? await Task.sleep(for: limit)
                return nil
            }
            var isTurn = false
            // The loop waits for both tasks, because the turn may have come just when the time
            // ended.
            for await result in group {
                isTurn = result ?? isTurn
                group.cancelAll()
            }
            return isTurn
        }
    }

    private func wait() async -> Bool {
        let id = UUID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now: Bool? = self.state.withLock { state in
                    if Task.isCancelled { return false }
                    guard state.isTaken else {
                        state.isTaken = true
                        return true
                    }
                    state.waiting.append((id, continuation))
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            let left = self.state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
            }
            left?.resume(returning: false)
        }
    }

    private func pass() {
        let next = self.state.withLock { state in
            if state.waiting.isEmpty {
                state.isTaken = false
                return nil as CheckedContinuation<Bool, Never>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
