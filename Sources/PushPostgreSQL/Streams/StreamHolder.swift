internal import PostgreSQL
internal import PushStore

/// The server that has a device's event stream, and so sends the pushes of the streams' lanes to
/// it.
///
/// A transaction that changes rows of streams first locks the counter of changes of the device's
/// user. A transaction that parks a push because it has found no stream locks the counter before
/// it searches. So the second of two such transactions sees the changes of the first.
enum StreamHolder {
    /// The numbers of the servers whose rows count.
    static let activeServers = "(array(select number from node where not is_fenced))"

    /// The number of the server that has the stream of the device of a push, here called `p`;
    /// null if none has.
    static let ofPush = holder(of: "p.device")

    /// Chooses the server with the newest stream: a client that has reconnected elsewhere may
    /// have left a dead stream.
    static func holder(of device: String) -> String {
        """
        (select s.node from stream s where s.device = \(device) and s.node = any\(Self.activeServers)
            order by s.since desc, s.node desc limit 1)
        """
    }

    /// Locks the counters of users, in one order, until the transaction ends.
    static func lockCounters(_ tx: WriteTransaction, of users: some Sequence<Int64>) async throws {
        let users = Set(users).sorted()
        if users.isEmpty { return }
        _ = try await tx.query(Self.counters, users)
    }

    /// The servers that have streams of these devices, by device; devices without a stream are
    /// left out.
    static func all(_ tx: WriteTransaction, of devices: [Int64]) async throws -> [Int64: Int64] {
        if devices.isEmpty { return [:] }
        let rows = try await tx.query(Self.holders, devices)
        return Dictionary(try rows.map { (try $0.integer(0), try $0.integer(1)) }) { first, _ in first }
    }

    static let counters = """
        select change from user_change where user_id = any($1::int8[]) order by user_id for no key update
        """

    static let holders = """
        select d.device, h.node from pg_catalog.unnest($1::int8[]) as d (device)
        cross join lateral \(holder(of: "d.device")) as h (node)
        """
}
