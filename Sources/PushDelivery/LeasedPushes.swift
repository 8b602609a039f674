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

    /// Removes and returns the next push to send; pushes of single notifications go before pushes
    /// of broadcasts.
    mutating func popFirst() -> LeasedDelivery? {
        self.direct.popFirst() ?? self.bulk.popFirst()
    }

    /// Removes and returns all pushes.
    mutating func takeAll() -> ArraySlice<LeasedDelivery> {
        defer { self = LeasedPushes() }
        return self.direct + self.bulk
    }

    /// Selects the queues to lease further pushes from. Pushes of single notifications are leased
    /// even while many leased pushes of a broadcast wait.
    func wanted(of queues: [Queue], batch: Int) -> [Queue] {
        if self.direct.count >= batch { return [] }
        return self.count < batch / 2 ? queues : queues.filter { $0 == .direct }
    }
}
