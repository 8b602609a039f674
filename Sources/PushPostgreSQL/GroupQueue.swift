internal import PushStore
internal import Synchronization

/// Work that may be done for several callers at once.
protocol GroupMember: Sendable {
    /// The bytes that the member adds to the size of its group.
    var byteCount: Int { get }
}

/// The outcome of a group's work for one of its members.
protocol GroupEnd: Sendable {
    static func failed(_ error: StoreError) -> Self

    /// The reason why the member failed, if it did.
    var failure: StoreError? { get }
}

/// The callers of this server that wait for a common statement or transaction. Any thread may use
/// it.
///
/// A caller that finds fewer than `groups` running leads the next group: it does the work for all
/// callers that wait then. At its end it passes the lead to the first caller that has arrived
/// meanwhile. So callers wait only for the groups before theirs, and more callers make larger
/// groups.
///
/// Clients that were answered together send their next requests together. The first of them yields
/// some turns of its loop, so that the others can join. Otherwise this first caller would lead a
/// group of one, and the others would wait for that group.
final class GroupQueue<Member: GroupMember, End: GroupEnd>: Sendable {
    /// A caller that has waited this long without starting is refused.
    private static var limit: Duration { .seconds(5) }
    /// The most turns of its loop that a caller yields to other callers before it leads a group.
    private static var turns: Int { 8 }

    typealias Seat = GroupSeat<Member, End>

    private struct State {
        var waiting: [Seat] = []
        var groups = 0
        /// The members of the group that ended last.
        var lastCount = 1

        /// Removes the callers that have waited too long.
        mutating func removeExpired(_ limit: Duration) -> [Seat] {
            let start = ContinuousClock.now - limit
            let count = self.waiting.prefix { $0.start <= start }.count
            defer { self.waiting.removeFirst(count) }
            return Array(self.waiting.prefix(count))
        }

        /// Removes the callers that fit into a group with `member`, in the order in which they
        /// arrived.
        mutating func removeGroup(with member: Member, _ limits: GroupLimits) -> [Seat] {
            var bytes = member.byteCount
            let count = self.waiting.prefix(limits.members - 1).prefix { seat in
                bytes += seat.member.byteCount
                return bytes <= limits.bytes
            }.count
            defer { self.waiting.removeFirst(count) }
            return Array(self.waiting.prefix(count))
        }
    }

    private let limits: GroupLimits
    private let state = Mutex(State())

    init(_ limits: GroupLimits) {
        self.limits = limits
    }

    /// The number of callers that wait for a group.
    var waiting: Int { self.state.withLock { $0.waiting.count } }

    /// Runs `work` for a group that contains this member, and returns the member's outcome. This
    /// caller or another one calls `work`; that caller's task may be cancelled. `work` returns an
    /// outcome for each member.
    func end(of member: Member, work: @Sendable ([Member]) async -> [End]) async -> End {
        let seat = Seat(member)
        await withUnsafeContinuation { self.wait(on: seat, resume: $0) }
        if let end = seat.end { return end }
        return await self.lead(seat, work)
    }

    /// Waits until another caller's group has done this seat's work, or until this caller must
    /// lead the next group. In the second case the seat has no outcome yet. Resumes the caller
    /// once.
    func wait(on seat: Seat, resume caller: UnsafeContinuation<Void, Never>) {
        seat.caller = caller
        // Resuming a task only enqueues it, so it may be done under the lock.
        self.state.withLock { state in
            if state.groups < self.limits.groups {
                state.groups += 1
                seat.resume()
            } else if state.waiting.count < self.limits.waiting {
                state.waiting.append(seat)
            } else {
                seat.resume(with: .failed(.busy))
            }
        }
    }

    /// Leads a group of the seat's caller, whose turn it is, and of the callers that wait.
    /// Afterwards this seat has its outcome, like the others.
    @discardableResult
    func lead(_ seat: Seat, _ work: @Sendable ([Member]) async -> [End]) async -> End {
        await self.waitForMembers()
        let others = self.state.withLock { $0.removeGroup(with: seat.member, self.limits) }
        let ends = await work([seat.member] + others.map(\.member))
        self.leave(after: ends)
        for (other, end) in zip(others, ends.dropFirst()) { other.resume(with: end) }
        seat.end = ends[0]
        return ends[0]
    }

    // MARK: - Private

    /// Yields turns until as many callers wait as the last group had members, or until the turns
    /// are used up.
    private func waitForMembers() async {
        for _ in 0..<Self.turns {
            if self.state.withLock({ $0.waiting.count + 1 >= $0.lastCount }) { return }
            await Task.yield()
        }
    }

    /// Passes the lead to the first caller that waits. If the database does not answer, callers
    /// that have already waited for half of the limit get its error: they would wait for the whole
    /// limit again.
    private func leave(after ends: [End]) {
        var (limit, failure) = (Self.limit, StoreError.busy)
        if let error = ends[0].failure, case .unavailable = error { (limit, failure) = (Self.limit / 2, error) }
        let (expired, next) = self.state.withLock { state in
            state.lastCount = ends.count
            let expired = state.removeExpired(limit)
            if state.waiting.isEmpty {
                state.groups -= 1
                return (expired, nil as Seat?)
            }
            return (expired, state.waiting.removeFirst())
        }
        next?.resume()
        for seat in expired { seat.resume(with: .failed(failure)) }
    }
}

/// A caller's place in a queue of groups. A caller's class may inherit from it, which saves an
/// object.
///
/// `@unchecked Sendable`: the leader removes the seat from the queue under the queue's lock. Until
/// it resumes the caller, only the leader uses the seat; from then on, only the caller.
class GroupSeat<Member: GroupMember, End: GroupEnd>: @unchecked Sendable {
    let member: Member
    /// `nil`: the caller still waits, or leads the next group.
    fileprivate(set) var end: End?
    fileprivate let start = ContinuousClock.now
    fileprivate var caller: UnsafeContinuation<Void, Never>?

    init(_ member: Member) {
        self.member = member
    }

    fileprivate func resume() {
        self.caller?.resume()
    }

    fileprivate func resume(with end: End) {
        self.end = end
        self.caller?.resume()
    }
}

/// The sizes of groups, and of the queue in front of them.
struct GroupLimits: Sendable {
    /// The number of groups that may run at the same time.
    let groups: Int
    /// The maximum number of members of a group.
    let members: Int
    /// The most bytes of a group; a larger member is a group of its own.
    let bytes: Int
    /// The most callers that wait; the queue refuses more of them as `busy`.
    let waiting: Int
}
