internal import Foundation
internal import PushCore

/// Draws the ids of notifications: random, but those of the same moment lie near each other.
///
/// The tables of notifications, recipients and pushes are in the order of the ids. Ids that were drawn from all numbers put
/// each row of a commit on a page of its own, so that a commit of sixty posts wrote two hundred pages. The upper bits are a
/// keyed hash of the moment, under a key of the process; the lower ones are random. So nobody can tell from an id when it was
/// given out, nor how many there are; only that two were given out within the same moment, which those who see them can tell
/// by their arrival.
struct NotificationIDs: Sendable {
    private static let lowerBits = 16
    private static let moment: TimeInterval = 0.016

    private let bits: Int

    /// Ids are below 2^`bits`; with too few of them for both parts all are random.
    init(bits: Int) {
        self.bits = bits
    }

    /// `nil` for the one number that is no id: to be drawn again.
    func draw(at now: Date) -> NotificationID? {
        guard self.bits > Self.lowerBits + 8 else {
            return NotificationID(rawValue: .random(in: 1..<1 << self.bits))
        }
        // Keyed with random bits of the process (SipHash).
        var hasher = Hasher()
        // A clock that is far off has one moment for all times.
        hasher.combine(Int64(exactly: (now.timeIntervalSince1970 / Self.moment).rounded(.down)) ?? 0)
        let upper = UInt64(bitPattern: Int64(hasher.finalize())) >> UInt64(64 - self.bits + Self.lowerBits)
        let lower = UInt64.random(in: 0..<1 << UInt64(Self.lowerBits))
        return NotificationID(rawValue: Int64(upper << UInt64(Self.lowerBits) | lower))
    }
}
