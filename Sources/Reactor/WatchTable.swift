/// Identifies one watch of one loop; it never identifies a later watch in the same slot.
package struct WatchToken: Sendable, Hashable {
    let rawValue: UInt64
}

/// The handlers of a loop, each in a slot. Each slot has a generation, so that an event of a
/// forgotten watch does not reach the slot's next handler.
struct WatchTable {
    static let wakeUpToken = UInt64.max

    private var slots: [(generation: UInt32, handler: (any ReadinessHandler)?)] = []
    private var free: [UInt32] = []

    mutating func insert(_ handler: any ReadinessHandler) -> WatchToken {
        let slot: UInt32
        if let reused = self.free.popLast() {
            slot = reused
            self.slots[Int(slot)].generation &+= 1
            self.slots[Int(slot)].handler = handler
        } else {
            slot = UInt32(self.slots.count)
            self.slots.append((0, handler))
        }
        return WatchToken(rawValue: UInt64(self.slots[Int(slot)].generation) << 32 | UInt64(slot))
    }

    mutating func remove(_ token: WatchToken) {
        guard self.handler(token.rawValue) != nil else { return }
        let slot = UInt32(truncatingIfNeeded: token.rawValue)
        self.slots[Int(slot)].handler = nil
        self.free.append(slot)
    }

    func handler(_ token: UInt64) -> (any ReadinessHandler)? {
        let index = Int(UInt32(truncatingIfNeeded: token))
        // The slot may be missing: a loop that has ended has an empty table, and its descriptors
        // may be closed later.
        guard index < self.slots.count else { return nil }
        let slot = self.slots[index]
        return slot.generation == UInt32(truncatingIfNeeded: token >> 32) ? slot.handler : nil
    }
}
