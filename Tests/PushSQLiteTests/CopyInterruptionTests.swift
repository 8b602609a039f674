import Foundation
import GRDB
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

/// A copy that is given up.
@Suite(.timeLimit(.minutes(1))) struct CopyInterruptionTests {
    @Test func aStatementEndsOnceItIsSet() async throws {
        let interruption = CopyInterruption()
        let connection = try DatabaseQueue()
        let endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
        await withTaskGroup(of: Void.self) { group in
            group.addTask { interruption.set() }
            let error = #expect(throws: DatabaseError.self) {
                try interruption.during(connection) { try $0.read { _ = try Int.fetchOne($0, sql: endless) } }
            }
            #expect(error?.resultCode == .SQLITE_INTERRUPT)
        }
    }

    @Test(arguments: [true, false])
    func aCopyThatIsGivenUpLeavesNothingBehind(whileCopying: Bool) async throws {
        let fixture = try StoreFixture(.sqlite)
        let path = fixture.folder.file("copy.db")
        let interruption = CopyInterruption()
        let database = SQLiteDatabase(path: fixture.folder.file("test.db"))
        #expect(throws: StoreError.self) {
            try database.backUp(to: path, interruption: interruption) { step in
                if case .copying = step, !whileCopying { return }
                interruption.set()
            }
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(!FileManager.default.fileExists(atPath: path + ".partial"))
        try database.backUp(to: path)
        await fixture.store.close()
    }
}
