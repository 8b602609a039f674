/// A dictionary with a limited number of entries, which evicts the entries that were written
/// longest ago.
///
/// It evicts half of the entries at a time, at no cost per entry; the newest `limit / 2` entries
/// stay until `turn()` is called.
struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let half: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// `limit` must be at least two.
    init(limit: Int) {
        self.half = limit / 2
    }

    var count: Int { self.young.count + self.old.count }

    /// Writing an entry makes it the newest; reading does not, so that reads cannot evict other
    /// entries.
    subscript(key: Key) -> Value? {
        get { self.young[key] ?? self.old[key] }
        set {
            self.old[key] = nil
            self.young[key] = newValue
            if self.young.count >= self.half { self.turn() }
        }
    }

    /// Evicts the older half; the newer half becomes the older one. If `turn` is called at regular
    /// intervals, an entry stays for one to two intervals.
    mutating func turn() {
        self.old = self.young
        self.young = [:]
    }
}
