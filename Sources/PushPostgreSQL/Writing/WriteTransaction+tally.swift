internal import PostgreSQL
internal import PushStore

extension TallyCount {
    /// Adds the counted pushes to one writer's rows of the tally; `nil` if nothing was counted.
    func addition(to writer: Int64) throws -> Statement? {
        let counts = self.counts.sorted { left, right in
            (left.key.lane, left.key.state.rawValue) < (right.key.lane, right.key.state.rawValue)
        }
        if counts.isEmpty { return nil }
        return try Statement(
            Self.newCounts,
            writer,
            counts.map(\.key.lane),
            counts.map(\.key.state.rawValue),
            counts.map(\.value)
        )
    }

    static let newCounts = """
        insert into tally as t (writer, lane, state, count)
        select $1, c.lane, c.state, c.count from unnest($2::text[], $3::text[], $4::int8[]) as c (lane, state, count)
        order by c.lane, c.state
        on conflict (writer, lane, state) do update set count = t.count + excluded.count
        """
}
