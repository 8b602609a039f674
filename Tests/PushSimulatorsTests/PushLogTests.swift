import Synchronization
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct PushLogTests {
    private static func push(_ number: Int, _ verdict: PushVerdict = .accepted) -> ReceivedPush {
        ReceivedPush(request: SimulatedRequest(path: "/\(number)"), verdict: verdict)
    }

    @Test func aPushIsFoundByItsNumberAmongTheAcceptedOnes() async throws {
        let log = PushLog(capacity: 10, onPush: nil)
        log.record(Self.push(1))
        log.record(Self.push(2, .refused(status: 400, reason: "")))
        log.record(Self.push(3, .scripted(status: 500)))
        log.record(Self.push(4, .scripted(status: 200)))
        #expect(try await log.acceptedPush(1) == Self.push(1))
        #expect(try await log.acceptedPush(2) == Self.push(4, .scripted(status: 200)))
        #expect(log.received.count == 4)
    }

    @Test func aWaitEndsWhenThePushComes() async throws {
        let log = PushLog(capacity: 10, onPush: nil)
        async let second = log.acceptedPush(2)
        log.record(Self.push(1))
        await Task.yield()
        log.record(Self.push(2))
        #expect(try await second == Self.push(2))
    }

    @Test func aWaitEndsWhenItIsCancelled() async throws {
        let log = PushLog(capacity: 10, onPush: nil)
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await log.acceptedPush(1, within: .seconds(60)) }
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }

    @Test func onlyTheNewestPushesAreKeptUnderTheirNumbers() async throws {
        let log = PushLog(capacity: 2, onPush: nil)
        for number in 1...5 { log.record(Self.push(number)) }
        #expect(log.received == [Self.push(3), Self.push(4), Self.push(5)])
        #expect(log.acceptedCount == 5)
        #expect(try await log.acceptedPush(4) == Self.push(4))
        await #expect(throws: PushWaitError.forgotten) { try await log.acceptedPush(2) }
    }

    @Test func eachPushIsPassedToTheObserver() {
        let seen = Mutex<[ReceivedPush]>([])
        let log = PushLog(capacity: 10) { push in seen.withLock { $0.append(push) } }
        log.record(Self.push(1))
        #expect(seen.withLock { $0 } == [Self.push(1)])
    }
}
