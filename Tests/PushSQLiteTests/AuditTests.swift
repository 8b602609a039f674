import Foundation
import GRDB
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(5))) struct AuditTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private var store: any Store { self.fixture.store }

    private func add(_ count: Int) async throws {
        for number in 0..<count {
            let name = try #require(Username("user\(number)"))
            let actor = AuditRecord.Actor(name: name, token: nil, client: "192.0.2.1", request: "r\(number)")
            let record = AuditRecord(.addUser, of: "canary\(number)", by: actor, at: self.fixture.now)
            let hash = PasswordHash(phc: "none")
            #expect(
                try await self.store.addUser(name, role: .device, password: hash, by: record, now: self.fixture.now)
            )
        }
    }

    /// Changes the table as somebody could who has the file, without the triggers.
    private func tamper(_ sql: String) async throws {
        try await self.fixture.sqlite.writer.write { db in
            try db.execute(sql: "drop trigger audit_is_not_changed; drop trigger audit_is_not_deleted")
            try db.execute(sql: sql)
        }
    }

    private func fault() async throws -> Int64? {
        try await self.fixture.reader.auditFault()?.number
    }

    @Test func entriesComeBackAsTheyWereWritten() async throws {
        try await self.add(2)
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(entries.map(\.number) == [2, 1])
        #expect(entries.map(\.subject) == ["canary1", "canary0"])
        #expect(entries.map(\.actor) == ["user1", "user0"])
        #expect(entries.map(\.client) == ["192.0.2.1", "192.0.2.1"])
        #expect(entries.map(\.at) == [self.fixture.now, self.fixture.now])
        #expect(try await self.fault() == nil)
    }

    @Test func whatWasNotDoneIsNotKept() async throws {
        try await self.add(1)
        let name = try #require(Username("USER0"))
        let record = AuditRecord(.addUser, of: "canary")
        let hash = PasswordHash(phc: "none")
        #expect(try await !self.store.addUser(name, role: .device, password: hash, by: record, now: self.fixture.now))
        #expect(try await self.fixture.reader.lastAuditNumber() == 1)
    }

    @Test func theFileDoesNotShowIt() async throws {
        try await self.add(3)
        let wal = try Data(contentsOf: URL(fileURLWithPath: self.fixture.sqlite.path + "-wal"))
        let file = try Data(contentsOf: URL(fileURLWithPath: self.fixture.sqlite.path))
        #expect(wal.count > 10_000)
        #expect((wal + file).range(of: Data("canary".utf8)) == nil)
    }

    @Test(arguments: [
        ("update audit set at = at + 1 where number = 2", 2),
        ("update audit set entry = (select entry from audit where number = 1) where number = 2", 2),
        ("update audit set chain = zeroblob(32) where number = 3", 3),
        ("delete from audit where number = 2", 3), ("delete from audit where number = 1", 2),
        ("update audit set number = number + 1 where number = 5", 6),
        ("update audit_start set number = 1, chain = (select chain from audit where number = 1)", 0),
        ("delete from audit where number = 1; update audit_start set number = 1", 0),
        ("delete from audit_start", 0),
    ])
    func whatIsChangedOrTakenOutIsFound(sql: String, number: Int64) async throws {
        try await self.add(5)
        try await self.tamper(sql)
        #expect(try await self.fault() == number)
    }

    @Test(arguments: [
        "update audit set at = 0", "update audit set chain = zeroblob(32)", "update audit set number = number + 10",
        "delete from audit", "delete from audit where number = 2",
    ])
    func theDatabaseItselfRefusesToChangeIt(sql: String) async throws {
        try await self.add(2)
        await #expect(throws: StoreError.self) {
            try await self.fixture.sqlite.writer.write { try $0.execute(sql: sql) }
        }
        #expect(try await self.fault() == nil)
        #expect(try await self.fixture.reader.lastAuditNumber() == 2)
    }

    @Test func theOldestAreDeletedAndTheChainGoesOn() async throws {
        try await self.add(3)
        self.fixture.clock.advance(by: 100)
        let start = self.fixture.now
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 2)
        #expect(try await self.fault() == nil)
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 1)
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 0)
        #expect(try await self.fault() == nil)
        let name = try #require(Username("bob"))
        let actor = AuditRecord.Actor(name: nil, token: nil, client: "unix", request: "")
        let record = AuditRecord(.addUser, of: "bob", by: actor, at: self.fixture.now)
        let hash = PasswordHash(phc: "none")
        #expect(try await self.store.addUser(name, role: .device, password: hash, by: record, now: self.fixture.now))
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(entries.map(\.number) == [4])
        #expect(entries.map(\.actor) == [""])
        #expect(try await self.fault() == nil)
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 0)
    }
}
