internal import PushAPI
internal import Synchronization

/// Limits the memory for request bodies of one kind, from the time before a body is read until its
/// request is answered.
final class BodyMemory: Sendable {
    private struct State {
        var bytes = 0
        var bytesOfUsers: [Int64: Int] = [:]
    }

    private let limit: Int
    private let limitPerUser: Int
    private let refusal: Problem
    private let state = Mutex(State())

    /// `reserve` throws `refusal` if a limit is reached: `limit` for all users, `limitPerUser` for
    /// one user.
    init(limit: Int, limitPerUser: Int? = nil, refusal: Problem) {
        self.limit = limit
        self.limitPerUser = limitPerUser ?? limit
        self.refusal = refusal
    }

    /// Reserves memory for a body. Throws the refusal if too much is reserved; otherwise the
    /// caller must call `release`.
    ///
    /// All callers who are not authenticated, whose `user` is `nil`, count as one user.
    func reserve(_ bytes: Int, for user: Int64? = nil) throws(Problem) {
        let isReserved = self.state.withLock { state in
            let own = state.bytesOfUsers[user ?? 0, default: 0]
            guard state.bytes + bytes <= self.limit, own + bytes <= self.limitPerUser else { return false }
            state.bytes += bytes
            state.bytesOfUsers[user ?? 0] = own + bytes
            return true
        }
        guard isReserved else { throw self.refusal }
    }

    func release(_ bytes: Int, of user: Int64? = nil) {
        self.state.withLock { state in
            state.bytes -= bytes
            let own = state.bytesOfUsers[user ?? 0, default: 0] - bytes
            state.bytesOfUsers[user ?? 0] = own > 0 ? own : nil
        }
    }
}
