internal import PushStore
internal import Synchronization

/// Records how far the rows of expired notifications are deleted. So no step scans the entries of
/// deleted rows, which an index keeps as long as any snapshot is older than the deletion.
///
/// No row is inserted before the recorded position: an expired notification has no fan-out, and
/// its rows of `push` are deleted before its rows of `push_end`. Any thread may use it. Callers
/// must record only committed deletions.
final class RetentionProgress: Sendable {
    /// Tables whose rows have a notification and a second number as their key.
    enum Table: String, Hashable {
        case pushes = "push"
        case endedPushes = "push_end"
        case recipients = "recipient"
    }

    /// Some notifications, and the second number after which each of them still has rows.
    typealias Part = (ids: [Int64], after: Int64)

    private struct Key: Hashable {
        let table: Table
        let notification: Int64
    }

    /// Beyond this number all entries are dropped: entries of notifications that another server
    /// has deleted would otherwise stay.
    private static let limit = 10_000

    /// The second number of the last row that is deleted; `Int64.max`: all rows are deleted.
    private let last = Mutex([Key: Int64]())

    /// The remaining parts of notifications: first those with some rows deleted, then the others,
    /// each in the order of ids.
    func parts(of ids: [Int64], in table: Table) -> [Part] {
        self.last.withLock { last in
            var (begun, untouched): ([Part], [Int64]) = ([], [])
            for id in ids {
                switch last[Key(table: table, notification: id)] {
                case nil: untouched.append(id)
                case .max: break
                case let number?: begun.append((ids: [id], after: number))
                }
            }
            return untouched.isEmpty ? begun : begun + [(ids: untouched, after: .min)]
        }
    }

    /// Records that the first rows of a part are deleted, up to `row`; `nil`: all of them.
    func record(_ part: [Int64], in table: Table, upTo row: DuePush?) {
        self.last.withLock { last in
            if last.count > Self.limit { last.removeAll() }
            for id in part where row.map({ id <= $0.notification }) ?? true {
                let isLast = id == row?.notification
                last[Key(table: table, notification: id)] = isLast ? row?.device ?? .max : .max
            }
        }
    }

    /// Drops the entries of notifications that are deleted.
    func forget(_ ids: [Int64]) {
        self.last.withLock { last in
            for id in ids {
                for table in [Table.pushes, .endedPushes, .recipients] {
                    last[Key(table: table, notification: id)] = nil
                }
            }
        }
    }
}
