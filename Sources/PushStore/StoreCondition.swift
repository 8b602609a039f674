internal import PushCore
internal import Synchronization

/// Tracks whether a store's disk is full, its file damaged, or its database out of use. Counts the
/// transactions and the unreadable rows. Any thread may use it.
package final class StoreCondition: Sendable {
    private struct State {
        var isFull = false
        var damage: StoreError?
        var outage: Outage?
        var setAside = 0
        var commits = StoreReport.Commits()
    }

    /// A time in which operations fail because the database is unavailable or cannot be used.
    private struct Outage {
        /// The time of the last failure that an operator must cure.
        var unusableAt: ContinuousClock.Instant?
        var failedAt: ContinuousClock.Instant
        var reportedAt: ContinuousClock.Instant
        /// The number of failures since the last report.
        var unreported = 0
    }

    /// The minimum time between two reports of an outage with the same cause.
    private static let reportInterval = Duration.seconds(60)

    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state = Mutex(State())

    package init(onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        self.onEvent = onEvent
    }

    package var isFull: Bool { self.state.withLock { $0.isFull } }
    /// The error of the first operation that has found the database's file damaged; `nil` if none
    /// has. Only a restart resets it.
    package var damage: StoreError? { self.state.withLock { $0.damage } }
    /// Whether an operation has failed because the database cannot be used until an operator acts.
    package var isUnusable: Bool { self.state.withLock { $0.outage?.unusableAt != nil } }
    /// Whether an operation has failed because of the database, and `recordUsable` has not ended
    /// this outage since.
    package var isOut: Bool { self.state.withLock { $0.outage != nil } }
    /// The number of rows that could not be read and were set aside.
    package var setAside: Int { self.state.withLock { $0.setAside } }
    package var commits: StoreReport.Commits { self.state.withLock { $0.commits } }

    /// Records whether the disk is full, and reports each change once; returns whether it has
    /// changed.
    @discardableResult
    package func record(isFull: Bool) -> Bool {
        let hasChanged = self.state.withLock { state in
            defer { state.isFull = isFull }
            return state.isFull != isFull
        }
        if hasChanged { self.onEvent(isFull ? .diskFull : .roomAgain) }
        return hasChanged
    }

    /// Records a damaged file, and reports it once. Records an unusable or unavailable database,
    /// and reports it when it begins, and then at most once a minute. Ignores any other error.
    package func record(_ error: StoreError, now: ContinuousClock.Instant = .now) {
        switch error {
        case .damagedFile(let reason):
            let isNew = self.state.withLock { state in
                defer { state.damage = state.damage ?? error }
                return state.damage == nil
            }
            if isNew { self.onEvent(.fileDamaged(reason: reason)) }
        case .unusable(_, let reason):
            if let count = self.fail(isUnusable: true, now) {
                self.onEvent(.databaseUnusable(reason: reason, failures: count))
            }
        case .unavailable(let reason), .unknownOutcome(let reason):
            if let count = self.fail(isUnusable: false, now) {
                self.onEvent(.databaseUnavailable(reason: reason, failures: count))
            }
        default: break
        }
    }

    /// Counts a failure. Returns the number of failures since the last report if a report is due.
    private func fail(isUnusable: Bool, _ now: ContinuousClock.Instant) -> Int? {
        self.state.withLock { state in
            var outage = state.outage ?? Outage(failedAt: now, reportedAt: now)
            let isDue =
                state.outage == nil || (isUnusable && outage.unusableAt == nil)
                || now - outage.reportedAt >= Self.reportInterval
            if isUnusable { outage.unusableAt = now }
            outage.failedAt = now
            outage.unreported += 1
            defer { state.outage = outage }
            guard isDue else { return nil }
            outage.reportedAt = now
            defer { outage.unreported = 0 }
            return outage.unreported
        }
    }

    /// Records that the database can be used again, unless an operation has failed within `pause`.
    /// After an error that an operator must cure, only such errors count: the operator waits for
    /// the end of this outage, and another outage gets a report of its own.
    package func recordUsable(after pause: Duration, now: ContinuousClock.Instant = .now) {
        let failures: Int? = self.state.withLock { state in
            guard let outage = state.outage else { return nil }
            guard now - (outage.unusableAt ?? outage.failedAt) >= pause else { return nil }
            state.outage = nil
            return outage.unreported
        }
        if let failures { self.onEvent(.databaseUsable(failures: failures)) }
    }

    /// Counts a transaction: its callers' writes, and the duration of its commit.
    package func recordCommit(of writes: Int, after time: Duration) {
        self.state.withLock { state in
            state.commits.writes += writes
            state.commits.times.record(time)
        }
    }

    /// Counts a row that cannot be read, and reports it.
    package func record(_ row: StoreEvent.SetAside) {
        self.state.withLock { $0.setAside += 1 }
        self.onEvent(.setAside(row))
    }
}
