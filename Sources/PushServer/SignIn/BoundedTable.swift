/// A dictionary that never holds more than so many entries: what was written longest ago is forgotten first.
///
/// It forgets by halves, which costs nothing an entry; the newer half of `bound` is there until it is turned by hand.
struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let half: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// `bound` is at least two.
    init(bound: Int) {
        self.half = bound / 2
    }

    var count: Int { self.young.count + self.old.count }

    /// Writing keeps an entry, reading does not: whoever only asks cannot push anything out.
    subscript(key: Key) -> Value? {
        get { self.young[key] ?? self.old[key] }
        set {
            self.old[key] = nil
            self.young[key] = newValue
            if self.young.count >= self.half { self.turn() }
        }
    }

    /// Forgets the older half; the newer becomes the older one. In a table that is turned at intervals an entry lives for
    /// one to two of them.
    mutating func turn() {
        self.old = self.young
        self.young = [:]
    }
}
