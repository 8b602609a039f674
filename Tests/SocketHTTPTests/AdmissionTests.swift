import Glibc
import HTTPTypes
import Reactor
import Synchronization
import Testing

@testable import SocketHTTP

@Suite(.timeLimit(.minutes(5))) struct AdmissionTests {
    private static let origins = (0..<8).map { PeerAddress.ip(IPAddress(in_addr(s_addr: UInt32($0)))) }
    private var admission = Admission(
        limits: ServerLimits { ($0.maxConnections, $0.maxConnectionsPerAddress) = (20, 4) }
    )

    @Test func longestIdleConnectionIsEvictedFirst() async throws {
        try await withServer(limits: ServerLimits { $0.maxConnections = 10 }, loops: 1) { test in
            var clients: [RawClient] = []
            for _ in 0..<9 {
                clients.append(try test.client())
                try await clients.last?.get()
            }
            // After this request, the first client has been idle for less time than the second.
            try await clients[0].get()
            let tenth = try test.client()
            try await tenth.get()
            #expect(try await clients[1].rest() == "")
            for client in clients[2...] + [clients[0]] { try await client.get() }
            #expect(test.server.counts.evicted.load(ordering: .relaxed) == 1)
            #expect(test.server.counts.refused.load(ordering: .relaxed) == 0)
        }
    }

    @Test mutating func refusedConnectionTakesNoPlace() {
        for _ in 0..<4 {
            #expect(self.admission.enter(from: Self.origins[0], hearsRefusals: true) == .welcome(evicts: false))
        }
        for _ in 0..<1000 { _ = self.admission.enter(from: Self.origins[0], hearsRefusals: true) }
        #expect(self.admission.inUse == 4)
        #expect(self.admission.enter(from: Self.origins[1], hearsRefusals: true) == .welcome(evicts: false))
    }

    @Test mutating func connectionsBeyondTheRefusalLimitAreDropped() {
        for _ in 0..<4 { _ = self.admission.enter(from: Self.origins[0], hearsRefusals: true) }
        for _ in 0..<Admission.refusedAtOnce {
            #expect(self.admission.enter(from: Self.origins[0], hearsRefusals: true) == .refused(.tooManyConnections))
        }
        #expect(self.admission.enter(from: Self.origins[0], hearsRefusals: true) == .dropped)
        self.admission.leaveRefused()
        #expect(self.admission.enter(from: Self.origins[0], hearsRefusals: true) == .refused(.tooManyConnections))
    }

    @Test mutating func clientThatCannotHearARefusalIsDropped() {
        for _ in 0..<4 { _ = self.admission.enter(from: Self.origins[0], hearsRefusals: false) }
        #expect(self.admission.enter(from: Self.origins[0], hearsRefusals: false) == .dropped)
        #expect(self.admission.refused == 0)
    }

    @Test mutating func lastTenthOfTheLimitEvictsOtherConnections() {
        for number in 0..<20 {
            let verdict = self.admission.enter(from: nil, hearsRefusals: true)
            #expect(verdict == .welcome(evicts: number >= 18))
        }
        #expect(self.admission.enter(from: nil, hearsRefusals: true) == .refused(.overloaded))
        self.admission.leave(from: nil)
        #expect(self.admission.enter(from: nil, hearsRefusals: true) == .welcome(evicts: true))
    }

    @Test mutating func closedConnectionFreesAPlaceForItsAddress() {
        for _ in 0..<4 { _ = self.admission.enter(from: Self.origins[0], hearsRefusals: true) }
        self.admission.leave(from: Self.origins[0])
        #expect(self.admission.enter(from: Self.origins[0], hearsRefusals: true) == .welcome(evicts: false))
        for _ in 0..<4 { self.admission.leave(from: Self.origins[0]) }
        #expect(self.admission.inUse == 0)
    }

    @Test func clientsOfOneAddressDoNotKeepOthersOut() async throws {
        let limits = ServerLimits { ($0.maxConnections, $0.maxConnectionsPerAddress) = (10, 2) }
        try await withServer(limits: limits) { test in
            let greedy = try (0..<40).map { _ in try test.client() }
            // The end of the last client's connection shows that the server has handled all
            // clients.
            #expect(try await !greedy[39].rest().isEmpty)
            #expect(test.server.counts.refused.load(ordering: .relaxed) == 38)
            let other = try test.client(from: "127.0.0.2")
            try await other.get()
        }
    }

    @Test func refusedClientGetsNoHandshake() async throws {
        let makeStream: HTTPServer.StreamMaker = { SocketStream($0) }
        try await withServer(
            limits: ServerLimits { $0.maxConnectionsPerAddress = 1 },
            opening: .init(makeStream: makeStream)
        ) { test in
            let (first, second) = (try test.client(), try test.client())
            try await first.get()
            #expect(try await second.rest() == "")
            try await first.get()
        }
    }
}
