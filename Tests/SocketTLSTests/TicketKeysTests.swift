import Synchronization
import Testing

@testable import SocketTLS

@Suite(.timeLimit(.minutes(5))) struct TicketKeysTests {
    /// A clock that a test advances.
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { self.time.withLock { $0 } }

        func advance(by duration: Duration) {
            self.time.withLock { $0 += duration }
        }
    }

    private let clock = Clock()

    private func makeKeys() throws -> TicketKeys {
        let clock = self.clock
        return try TicketKeys(now: { clock.now })
    }

    /// Returns whether the key with this name still encrypts tickets; `nil` if it no longer even
    /// decrypts them.
    private func isCurrent(_ name: [UInt8], in keys: TicketKeys) throws -> Bool? {
        try name.withUnsafeBytes { try keys.key(named: $0)?.isCurrent }
    }

    @Test func keyEncryptsForALifetimeAndDecryptsForAnother() throws {
        let keys = try self.makeKeys()
        let name = try keys.current().name
        self.clock.advance(by: TicketKeys.lifetime - .seconds(1))
        #expect(try self.isCurrent(name, in: keys) == true)
        self.clock.advance(by: .seconds(1))
        #expect(try self.isCurrent(name, in: keys) == false)
        #expect(try keys.current().name != name)
        self.clock.advance(by: TicketKeys.lifetime - .seconds(1))
        #expect(try self.isCurrent(name, in: keys) == false)
        self.clock.advance(by: .seconds(1))
        #expect(try self.isCurrent(name, in: keys) == nil)
    }

    @Test func lastKeyIsGoneAfterALongSilence() throws {
        let keys = try self.makeKeys()
        let name = try keys.current().name
        self.clock.advance(by: TicketKeys.lifetime * 2)
        #expect(try self.isCurrent(name, in: keys) == nil)
    }

    @Test func aKeyOfAnotherProcessIsUnknown() throws {
        let (keys, others) = (try self.makeKeys(), try self.makeKeys())
        #expect(try self.isCurrent(others.current().name, in: keys) == nil)
    }
}
