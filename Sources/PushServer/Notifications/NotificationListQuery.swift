internal import PushAPI
internal import PushCore
internal import PushStore

/// The content of a request for a list of notifications: a range of changes, or some notifications
/// by their ids.
enum NotificationListQuery: Sendable, Hashable {
    case changes(after: String?, limit: Int, isUnreadOnly: Bool)
    case ids([NotificationID])

    /// The number of notifications that one request may name.
    static let maximumIDs = 500

    /// Throws an `invalid-parameter` problem if the parameters are invalid, or combine ids with a
    /// range of changes.
    init(_ query: Query) throws(Problem) {
        let (since, limit) = (try query.cursor(older: "since"), try query.limit)
        let unread = try query["unread"]
        if let ids = try query["ids"] {
            guard since == nil, try query["limit"] == nil, unread == nil else {
                throw Problem(.invalidParameter, "ids cannot be combined with cursor, since, limit or unread")
            }
            self = .ids(try Self.ids(ids))
            return
        }
        guard let isUnreadOnly = unread == nil ? false : Bool(unread ?? "") else {
            throw Problem(.invalidParameter, "unread must be true or false")
        }
        self = .changes(after: since, limit: limit, isUnreadOnly: isUnreadOnly)
    }

    private static func ids(_ text: String) throws(Problem) -> [NotificationID] {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        guard words.count <= self.maximumIDs else {
            throw Problem(.invalidParameter, "ids has more than \(self.maximumIDs) ids")
        }
        var ids: [NotificationID] = []
        for word in words {
            guard let id = NotificationID(String(word)) else {
                throw Problem(.invalidParameter, "ids must be notification ids separated by commas")
            }
            ids.append(id)
        }
        return ids
    }
}
