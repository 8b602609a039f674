package import Foundation
internal import PushCore

/// The pace at which the waiting pushes of one user become due when the user's devices connect.
///
/// A lane sends pushes in the order of their due times. If all pushes became due at once, those of
/// one user, who may have many, would delay the pushes to all other users.
package enum WakePace {
    /// The number of pushes that become due at the same time, and the milliseconds until the next
    /// pushes become due.
    package static let (pushes, interval): (Int64, Int64) = (100, 100)
    /// The maximum number of pushes that become due in one transaction. On SQLite, all other
    /// writes wait for that transaction.
    package static let page = 1000

    /// A push that waits for its device to connect. Its due time is in milliseconds since 1970,
    /// and its sequence is its notification's.
    package typealias WaitingPush = (key: DuePush, user: Int64, dueAt: Int64, sequence: Int64)

    /// The time, in milliseconds since 1970, up to which due pushes stay as they are; `queued` is
    /// the number of queued pushes of each user. Without this time, each new stream of a client
    /// that reconnects without a pause would sort all pushes of a user who has many.
    package static func start(queued: [Int64: Int64], now: Date) -> Int64 {
        now.milliseconds + (queued.values.contains { $0 > Self.pushes } ? 10_000 : 0)
    }

    /// Decides which of the waiting pushes get an earlier due time, at most a page of them. A push
    /// that would become due at most `interval` earlier stays as it is.
    ///
    /// `queued` is the number of queued pushes of each user, including the waiting ones. The other
    /// queued pushes come before the waiting ones.
    package static func dueTimes(
        of waiting: [WaitingPush],
        queued: [Int64: Int64],
        now: Date
    ) -> [(key: DuePush, dueAt: Int64)] {
        let due = Dictionary(grouping: waiting, by: \.user).flatMap { user, pushes in
            let first = max(0, (queued[user] ?? 0) - Int64(pushes.count))
            let sorted = pushes.sorted { ($0.dueAt, $0.sequence) < ($1.dueAt, $1.sequence) }
            return zip(first..., sorted).compactMap { place, push in
                let dueAt = now.milliseconds + place / Self.pushes * Self.interval
                return push.dueAt > dueAt + Self.interval ? (key: push.key, dueAt: dueAt) : nil
            }
        }
        return Array(due.prefix(Self.page))
    }
}
