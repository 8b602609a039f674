/// A random number generator that gives the same numbers for the same seed, on every machine and
/// with every release of Swift (SplitMix64).
struct SeededRandom {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Returns a number from zero up to, but not including, `bound`.
    mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: self.next() >> 1) % bound
    }

    /// Returns `true` in `percent` of 100 cases.
    mutating func happens(_ percent: Int) -> Bool {
        self.below(100) < percent
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[self.below(elements.count)]
    }
}
