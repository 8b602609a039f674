/// The cost of Argon2id: the memory, the number of passes over the memory, and the number of
/// lanes.
package struct PasswordParameters: Sendable, Hashable, CustomStringConvertible {
    /// The limits for the parameters of a stored hash; the memory is in KiB. A hash outside the
    /// limits matches no password.
    package static let memoryBounds = 8...1_048_576
    package static let passesBounds = 1...64
    package static let lanesBounds = 1...16

    /// OWASP's minimum parameters: 19 MiB, two passes, one lane.
    package static let usual = PasswordParameters()

    /// The weakest allowed pairs of memory in KiB and number of passes, for any number of lanes.
    /// All pairs are equally strong (OWASP, Password Storage Cheat Sheet).
    private static let minima = [(47_104, 1), (19_456, 2), (12_288, 3), (9216, 4), (7168, 5)]

    /// The memory, in KiB.
    package let memory: Int
    package let passes: Int
    /// The number of lanes. One thread works on all lanes, so that more lanes need no more cores.
    package let lanes: Int

    private init() {
        self.memory = 19_456
        self.passes = 2
        self.lanes = 1
    }

    /// Returns `nil` if a parameter is outside its limits, or if the memory is less than the eight
    /// KiB for each lane that RFC 9106 section 3.1 requires.
    package init?(memory: Int, passes: Int, lanes: Int) {
        guard
            Self.memoryBounds.contains(memory), Self.passesBounds.contains(passes), Self.lanesBounds.contains(lanes),
            memory >= 8 * lanes
        else { return nil }
        self.memory = memory
        self.passes = passes
        self.lanes = lanes
    }

    /// Whether new passwords may be hashed with these parameters.
    package var isStrongEnough: Bool {
        Self.minima.contains { self.memory >= $0.0 && self.passes >= $0.1 }
    }

    /// Whether any of the three parameters is less than in `other`.
    func isBelow(_ other: PasswordParameters) -> Bool {
        self.memory < other.memory || self.passes < other.passes || self.lanes < other.lanes
    }

    /// The parameters as a PHC string contains them.
    package var description: String { "m=\(self.memory),t=\(self.passes),p=\(self.lanes)" }
}
