internal import PushStore
internal import Synchronization

/// Records how far the rows of expired notifications were deleted. An index keeps the entries of
/// deleted rows as long as any snapshot is older than the deletion. With the recorded positions,
/// no later step scans these entries again.
///
/// No row is inserted before a recorded position. An expired notification has no fan-out, and its
/// rows of `push` are deleted before its rows of `push_end`. Any thread may use this object.
/// Callers must record a deletion only after its commit.
final class RetentionProgress: Sendable {
    /// Tables whose keys consist of a notification and a second number, in the order of deletion.
    enum Table: String, CaseIterable {
        case pushes = "push"
        case endedPushes = "push_end"
        case recipients = "recipient"
    }

    /// The remaining rows of the notifications `ids` have a second number higher than `after`.
    typealias Part = (ids: [Int64], after: Int64)

    private struct Key: Hashable {
        let table: Table
        let notification: Int64
    }

    /// The maximum number of entries; beyond it, all entries are dropped. Otherwise the entries of
    /// notifications that another server has deleted would stay for ever.
    private static let limit = 10_000

    /// For each table and notification, the second number in the key of the last deleted row;
    /// `Int64.max` if all rows were deleted.
    private let last = Mutex([Key: Int64]())

    /// The notifications that still have rows, in groups. First come partly deleted notifications,
    /// then untouched notifications. Each kind is in the order of the ids.
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

    /// Records that the first rows of a part were deleted, up to `row`; if `row` is `nil`, all of
    /// them were deleted.
    func record(_ part: [Int64], in table: Table, upTo row: DuePush?) {
        self.last.withLock { last in
            if last.count > Self.limit { last.removeAll() }
            for id in part where row.map({ id <= $0.notification }) ?? true {
                let isLast = id == row?.notification
                last[Key(table: table, notification: id)] = isLast ? row?.device ?? .max : .max
            }
        }
    }

    func forget(_ ids: [Int64]) {
        self.last.withLock { last in
            for id in ids { for table in Table.allCases { last[Key(table: table, notification: id)] = nil } }
        }
    }
}
