package import Foundation
package import PushCore

/// Reads the events, which are stored in the transactions of the changes that they report.
///
/// The events' numbers become visible in rising order: no event appears with a lower number than
/// one that a reader has seen.
package protocol EventReader: Sendable {
    /// The events after a number, oldest first; `nil`: from the oldest stored event.
    ///
    /// With `sender`, only events of the notifications that this user has sent, in apps that it
    /// still belongs to. Events of other apps are left out, so a page may have fewer than `limit`
    /// events.
    func events(after number: Int64?, ofSender sender: User?, limit: Int) async throws(StoreError) -> EventPage

    /// The last number that the receiver has acknowledged; 0 if there is none.
    func lastDeliveredEvent() async throws(StoreError) -> Int64

    /// The events that the receiver has not acknowledged.
    func eventBacklog() async throws(StoreError) -> EventBacklog
}

extension User {
    /// Whether the user, who has sent the notification, may read an event.
    ///
    /// An event about a push has the app that its platform names; an event about a fetch has the
    /// app of its notification. Once the notification is deleted, the apps of the user who has
    /// fetched it decide. Once that user is deleted, too, the event names nobody, so every sender
    /// may read it.
    package func mayRead(eventOn platform: String?, of app: AppName?, fetchedBy apps: Set<AppName>?) -> Bool {
        if let app = platform.map({ Platform(stored: $0).app }) ?? app { return self.mayUse(app) }
        return apps.map { !$0.isDisjoint(with: self.apps) } ?? true
    }
}

/// Keeps track of delivered events, and deletes old ones.
package protocol EventStore: Sendable {
    /// Stores that the receiver has acknowledged the events up to a number.
    func recordDelivered(eventsUpTo number: Int64) async throws

    /// Deletes events from before a time, oldest first, at most `limit`, whether they were
    /// delivered or not.
    func trimEvents(before date: Date, limit: Int) async throws -> TrimmedEvents
}

/// Some events in the order of their numbers.
package struct EventPage: Sendable, Hashable {
    package let events: [PushEvent]
    /// The number after which the next page begins.
    package let end: Int64
    package let hasMore: Bool
    /// Whether events after the requested number were deleted for their age, and so may be
    /// missing.
    package let isTruncated: Bool
}

/// The number of events that wait for the receiver, and the time of the oldest.
package struct EventBacklog: Sendable, Hashable {
    package let count: Int
    package let oldest: Date?

    package init(count: Int, oldest: Date?) {
        (self.count, self.oldest) = (count, oldest)
    }
}

/// How many events were deleted, and how many of them the receiver had not acknowledged.
package struct TrimmedEvents: Sendable, Hashable {
    package let count: Int
    package let undelivered: Int

    package init(count: Int, undelivered: Int) {
        (self.count, self.undelivered) = (count, undelivered)
    }
}
