package import Foundation
package import PushCore

/// Draws the ids of notifications: random, but ids of the same moment are close to each other.
///
/// The tables of notifications, recipients and pushes are ordered by id. Ids drawn from all
/// numbers would put each row of a commit on a page of its own: a commit of sixty posts wrote two
/// hundred pages.
///
/// The upper bits are a keyed hash of the moment, under a key of the process; the lower ones are
/// random. So an id reveals neither when it was assigned nor how many there are. Two ids reveal
/// only that they were assigned within the same moment, which their readers can tell by their
/// arrival.
package struct NotificationIDs: Sendable {
    private static let lowerBits = 16
    private static let moment: TimeInterval = 0.016

    private let bits: Int

    /// Ids are below 2^`bits`; if there are too few bits for both parts, all bits are random.
    package init(bits: Int) {
        self.bits = bits
    }

    /// Draws an id; `nil` if it has drawn 0, which is not an id; then the caller draws again.
    package func draw(at now: Date) -> NotificationID? {
        guard self.bits > Self.lowerBits + 8 else {
            return NotificationID(rawValue: .random(in: 1..<1 << self.bits))
        }
        // `Hasher` is SipHash with a random key for each process.
        var hasher = Hasher()
        // If the clock is too far off, all times are one moment.
        hasher.combine(Int64(exactly: (now.timeIntervalSince1970 / Self.moment).rounded(.down)) ?? 0)
        let upper = UInt64(bitPattern: Int64(hasher.finalize())) >> UInt64(64 - self.bits + Self.lowerBits)
        let lower = UInt64.random(in: 0..<1 << UInt64(Self.lowerBits))
        return NotificationID(rawValue: Int64(upper << UInt64(Self.lowerBits) | lower))
    }
}
