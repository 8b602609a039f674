internal import Foundation
internal import PostgreSQL
internal import PushCore

/// A locked row of `device`: the device of a registration, or a device or claim that has its
/// handle.
struct DeviceRow {
    let number: Int64
    let id: String
    let user: Int64
    let retiredReason: String?
    /// The next five are `nil` until the device has registered a handle.
    let platform: String?
    let lane: String?
    let handle: Data?
    let handleKey: Data?
    let tags: Data?
    /// The number of moves to the platform's other environment since the device registered the
    /// handle.
    let environmentMoves: Int64
    /// The number of its claim to another handle.
    let claim: Int64?

    init(_ row: Row) throws {
        self.number = try row.integer(0)
        self.id = try row.text(1)
        self.user = try row.integer(2)
        self.retiredReason = try row.optionalText(3)
        self.platform = try row.optionalText(4)
        self.lane = try row.optionalText(5)
        self.handle = try row.optionalData(6)
        self.handleKey = try row.optionalData(7)
        self.tags = try row.optionalData(8)
        self.environmentMoves = try row.integer(9)
        self.claim = try row.optionalInteger(10)
    }

    private static let columns = """
        select d.number, d.id, d.user_id, d.retired_reason, d.platform, d.lane, d.handle, d.handle_key, d.tags,
            d.environment_moves, (select c.number from device c where c.claims_for = d.number)
        from device d
        """

    /// The device with that id, if the id was issued to the user and is not a claim's.
    static let issued = "\(columns) where d.id = $1 and d.user_id = $2 and d.claims_for is null for update of d"

    /// The same, and the devices that have the handle, in one statement: otherwise two users who
    /// exchange their handles would deadlock. Reads other users' devices only for an id that was
    /// issued, and not if the handle is shared.
    static let issuedAndHolder = """
        \(columns)
        where (d.id = $1 and d.user_id = $2 and d.claims_for is null)
            or (d.platform = $3 and d.handle_key = $4 and (d.user_id = $2 or not $5)
                and exists (select 1 from device i where i.id = $1 and i.user_id = $2 and i.claims_for is null))
        order by d.number for update of d
        """

    /// The devices or claims that have the handle; `$3` limits them to one user's.
    static let holders = """
        \(columns)
        where d.platform = $1 and d.handle_key = $2 and ($3::int8 is null or d.user_id = $3)
        order by d.number for update of d
        """

    /// Reads no rows of other users, so that the response time reveals nothing about them. With
    /// `offset 0`, the planner cannot use the index by handle.
    static let isHeld = """
        select exists (
            select 1 from (select platform, handle_key from device where user_id = $1 offset 0) own
            where own.platform = $2 and own.handle_key = $3)
        """
}
