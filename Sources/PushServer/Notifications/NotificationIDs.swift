package import Foundation
package import PushCore

/// Draws the ids of notifications. Ids are random, but ids that are drawn in the same moment are
/// close to each other.
///
/// The tables of notifications, recipients and pushes are ordered by id. If ids were spread over
/// all numbers, each row of a commit would be on a database page of its own. A measured commit of
/// sixty posts with such ids wrote two hundred pages.
///
/// The upper bits of an id are a keyed hash of the moment, with a key of the process; the lower
/// bits are random. So an id reveals neither when it was assigned nor how many ids were assigned.
/// Two ids reveal only whether they were assigned within the same moment. A user who receives both
/// notifications knows that anyway.
package struct NotificationIDs: Sendable {
    private static let lowerBits = 16
    /// The length of a moment in seconds. The longer it is, the closer are the rows of posts that
    /// arrive and expire together. With 12,500 posts a second, a fortieth of a moment's ids is
    /// used.
    private static let moment: TimeInterval = 0.128

    private let bits: Int

    /// Ids are below 2^`bits`. If `bits` is too small for both parts of an id, all bits are
    /// random.
    package init(bits: Int) {
        self.bits = bits
    }

    /// Draws an id. Returns `nil` if it has drawn 0, which is not a valid id; the caller must then
    /// draw again.
    ///
    /// If the id is in use, the caller draws again with the next `attempt`, and gets an id that is
    /// far from it. Most ids near the first one may be in use, too.
    package func draw(at now: Date, attempt: Int = 0) -> NotificationID? {
        guard self.bits > Self.lowerBits + 8 else {
            return NotificationID(rawValue: .random(in: 1..<1 << self.bits))
        }
        // `Hasher` is SipHash with a random key for each process.
        var hasher = Hasher()
        // If the clock is so wrong that the number does not fit into `Int64`, every time counts as
        // moment 0.
        hasher.combine(Int64(exactly: (now.timeIntervalSince1970 / Self.moment).rounded(.down)) ?? 0)
        hasher.combine(attempt)
        let upper = UInt64(bitPattern: Int64(hasher.finalize())) >> UInt64(64 - self.bits + Self.lowerBits)
        let lower = UInt64.random(in: 0..<1 << UInt64(Self.lowerBits))
        return NotificationID(rawValue: Int64(upper << UInt64(Self.lowerBits) | lower))
    }
}
