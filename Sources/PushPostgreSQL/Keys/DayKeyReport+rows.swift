internal import Foundation
internal import Migrations
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension DayKeyReport {
    /// The check value of the chain of day keys belongs to the day that is this many days after
    /// today. All servers must derive the same key for that day.
    private static let lead: UInt32 = 400
    /// A new check value is stored once the day of the old check value is fewer than this number
    /// of days away.
    private static let renewal: UInt32 = 200

    /// Selects at least one row. Each row has the day and the check value of the chain, and one
    /// holder (a file with day keys). The keys of days before the holder's day are destroyed; the
    /// time is that of the last report. Each row also says whether the servers encrypt with day
    /// keys.
    static let all = """
        select c.day as check_day, c.check_value, coalesce(m.oldest_known = m.name, false) as is_sealing, h.place, h.day, h.at
        from (select 1) as one left join day_chain c on c.id = 1
        left join migration m on m.name = $1 left join day_key_holder h on true
        order by h.place
        """

    init(_ rows: Rows) throws {
        var check: (Day, Data)?
        var isSealing = false
        var holders: [Holder] = []
        for row in rows {
            if let day = try row.optionalInteger("check_day"), let value = try row.optionalData("check_value") {
                check = (Day(number: UInt32(clamping: day)), value)
            }
            isSealing = try row.flag("is_sealing")
            guard let place = try row.optionalText("place") else { continue }
            let day = Day(number: UInt32(clamping: try row.integer("day")))
            holders.append(Holder(place: place, day: day, at: try row.date("at")))
        }
        self.init(check: check, isSealing: isSealing, holders: holders)
    }

    /// The day keys of a server that opens the database. If no server has had day keys before,
    /// creates a new chain. Throws `StoreError.wrongDayKeys`.
    static func open(_ keeper: any DayChainKeeper, now: Date, _ connection: BlockingConnection) throws -> DayKeys {
        try connection.transaction {
            // If several servers start at the same time, this lock makes them wait for each other.
            // Meanwhile no server of an older version joins.
            _ = try connection.query(Schema.schemaLock)
            let report = try Self(connection.query(Self.all, Migration.dayKeys))
            var chain = try keeper.load()
            if report.check == nil, chain == nil {
                let new = DayChain(from: Self.firstDay(at: now))
                try keeper.create(new)
                chain = new
            }
            try report.check(chain, at: keeper.place)
            guard let chain else { throw StoreError.wrongDayKeys(reason: "\(keeper.place) is missing") }
            if let (day, value) = report.nextCheck(chain, now: now) {
                _ = try connection.query(Self.storeCheckValue, Int64(day.number), value)
            }
            let isSealing = try report.isSealing || connection.query(Self.enableDayKeys, Migration.dayKeys).changed == 1
            return DayKeys(chain, isSealing: isSealing)
        }
    }

    /// A new check value for the chain of day keys; `nil` if the stored check value can stay.
    func nextCheck(_ chain: DayChain, now: Date) -> (day: Day, value: Data)? {
        let today = max(Day(of: now), chain.day)
        if let check, check.day.number > today.number + Self.renewal { return nil }
        let day = Day(number: today.number + Self.lead)
        return chain.checkValue(of: day).map { (day, $0) }
    }

    static let storeCheckValue = """
        insert into day_chain as c (id, day, check_value) values (1, $1, $2)
        on conflict (id) do update set day = excluded.day, check_value = excluded.check_value where c.day < excluded.day
        """

    /// Begins the encryption with day keys, unless a server of a version without day keys may
    /// still run. From then on, such a server cannot join.
    static let enableDayKeys = """
        update migration set oldest_known = name where name = $1 and oldest_known <> name and not exists (
            select 1 from node where not is_fenced and until >= \(DatabaseClock.now) and schema < $1)
        """

    /// Deletes the rows of files with day keys that no server has reported for 90 days.
    static let deleteSilentHolders = "delete from day_key_holder where at < \(DatabaseClock.now) - 7776000000"

    /// Stores the place of a file with day keys, and the day before which its keys are destroyed.
    static let storeHolder = """
        insert into day_key_holder (place, day, at) values ($1, $2, \(DatabaseClock.now))
        on conflict (place) do update set day = excluded.day, at = excluded.at
        """
}
