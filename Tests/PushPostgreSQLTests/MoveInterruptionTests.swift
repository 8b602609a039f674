import Foundation
import PostgreSQL
import PushCore
import PushSQLite
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL
@testable import sealpost

/// Moves that cannot begin, and moves that are interrupted.
@Suite(.timeLimit(.minutes(5))) struct MoveInterruptionTests {
    private let fixture: MoveFixture

    init() async throws {
        self.fixture = try MoveFixture()
        _ = try await self.fixture.fill()
    }

    private func failure(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    /// Begins a move, and interrupts it when it reports `point`.
    private func breakOff(at point: MoveProgress) async throws {
        await #expect(throws: MoveFixture.Broken.self) {
            try await self.fixture.move { if $0 == point { throw MoveFixture.Broken() } }
        }
    }

    // MARK: Broken off

    @Test func aMoveInterruptedAtAnyTableStartsAgain() async throws {
        for table in MovedTable.names {
            try await self.breakOff(at: .began(table: table))
            let reason = await self.failure { _ = try self.fixture.target() }
            #expect(reason.contains("a move into it was interrupted"), "\(table): \(reason)")
        }
        // Until the move is complete, a server may still use the SQLite file.
        let source = try self.fixture.source()
        await source.store.close()
        #expect(try await self.fixture.move() > 50)
        let target = try self.fixture.target()
        #expect(try await target.user("alice").name == Username("alice"))
        await target.store.close()
    }

    @Test(arguments: [MoveProgress.verified, .marked]) func aMoveInterruptedAtItsEndStartsAgain(point: MoveProgress)
        async throws
    {
        try await self.breakOff(at: point)
        #expect(await self.failure { _ = try self.fixture.target() }.contains("was interrupted"))
        #expect(try self.fixture.place.inspect().move == "holds a move that has not finished")
        let isMarked = try self.fixture.file.inspect().move != nil
        #expect(isMarked == (point == .marked))
        #expect(try await self.fixture.move() > 50)
        let target = try self.fixture.target()
        await target.store.close()
    }

    // MARK: Afterwards

    @Test func noServerOpensAMovedFile() async throws {
        try await self.fixture.move()
        let place = try self.fixture.place.description
        #expect(await self.failure { _ = try self.fixture.source() }.contains("was moved to \(place)"))
        #expect(try self.fixture.file.inspect().move?.contains(place) == true)
        #expect(try self.fixture.place.inspect().move == nil)
        // The moved file can still be read and backed up.
        let source = try self.fixture.source(admitsMoved: true)
        #expect(try await source.reader.auditFault() == nil)
        await source.store.close()
        let keyring = try Keyring(text: self.fixture.keyring)
        try self.fixture.file.backUp(to: self.fixture.folder.file("backup.db"), keyring: keyring)
        #expect(await self.failure { try await self.fixture.move() }.contains("was moved to \(place) on 20"))
    }

    // MARK: Refused

    @Test func aTargetWithRowsIsRefused() async throws {
        let target = try self.fixture.target()
        try await target.addUser("zoe")
        await target.store.close()
        #expect(
            await self.failure { try await self.fixture.move() }.contains("it is not empty, and has rows in account")
        )
        let source = try self.fixture.source()
        await source.store.close()
    }

    @Test func aTargetOnWhichAServerHasOnlyStartedIsAccepted() async throws {
        let target = try self.fixture.target()
        await target.store.close()
        #expect(try await self.fixture.move() > 50)
    }

    @Test func aTargetThatAServerUsesIsRefused() async throws {
        let target = try self.fixture.target()
        #expect(await self.failure { try await self.fixture.move() }.contains("a server uses it"))
        await target.store.close()
    }

    @Test func theTargetOfAnotherDatabaseIsRefused() async throws {
        let other = try MoveFixture()
        _ = try await other.fill()
        let place = try self.fixture.place
        await #expect(throws: MoveFixture.Broken.self) {
            try await other.move(to: place) { if $0 == .verified { throw MoveFixture.Broken() } }
        }
        #expect(await self.failure { try await self.fixture.move() }.contains("another database was moved into it"))
        try await other.move(to: place)
        #expect(await self.failure { try await self.fixture.move() }.contains("another database was moved into it"))
    }

    @Test func aFileInUseIsRefused() async throws {
        let source = try self.fixture.source()
        #expect(await self.failure { try await self.fixture.move() }.contains("in use by another process"))
        await source.store.close()
    }

    @Test func anotherKeyringIsRefused() async throws {
        let reason = await self.failure { try await self.fixture.move(keyring: Keyring.generateText()) }
        #expect(reason.contains("the keyring does not match the database"))
        #expect(try MoveMark(self.fixture.connect()) == nil)
    }

    @Test func aTargetThatCannotBeReachedIsRefused() async throws {
        let nowhere = PostgreSQLPlace(try DatabaseAddress("postgres://sealpost@/none?host=\(self.fixture.folder.path)"))
        #expect(await self.failure { try await self.fixture.move(to: nowhere) }.contains("cannot open postgres://"))
    }

    /// A count of the rows would not show this change, so the move must compare the rows of both
    /// databases.
    @Test func aRowThatChangesDuringTheMoveIsDetected() async throws {
        let connection = try self.fixture.connect()
        let reason = await self.failure {
            try await self.fixture.move { progress in
                guard progress == .began(table: "event_state") else { return }
                _ = try connection.query("update recipient set read_at = 1 where notification_id = 10")
            }
        }
        #expect(reason.contains("has other rows of recipient than the source"))
        #expect(try self.fixture.file.inspect().move == nil)
    }
}
