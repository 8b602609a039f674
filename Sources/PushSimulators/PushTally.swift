/// The number of requests for one push to one device, and their results.
package struct PushTally: Sendable, Hashable {
    /// The number of requests with this push.
    package internal(set) var seen = 0
    /// The number of requests whose answer told the sender that the push is accepted.
    package internal(set) var accepted = 0
    /// The number of requests whose push reached the device, even if the answer was lost.
    package internal(set) var delivered = 0

    mutating func count(_ verdict: PushVerdict) {
        self.seen += 1
        if verdict.isAccepted { self.accepted += 1 }
        if verdict.isDelivered { self.delivered += 1 }
    }
}

/// The counts for all pushes together.
package struct PushTotals: Sendable, Hashable {
    /// The number of distinct pushes, each to one device.
    package internal(set) var pushes = 0
    /// The number of requests with any of these pushes.
    package internal(set) var seen = 0
    /// The number of pushes that were accepted at least once.
    package internal(set) var accepted = 0
    /// The number of pushes that reached their device at least once.
    package internal(set) var delivered = 0
    /// The number of requests that delivered a push to its device again.
    package internal(set) var repeated = 0

    init(_ tallies: some Sequence<PushTally>) {
        for tally in tallies {
            self.pushes += 1
            self.seen += tally.seen
            if tally.accepted > 0 { self.accepted += 1 }
            if tally.delivered > 0 { self.delivered += 1 }
            self.repeated += max(0, tally.delivered - 1)
        }
    }
}

extension PushTally {
    /// Push and device as two hashes, sixteen bytes in all, so that a million keys are cheap. Both
    /// hashes together practically never collide.
    struct Key: Hashable {
        private let first: Int
        private let second: Int

        init(_ key: PushKey) {
            self.init(push: key.push, device: key.device)
        }

        init(push: String, device: String) {
            var hasher = Hasher()
            hasher.combine(push)
            hasher.combine(device)
            self.first = hasher.finalize()
            hasher = Hasher()
            hasher.combine(device)
            hasher.combine(1)
            hasher.combine(push)
            self.second = hasher.finalize()
        }
    }
}
