internal import PushAPI
internal import Synchronization

/// Bounds the memory for the bodies of batches, from before they are read until they are answered.
final class BatchMemory: Sendable {
    private struct State {
        var bytes = 0
        var bytesOfUsers: [Int64: Int] = [:]
    }

    private let bound: Int
    private let boundOfUser: Int
    private let state = Mutex(State())

    /// Room for eight bodies of the largest size, of which one user may have two.
    init(largest: Int) {
        self.bound = largest * 8
        self.boundOfUser = largest * 2
    }

    /// Reserves room for a body. Throws a `busy` problem if there is none; otherwise the caller must call `release`.
    func reserve(_ bytes: Int, for user: Int64) throws(Problem) {
        let isReserved = self.state.withLock { state in
            let own = state.bytesOfUsers[user, default: 0]
            guard state.bytes + bytes <= self.bound, own + bytes <= self.boundOfUser else { return false }
            state.bytes += bytes
            state.bytesOfUsers[user] = own + bytes
            return true
        }
        guard isReserved else { throw Problem(.busy, "too many batches are being received") }
    }

    func release(_ bytes: Int, of user: Int64) {
        self.state.withLock { state in
            state.bytes -= bytes
            let own = state.bytesOfUsers[user, default: 0] - bytes
            state.bytesOfUsers[user] = own > 0 ? own : nil
        }
    }
}
