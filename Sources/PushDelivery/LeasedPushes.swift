internal import PushStore

/// Pushes that are leased and wait for a worker.
struct LeasedPushes {
    private var direct: ArraySlice<LeasedDelivery> = []
    private var bulk: ArraySlice<LeasedDelivery> = []

    var count: Int { self.direct.count + self.bulk.count }
    var isEmpty: Bool { self.direct.isEmpty && self.bulk.isEmpty }

    mutating func add(_ leased: [Queue: [LeasedDelivery]]) {
        self.direct += leased[.direct] ?? []
        self.bulk += leased[.bulk] ?? []
    }

    /// The next to be sent: single notices pass what is leased of a broadcast.
    mutating func popFirst() -> LeasedDelivery? {
        self.direct.popFirst() ?? self.bulk.popFirst()
    }

    /// Takes out all that wait.
    mutating func takeAll() -> ArraySlice<LeasedDelivery> {
        defer { self = LeasedPushes() }
        return self.direct + self.bulk
    }

    /// Those of the queues from which more are needed: single notices pass what is leased of a broadcast.
    func wanted(of queues: [Queue], batch: Int) -> [Queue] {
        if self.direct.count >= batch { return [] }
        return self.count < batch / 2 ? queues : queues.filter { $0 == .direct }
    }
}
