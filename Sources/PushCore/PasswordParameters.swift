/// What Argon2id costs: memory, and passes over it.
package struct PasswordParameters: Sendable, Hashable, CustomStringConvertible {
    /// What a stored hash may ask for when it is checked, in KiB; one that asks for more is nobody's.
    package static let memoryBounds = 8...1_048_576
    package static let passesBounds = 1...64
    package static let lanesBounds = 1...16

    /// OWASP's first choice.
    package static let usual = PasswordParameters()

    /// As good as each other, with one lane or more (OWASP, Password Storage Cheat Sheet): KiB and passes.
    private static let minima = [(47_104, 1), (19_456, 2), (12_288, 3), (9216, 4), (7168, 5)]

    /// KiB.
    package let memory: Int
    package let passes: Int
    /// One thread works on all of them, so that more lanes make nobody wait for more cores.
    package let lanes: Int

    private init() {
        self.memory = 19_456
        self.passes = 2
        self.lanes = 1
    }

    /// `nil` beyond the bounds, and below the eight KiB for each lane of RFC 9106 section 3.1.
    package init?(memory: Int, passes: Int, lanes: Int) {
        guard
            Self.memoryBounds.contains(memory), Self.passesBounds.contains(passes), Self.lanesBounds.contains(lanes),
            memory >= 8 * lanes
        else { return nil }
        self.memory = memory
        self.passes = passes
        self.lanes = lanes
    }

    /// Whether new passwords may be hashed with no more than this.
    package var isStrongEnough: Bool {
        Self.minima.contains { self.memory >= $0.0 && self.passes >= $0.1 }
    }

    /// Whether any of the three is less than the other's.
    func isBelow(_ other: PasswordParameters) -> Bool {
        self.memory < other.memory || self.passes < other.passes || self.lanes < other.lanes
    }

    /// As in a PHC string.
    package var description: String { "m=\(self.memory),t=\(self.passes),p=\(self.lanes)" }
}
