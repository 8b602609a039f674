import COpenSSL
import PushSimulators
import Synchronization
import Testing

@testable import SocketTLS

@Suite(.timeLimit(.minutes(5))) struct ResumptionTests {
    private static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    private func options(_ version: Int32, resuming session: TLSTestClient.Session? = nil) -> TLSTestClient.Options {
        var options = TLSTestClient.Options()
        options.newest = version
        options.session = session
        return options
    }

    @Test(arguments: Self.versions)
    func aSessionIsResumedAgainAndAgain(version: Int32) async throws {
        let context = try TLSServerContext()
        var visit = try await visit(context, self.options(version))
        #expect(!visit.wasResumed)
        for _ in 0..<3 {
            visit = try await SocketTLSTests.visit(context, self.options(version, resuming: visit.session))
            #expect(visit.wasResumed)
        }
    }

    @Test(arguments: Self.versions)
    func aSessionOutlivesAReload(version: Int32) async throws {
        let keys = try TicketKeys()
        let first = try await visit(TLSServerContext(ticketKeys: keys), self.options(version))
        let options = self.options(version, resuming: first.session)
        let second = try await visit(TLSServerContext(ticketKeys: keys), options)
        #expect(second.wasResumed)
    }

    @Test(arguments: Self.versions)
    func aSessionOfAnotherProcessIsNotResumed(version: Int32) async throws {
        let first = try await visit(TLSServerContext(), self.options(version))
        let second = try await visit(TLSServerContext(), self.options(version, resuming: first.session))
        #expect(!second.wasResumed)
    }

    @Test(arguments: Self.versions)
    func ticketOfThePreviousKeyIsStillResumed(version: Int32) async throws {
        let time = Time()
        let context = try TLSServerContext(ticketKeys: TicketKeys(now: { time.now }))
        let first = try await visit(context, self.options(version))
        time.advance()
        let second = try await visit(context, self.options(version, resuming: first.session))
        #expect(second.wasResumed)
        time.advance()
        let late = try await visit(context, self.options(version, resuming: first.session))
        #expect(!late.wasResumed)
        let third = try await visit(context, self.options(version, resuming: second.session))
        #expect(third.wasResumed, "the new ticket has the new key")
    }

    @Test(arguments: Self.versions)
    func anIdentityByNameIsResumedToo(version: Int32) async throws {
        let authority = try TestAuthority()
        let context = try TLSServerContext(identities: [
            authority.makeServerIdentity(), authority.makeServerIdentity(names: ["second.test"]),
        ])
        var options = self.options(version)
        options.serverName = "second.test"
        options.session = try await visit(context, options).session
        #expect(try await visit(context, options).wasResumed)
    }

    @Test(arguments: Self.versions)
    func resumedSessionHasTheClientsCertificate(version: Int32) async throws {
        let authority = try TestAuthority()
        let context = try TLSServerContext(trusting: authority)
        var options = self.options(version)
        options.identity = try authority.makeClientIdentity("alice")
        options.session = try await visit(context, options).session
        options.identity = nil
        let second = try await visit(context, options)
        #expect(second.wasResumed)
        #expect(second.certificateName == "alice")
    }

    @Test(arguments: Self.versions)
    func sessionOfAnotherAuthorityIsNotResumed(version: Int32) async throws {
        let (old, new) = (try TestAuthority(), try TestAuthority())
        let keys = try TicketKeys()
        var options = self.options(version)
        options.identity = try old.makeClientIdentity("alice")
        options.session = try await visit(TLSServerContext(trusting: old, ticketKeys: keys), options).session
        options.identity = nil
        for authority in [new, nil] {
            let second = try await visit(TLSServerContext(trusting: authority, ticketKeys: keys), options)
            #expect(!second.wasResumed)
            #expect(second.certificateName == nil)
        }
    }

    /// A clock that a test advances by one lifetime of ticket keys.
    private final class Time: Sendable {
        private let time = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { self.time.withLock { $0 } }

        func advance() {
            self.time.withLock { $0 += TicketKeys.lifetime }
        }
    }
}
