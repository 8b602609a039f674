internal import PushAPI
internal import SocketHTTP

/// Pages of lists: a request has the parameters `limit` and `cursor`, and an answer has the
/// members `Cursor` and `More`.
extension Query {
    /// The requested number of entries of a page; 100 by default.
    var limit: Int {
        get throws(Problem) {
            guard let limit = Int(try self["limit"] ?? "100"), Self.limits.contains(limit) else {
                throw Problem(.invalidParameter, "limit must be 1 to \(Self.limits.upperBound)")
            }
            return limit
        }
    }

    private static let limits = 1...500

    /// The place at which a page begins, read from `cursor`; `nil` for the first page.
    ///
    /// Throws an `invalid-cursor` problem if `read`, which decodes the cursor, returns `nil`.
    func start<Place>(_ read: (String) -> Place?) throws(Problem) -> Place? {
        guard let text = try self["cursor"] else { return nil }
        guard let place = read(text) else { throw Problem(.invalidCursor, "restart the list without cursor") }
        return place
    }

    /// The place at which a page begins, for a route that also accepts an earlier version's
    /// parameter in place of `cursor`. `older` is this parameter's name; `rule` describes its
    /// valid values in the text of the problem.
    func start<Place>(
        _ read: (String) -> Place?,
        older: String,
        _ rule: String
    ) throws(Problem) -> Place? {
        guard try self[older] != nil else { return try self.start(read) }
        guard let place = try self.cursor(older: older).flatMap(read) else {
            throw Problem(.invalidParameter, "\(older) must be \(rule)")
        }
        return place
    }

    /// The text of the parameter `cursor`, or of the earlier version's parameter that `older`
    /// names.
    func cursor(older: String) throws(Problem) -> String? {
        guard let text = try self[older] else { return try self["cursor"] }
        guard try self["cursor"] == nil else {
            throw Problem(.invalidParameter, "cursor and \(older) cannot be combined; send cursor")
        }
        return text
    }
}

extension Response {
    /// A page of a list; no cache may keep it. `cursor` is the text for the member `Cursor`, which
    /// marks the page's end; `nil` if the list is empty.
    init(page name: String, _ entries: [JSONValue], cursor: String?, hasMore: Bool) {
        self.init(
            uncached: .object([
                .init(name, .array(entries)),
                .init("Cursor", cursor.map { .string($0) } ?? .null),
                .init("More", .bool(hasMore)),
            ])
        )
    }
}
