internal import Foundation
internal import Synchronization

/// The requests that a simulator received, and the answers that the test has queued.
package final class PushLog: Sendable {
    private struct Waiter {
        let number: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var received: [ReceivedPush] = []
        /// The number of accepted pushes that `received` no longer contains.
        var forgottenCount = 0
        var acceptedCount = 0
        var scripted: [SimulatedResponse] = []
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var tallies: [PushTally.Key: PushTally] = [:]
    }

    // A lock protects `state`: connections write on the simulator's loop, tests read from any
    // thread. The lock is held only briefly.
    private let state = Mutex(State())
    private let capacity: Int
    private let onPush: (@Sendable (ReceivedPush) -> Void)?
    private let countsOnly: Bool
    /// The rules of faults, for requests and connections.
    let faults: FaultScript
    let now: @Sendable () -> Date

    /// Creates a log with the settings in `options`.
    convenience init(_ options: SimulatorOptions) {
        self.init(
            capacity: options.keptPushes,
            countsOnly: options.countsPushes,
            faults: options.faults,
            now: options.now,
            onPush: options.onPush
        )
    }

    /// Creates a log that keeps at least the last `capacity` requests, or no request if
    /// `countsOnly` is `true`. It calls `onPush` with each request, on the simulator's thread.
    init(
        capacity: Int,
        countsOnly: Bool = false,
        faults: [FaultRule] = [],
        now: @escaping @Sendable () -> Date = { Date() },
        onPush: (@Sendable (ReceivedPush) -> Void)?
    ) {
        precondition(capacity > 0, "a log keeps something")
        self.capacity = capacity
        self.countsOnly = countsOnly
        self.faults = FaultScript(faults, now: now)
        self.now = now
        self.onPush = onPush
    }

    /// The requests for pushes that the log keeps, including refused ones. The oldest request
    /// comes first.
    package var received: [ReceivedPush] {
        self.state.withLock { $0.received }
    }

    /// The number of accepted pushes, including those that the log no longer keeps.
    package var acceptedCount: Int {
        self.state.withLock { $0.acceptedCount }
    }

    /// Queues an answer. Each queued answer goes to one request, in order, whatever the request
    /// contains.
    package func answerNext(status: Int, headers: [HeaderField] = [], body: String = "") {
        let response = SimulatedResponse(status: status, headers: headers, body: Array(body.utf8))
        self.state.withLock { $0.scripted.append(response) }
    }

    /// Replaces all rules of faults. The counts and times of the new rules start now.
    package func setFaults(_ rules: [FaultRule]) {
        self.faults.set(rules)
    }

    /// The counts of requests for one push to one device. The push is named by its `apns-id` or by
    /// its notification's id. Needs `SimulatorOptions.countsPushes`.
    package func tally(of push: String, for device: String) -> PushTally {
        self.state.withLock { $0.tallies[PushTally.Key(push: push, device: device)] ?? PushTally() }
    }

    /// The totals of all pushes. Needs `SimulatorOptions.countsPushes`.
    package var totals: PushTotals {
        self.state.withLock { PushTotals($0.tallies.values) }
    }

    /// Waits until `number` pushes have been accepted, and returns the last of these pushes. The
    /// first push is number 1.
    ///
    /// Throws `PushWaitError` after the timeout or if the push is no longer kept, and
    /// `CancellationError` if the task is cancelled.
    package func acceptedPush(_ number: Int, within time: Duration = .seconds(60)) async throws -> ReceivedPush {
        precondition(number > 0, "the first push is number 1")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.waitUntilAccepted(number) }
            group.addTask {
                try await Task.sleep(for: time)
                throw PushWaitError.timedOut
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
        return try self.state.withLock { state throws in
            guard number > state.forgottenCount else { throw PushWaitError.forgotten }
            let accepted = state.received.lazy.filter(\.verdict.isAccepted)
            guard let push = accepted.dropFirst(number - 1 - state.forgottenCount).first else {
                preconditionFailure("an accepted push is kept until it is counted as forgotten")
            }
            return push
        }
    }

    // MARK: - For the simulators

    func takeScripted() -> SimulatedResponse? {
        self.state.withLock { $0.scripted.isEmpty ? nil : $0.scripted.removeFirst() }
    }

    func record(_ push: ReceivedPush) {
        let key = self.countsOnly ? PushTally.Key(PushKey(push.request)) : nil
        let waiters = self.state.withLock { state in
            if let key { state.tallies[key, default: PushTally()].count(push.verdict) }
            if state.received.count >= 2 * self.capacity {
                state.forgottenCount += state.received.prefix(self.capacity).count(where: \.verdict.isAccepted)
                state.received.removeFirst(self.capacity)
            }
            if key == nil { state.received.append(push) } else if push.verdict.isAccepted { state.forgottenCount += 1 }
            guard push.verdict.isAccepted else { return [Waiter]() }
            state.acceptedCount += 1
            let due = state.waiters.filter { $0.value.number <= state.acceptedCount }
            for id in due.keys { state.waiters[id] = nil }
            return Array(due.values)
        }
        for waiter in waiters { waiter.continuation.resume() }
        self.onPush?(push)
    }

    // MARK: - Private

    /// Returns when `number` pushes have been accepted, or when the task is cancelled.
    private func waitUntilAccepted(_ number: Int) async {
        let id = self.state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = self.state.withLock { state in
                    // The lock covers the check and the insertion, so that a cancellation after
                    // the check finds the waiter in the table.
                    guard state.acceptedCount < number, !Task.isCancelled else { return false }
                    state.waiters[id] = Waiter(number: number, continuation: continuation)
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
    }
}
