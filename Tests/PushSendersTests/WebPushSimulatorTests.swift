import Foundation
import PushCore
import PushSenders
import Testing

@testable import PushSimulators

/// The simulator's answers to a correct message, and to the same message with one error.
@Suite(.timeLimit(.minutes(5))) struct WebPushSimulatorTests {
    /// Changes a message of the sender with `change`, and returns the simulator's status for it.
    private func status(_ change: @Sendable (inout SimulatedRequest) -> Void) async throws -> Int {
        try await withWebPush { sender, service, key in
            let subscription = try service.makeSubscription(applicationServerKey: key.publicText)
            _ = await sender.outcome(of: try Samples.push(handle: subscription.json))
            var request = try #require(service.pushes.received.first).request
            change(&request)
            return service.judge(request).response.status
        }
    }

    @Test(arguments: [
        ("ttl", nil, 400), ("ttl", "", 400), ("ttl", "-1", 400), ("ttl", "1.5", 400), ("ttl", "0", 201),
        ("urgency", nil, 201), ("urgency", "urgent", 400), ("topic", nil, 201), ("topic", "a b", 400),
        ("topic", String(repeating: "t", count: 33), 400), ("content-encoding", nil, 400),
        ("content-encoding", "aesgcm", 400), ("encryption", "salt=x", 400), ("crypto-key", "dh=x", 400),
        ("authorization", nil, 401), ("authorization", "Bearer x", 403), ("authorization", "vapid t=a.b.c, k=x", 403),
    ])
    func eachHeaderIsChecked(name: String, value: String?, status: Int) async throws {
        let answered = try await self.status { request in
            request.headers.removeAll { $0.isNamed(name) }
            if let value { request.headers.append(HeaderField(name, value)) }
        }
        #expect(answered == status)
    }

    /// Byte 16 is the first byte of the record size. The change makes this size larger, which is
    /// valid.
    @Test(arguments: [(0, 400), (15, 400), (16, 201), (20, 400), (21, 400), (30, 400), (86, 400), (229, 400)])
    func aChangedByteIsDetected(index: Int, status: Int) async throws {
        #expect(try await self.status { $0.body[index] ^= 0x10 } == status)
    }

    @Test func onlyPostIsAllowedAndOnlyAtASubscription() async throws {
        #expect(try await self.status { _ in } == 201)
        #expect(try await self.status { $0.method = "GET" } == 405)
        #expect(try await self.status { $0.path += "x" } == 404)
        #expect(try await self.status { $0.body += [UInt8](repeating: 0, count: 4096) } == 413)
    }
}
