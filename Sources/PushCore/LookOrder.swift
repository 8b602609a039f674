/// Changes of a user's notifications of one app that the user's devices of this app must show.
package struct LookOrder: Sendable, Hashable {
    /// The user and the app whose notifications have changed.
    package struct Subject: Sendable, Hashable {
        package let user: Int64
        package let app: AppName

        /// Whether a device of this lane shows the notifications of the app.
        package func concerns(_ lane: String) -> Bool {
            Lane(stored: lane).app == self.app
        }
    }

    package let subject: Subject
    /// The session that has made all of these changes; its own devices know them already. `nil` if
    /// several sessions, or no session, made them.
    package let session: String?
    /// Whether the pushes are sent immediately and with high priority, for example after a recall.
    package let isUrgent: Bool

    package init(user: Int64, app: AppName, session: String? = nil, isUrgent: Bool = false) {
        (self.subject, self.session, self.isUrgent) = (Subject(user: user, app: app), session, isUrgent)
    }

    package var user: Int64 { self.subject.user }

    /// Merges the changes of this order and of `other` into one order.
    package func merged(with other: LookOrder) -> LookOrder {
        LookOrder(
            user: self.user,
            app: self.subject.app,
            session: self.session == other.session ? self.session : nil,
            isUrgent: self.isUrgent || other.isUrgent
        )
    }
}

/// A session that has fetched all changes of its user in one app, up to the change number
/// `change`.
package struct LookSync: Sendable, Hashable {
    package let subject: LookOrder.Subject
    package let session: String
    package let change: Int64

    package init(user: Int64, app: AppName, session: String, change: Int64) {
        (self.subject, self.session, self.change) = (LookOrder.Subject(user: user, app: app), session, change)
    }
}
