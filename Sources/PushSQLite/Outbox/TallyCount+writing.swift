internal import PushStore
internal import SQLite

extension TallyCount {
    func write(_ db: Database) throws {
        for (key, count) in self.counts {
            try db.run(
                prepared: """
                    insert into tally (lane, state, count) values (?, ?, ?)
                    on conflict (lane, state) do update set count = count + excluded.count
                    """,
                key.lane,
                key.state.rawValue,
                count
            )
        }
    }
}
