package import Foundation
package import PushCore

/// Reads the events. An event is stored in the same transaction as the change that it reports.
///
/// The events' numbers become visible in ascending order: once a reader has seen a number, no
/// event with a lower number appears.
package protocol EventReader: SharedReader {
    /// The events after a number, the oldest first; if the number is `nil`, from the oldest stored
    /// event on.
    ///
    /// With `sender`, only events of notifications that this user has sent, in apps that the user
    /// still has. Events of other apps are left out, so a page may have fewer than `limit` events.
    func events(after number: Int64?, ofSender sender: User?, limit: Int) async throws(StoreError) -> EventPage

    /// The number of events that the receiver has not acknowledged, and the time of the oldest.
    func eventBacklog() async throws(StoreError) -> (count: Int, oldest: Date?)
}

extension User {
    /// Whether this user, who has sent the notification, may read an event about it.
    ///
    /// The user must belong to the event's app. An event about a push has the app in the name of
    /// its platform; an event about a fetch has the app of its notification. Once that
    /// notification is deleted, the apps of the user who fetched it count instead. Once that user
    /// is deleted, too, the event names nobody, so every sender may read it.
    package func mayRead(eventOn platform: String?, of app: AppName?, fetchedBy apps: Set<AppName>?) -> Bool {
        if let app = platform.map({ Platform(stored: $0).app }) ?? app { return self.mayUse(app) }
        return apps.map { !$0.isDisjoint(with: self.apps) } ?? true
    }
}

/// Stores how far events were delivered, and deletes old events.
package protocol EventStore: Sendable {
    /// Stores that the receiver has acknowledged all events up to a number.
    func recordDelivered(eventsUpTo number: Int64) async throws

    /// Deletes events before a time, the oldest first, at most `limit` events, even if they were
    /// not delivered. Returns the number of deleted events, and the number of those that the
    /// receiver had not acknowledged.
    func trimEvents(before date: Date, limit: Int) async throws -> (count: Int, undelivered: Int)
}

/// A page of events, in the order of their numbers.
package struct EventPage: Sendable, Hashable {
    package let events: [PushEvent]
    /// The number after which the next page begins.
    package let end: Int64
    package let hasMore: Bool
    /// Whether events after the requested number were deleted because of their age, so that some
    /// may be missing from this page.
    package let isTruncated: Bool
}
