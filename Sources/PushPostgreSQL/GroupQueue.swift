internal import PushStore
internal import Synchronization

/// A caller's work that can be done together with the work of other callers.
protocol GroupMember: Sendable {
    /// The number of bytes that this member adds to the size of its group.
    var byteCount: Int { get }
}

/// The callers of this server that wait for a common statement or transaction. Any thread may use
/// it.
///
/// If fewer than `groups` groups are running, a new caller leads the next group. It does the work
/// of all callers that wait at this moment. At the end of its group, it makes the first caller
/// that has arrived meanwhile the next leader. So a caller waits only for the groups before its
/// own, and more callers make larger groups.
///
/// Clients that were answered together send their next requests together. So the first of these
/// requests yields some turns of its event loop, and the other requests can join its group.
/// Otherwise the first would lead a group of one, and the others would wait for that group.
final class GroupQueue<Member: GroupMember, Value: Sendable>: Sendable {
    /// If a caller has waited this long and its group has not begun, it is refused.
    private static var limit: Duration { .seconds(5) }
    /// Before its group begins, a leader yields to other callers for at most this number of turns
    /// of its event loop.
    private static var turns: Int { 8 }

    typealias Seat = GroupSeat<Member, Value>
    /// The outcome of a group's work for one member of the group.
    typealias End = Result<Value, StoreError>

    private struct State {
        var waiting: [Seat] = []
        var groups = 0
        /// The number of members of the group that ended last.
        var lastCount = 1

        /// Removes and returns the callers that have waited too long.
        mutating func removeExpired(_ limit: Duration) -> [Seat] {
            let start = ContinuousClock.now - limit
            let count = self.waiting.prefix { $0.start <= start }.count
            defer { self.waiting.removeFirst(count) }
            return Array(self.waiting.prefix(count))
        }

        /// Removes and returns callers for a group with `member`, in the order of their arrival,
        /// up to the limits of a group.
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

    init(_ limits: GroupLimits) { self.limits = limits }

    var waiting: Int { self.state.withLock { $0.waiting.count } }

    /// Runs `work` for a group that contains this member, and returns the member's outcome. `work`
    /// returns an outcome for each member of the group. Either this caller or another caller calls
    /// `work`, perhaps in a task that is already cancelled.
    func end(of member: Member, work: @Sendable ([Member]) async -> [End]) async -> End {
        let seat = Seat(member)
        await withUnsafeContinuation { self.wait(on: seat, resume: $0) }
        if let end = seat.end { return end }
        return await self.lead(seat, work)
    }

    /// Waits until one of two events, and then resumes the caller once. Either the group of
    /// another caller has done this seat's work. Or this caller must lead the next group, and its
    /// seat has no outcome yet.
    func wait(on seat: Seat, resume caller: UnsafeContinuation<Void, Never>) {
        seat.caller = caller
        // `resume` only enqueues the task, so it may be called under the lock.
        self.state.withLock { state in
            if state.groups < self.limits.groups {
                state.groups += 1
                seat.resume()
            } else if state.waiting.count < self.limits.waiting {
                state.waiting.append(seat)
            } else {
                seat.resume(with: .failure(.busy))
            }
        }
    }

    /// Leads a group that consists of this seat's caller and of waiting callers. Afterwards all
    /// their seats have outcomes.
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

    /// Yields to other callers until the group has as many members as the last group had, but at
    /// most `turns` times.
    private func waitForMembers() async {
        for _ in 0..<Self.turns {
            if self.state.withLock({ $0.waiting.count + 1 >= $0.lastCount }) { return }
            await Task.yield()
        }
    }

    /// Makes the first waiting caller the next leader. If the database does not answer, callers
    /// that have already waited for half of the limit fail with the error of the last group.
    /// Otherwise they would wait for the next group, which would probably fail, too.
    private func leave(after ends: [End]) {
        var (limit, failure) = (Self.limit, StoreError.busy)
        if case .failure(let error) = ends[0], case .unavailable = error { (limit, failure) = (Self.limit / 2, error) }
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
        for seat in expired { seat.resume(with: .failure(failure)) }
    }
}

/// A caller's place in a `GroupQueue`. A caller's own class may inherit from this class, which
/// saves an allocation.
///
/// `@unchecked Sendable`: the leader removes the seat from the queue under the queue's lock. Until
/// the leader resumes the caller, only the leader uses the seat. Afterwards only the caller uses
/// it.
class GroupSeat<Member: GroupMember, Value: Sendable>: @unchecked Sendable {
    let member: Member
    /// The outcome; `nil` while the caller waits, or if the caller must lead the next group.
    fileprivate(set) var end: Result<Value, StoreError>?
    fileprivate let start = ContinuousClock.now
    fileprivate var caller: UnsafeContinuation<Void, Never>?

    init(_ member: Member) { self.member = member }

    fileprivate func resume() { self.caller?.resume() }

    fileprivate func resume(with end: Result<Value, StoreError>) {
        self.end = end
        self.caller?.resume()
    }
}

/// The limits on groups, and on the queue of callers that wait for a group.
struct GroupLimits: Sendable {
    let groups: Int
    let members: Int
    /// The maximum total number of bytes of a group; a larger member forms a group alone.
    let bytes: Int
    /// The maximum number of waiting callers; the queue refuses further callers with `busy`.
    let waiting: Int

    /// The limits for groups of posts. There are two groups: while one of them waits for the disk,
    /// the other executes statements.
    static let posts = GroupLimits(groups: 2, members: 200, bytes: 4 << 20, waiting: 4096)

    /// The limits for groups of fetches. There are two groups: while PostgreSQL executes the query
    /// of one, this server reads the rows of the other.
    static let fetches = GroupLimits(groups: 2, members: 64, bytes: 0, waiting: 65_536)
}
