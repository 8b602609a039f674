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
