import Foundation
import PushStore

/// The file with the newest timeline of the PostgreSQL database that this server has used.
struct TimelineFile: DatabaseMarkKeeper {
    private static let what = "the file of the timeline"

    let path: String

    init(_ path: String) {
        self.path = path
    }

    var place: String { self.path }

    func load() throws -> DatabaseMark? {
        if PrivateFile.isMissing(self.path) { return nil }
        return try self.mark(in: PrivateFile.load(self.path, what: Self.what))
    }

    func keep(_ mark: DatabaseMark) throws {
        // This call creates a missing file. If several servers share the folder, only the first of
        // them finds the file missing.
        let stored = try self.mark(in: PrivateFile.load(self.path, what: Self.what) { mark.text })
        guard try self.isOlder(stored, than: mark) else { return }
        try PrivateFile.change(self.path, what: Self.what) { text in
            (try self.isOlder(self.mark(in: text), than: mark) ? mark.text : text, ())
        }
    }

    private func isOlder(_ stored: DatabaseMark, than mark: DatabaseMark) throws -> Bool {
        guard stored.cluster == mark.cluster else {
            throw ConfigurationError(
                "\(Self.what) \(self.path) belongs to another cluster; remove it only if you mean to use this database"
            )
        }
        return stored.timeline < mark.timeline
    }

    private func mark(in text: String) throws -> DatabaseMark {
        guard let mark = DatabaseMark(text: text) else {
            throw ConfigurationError(
                "\(Self.what) \(self.path) is not valid; remove it to accept the database as it is"
            )
        }
        return mark
    }
}

extension DatabaseMark {
    /// Reads the text of a mark; `nil` if the text has another form.
    fileprivate init?(text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].isEmpty else { return nil }
        let words = parts[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, UInt64(words[0]) != nil, let timeline = UInt32(words[1]) else { return nil }
        self.init(cluster: String(words[0]), timeline: timeline)
    }

    /// The mark as one line of text.
    fileprivate var text: String { "\(self.cluster) \(self.timeline)\n" }
}
