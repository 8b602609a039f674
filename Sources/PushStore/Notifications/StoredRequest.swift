package import Foundation
internal import PushCore

/// A row of `idempotency`: an idempotency key, and the notification that its request has stored.
package struct StoredRequest: Sendable {
    package let request: Data
    package let notification: Int64
    package let createdAt: Int64
    package let expiresAt: Int64
    /// The number of recipients; `nil` if it was not final when the request was stored. A repeated
    /// request gets the same answer, even if the fan-out has ended by then.
    package let recipients: Int64?
    package let pushes: Int64?

    package enum Column: Int32, SelectedColumn {
        case request, notificationID, createdAt, expiresAt, recipients, pushes
    }

    package static let columns = Column.list

    package init(_ request: IdempotentRequest, of notification: NewNotification, _ reach: Reach) {
        self.request = request.request
        self.notification = notification.id.rawValue
        self.createdAt = notification.createdAt.milliseconds
        self.expiresAt = notification.expiresAt.milliseconds
        self.recipients = reach.isComplete ? Int64(reach.recipients) : nil
        self.pushes = reach.isComplete ? Int64(reach.pushes) : nil
    }

    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.request = try row.data(Column.request)
        self.notification = try row.integer(Column.notificationID)
        self.createdAt = try row.integer(Column.createdAt)
        self.expiresAt = try row.integer(Column.expiresAt)
        self.recipients = try row.optionalInteger(Column.recipients)
        self.pushes = try row.optionalInteger(Column.pushes)
    }

    /// The outcome of a later request with the same idempotency key.
    package func outcome(of request: IdempotentRequest) throws -> PostOutcome {
        guard self.request == request.request else { return .keyReused }
        guard let id = NotificationID(rawValue: self.notification) else {
            throw StoreError.damaged(row: "an idempotency key")
        }
        var reach: Reach?
        if let recipients, let pushes {
            reach = Reach(recipients: Int(clamping: recipients), pushes: Int(clamping: pushes))
        }
        return .repeated(
            id,
            createdAt: Date(milliseconds: self.createdAt),
            expiresAt: Date(milliseconds: self.expiresAt),
            reach: reach
        )
    }
}

/// A request with an idempotency key: it takes effect only once, however often it is sent.
package struct IdempotentRequest: Sendable, Hashable {
    /// How many seconds the store keeps the idempotency key.
    package static let lifetime: TimeInterval = 86_400

    /// A keyed hash of the user, the method, the path, and the idempotency key in the request.
    package let key: Data
    /// A keyed hash of the whole content of the request.
    package let request: Data

    package init(key: Data, request: Data) {
        (self.key, self.request) = (key, request)
    }
}
