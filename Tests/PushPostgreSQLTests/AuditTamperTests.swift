import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// The audit of two servers, each with its own hash chain. An attacker who can write to the
/// database cannot change the audit unnoticed.
@Suite(.timeLimit(.minutes(5))) struct AuditTamperTests {
    /// The entry number that precedes the first entry of the second chain.
    private static let second = AuditNumber.start(ofChain: 1)

    private let fixture: StoreFixture
    private let other: StoreFixture

    init() throws {
        self.fixture = try StoreFixture(.postgreSQL, options: .patient)
        self.other = try self.fixture.reopened(options: .patient)
    }

    private func fault() async throws -> Int64? { try await self.fixture.reader.auditFault() }

    @Test(arguments: [
        ("update audit set at = at + 1 where number = 2", 2),
        ("update audit set entry = (select entry from audit where number = 1) where number = 2", 2),
        (
            "update audit set entry = (select entry from audit where number = 2) where number = \(second + 2)",
            second + 2
        ),
        ("update audit set link = (select link from audit where number = 1) where number = 3", 3),
        ("delete from audit where number = 1", 2), ("delete from audit where number = 3", 3),
        // These statements restore an earlier end of the chain. It does not match the keyed hash
        // in the chain's row.
        (
            """
            delete from audit where number = 3;
            update audit_chain set number = 2, link = (select link from audit where number = 2) where chain = 0
            """, 2
        ),
        // This statement copies the end of the other chain together with its keyed hash.
        (
            """
            update audit_chain c set number = o.number, link = o.link, mac = o.mac from audit_chain o
            where c.chain = 0 and o.chain = 1
            """, second + 3
        ),
        ("delete from audit_chain where chain = 0", 0),
    ])
    func changedOrDeletedEntryIsFound(sql: String, number: Int64) async throws {
        try await self.fixture.addUsersWithRecords(3)
        try await self.other.addUsersWithRecords(3, from: 3)
        let connection = try self.fixture.connect()
        let numbers = try connection.query("select number from audit order by number").map { try $0.integer(0) }
        #expect(numbers == [1, 2, 3, Self.second + 1, Self.second + 2, Self.second + 3])
        #expect(try await self.fault() == nil)
        try connection.execute(sql)
        #expect(try await self.fault() == number)
        await self.other.store.close()
    }

    /// `sealpost audit verify` does not detect the loss of the last chain, as the documentation
    /// says. A monitoring system outside the database still knows the earlier count of entries.
    @Test func theLossOfTheWholeLastChainShowsOnlyInTheCount() async throws {
        try await self.fixture.addUsersWithRecords(3)
        try await self.other.addUsersWithRecords(3, from: 3)
        #expect(try await self.fixture.reader.lastAuditNumber() == 6)
        try self.fixture.connect().execute(
            "delete from audit where number > \(Self.second); delete from audit_chain where chain = 1"
        )
        #expect(try await self.fault() == nil)
        #expect(try await self.fixture.reader.lastAuditNumber() == 3)
        await self.other.store.close()
    }

    /// A server that was suspended for long may find that another server has continued its hash
    /// chain.
    @Test func aServerWhoseChainIsTakenContinuesInAnother() async throws {
        try await self.fixture.addUsersWithRecords(1)
        let connection = try self.fixture.connect()
        try connection.execute("update audit_chain set node = (select max(number) from node)")
        try await self.fixture.addUsersWithRecords(2, from: 1)
        let numbers = try connection.query("select number from audit order by number").map { try $0.integer(0) }
        #expect(numbers == [1, Self.second + 1, Self.second + 2])
        #expect(try await self.fault() == nil)
        await self.other.store.close()
    }
}
