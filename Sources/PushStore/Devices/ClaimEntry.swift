package import PushCore

/// The push of a confirmation code to a handle that a device has claimed, in the form for
/// operators.
package struct ClaimEntry: StoredEntity, Sendable, Hashable {
    /// The number of the device that has claimed the handle.
    package let device: Int64
    package let push: DeliveryEntry

    /// The column that queries select after those of `DeliveryEntry`.
    private enum Column: Int32, SelectedColumn {
        case device = 11

        var sql: String { "c.claims_for" }
    }

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let push = try DeliveryEntry(row, sealing) else { return nil }
        (self.device, self.push) = (try row.integer(Column.device), push)
    }
}
