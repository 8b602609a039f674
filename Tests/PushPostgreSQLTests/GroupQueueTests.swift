import Reactor
import Synchronization
import Testing

@testable import PushPostgreSQL

/// How the queue forms groups of callers that share work.
@Suite(.timeLimit(.minutes(5))) struct GroupQueueTests {
    private struct Member: GroupMember {
        let byteCount = 1
    }

    private final class Sizes: Sendable {
        let all = Mutex<[Int]>([])
    }

    /// Makes each caller call `rounds` times, each time after the answer to its previous call.
    /// Returns the sizes of the groups in the order in which they ran.
    private func groups(of callers: Int, rounds: Int) async throws -> [Int] {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let queue = GroupQueue<Member, Void>(GroupLimits(groups: 1, members: 100, bytes: 1000, waiting: 100))
        let sizes = Sizes()
        // The callers run on the event loop, so that all of them have called before the work of
        // the first group runs.
        await withTaskExecutorPreference(loop) {
            await withTaskGroup { group in
                for _ in 0..<callers {
                    group.addTask {
                        for _ in 0..<rounds {
                            _ = await queue.end(of: Member()) { members in
                                sizes.all.withLock { $0.append(members.count) }
                                await loop.yield()
                                return members.map { _ in .success(()) }
                            }
                        }
                    }
                }
            }
        }
        return sizes.all.withLock { $0 }
    }

    @Test func callersAnsweredTogetherShareTheNextGroup() async throws {
        let sizes = try await self.groups(of: 20, rounds: 10)
        #expect(sizes.reduce(0, +) == 200)
        // The first two groups and the last may be smaller: the very first caller starts a group
        // at once, without the other callers.
        #expect(sizes.dropFirst(2).dropLast().allSatisfy { $0 >= 19 }, "\(sizes)")
    }

    @Test func aSingleCallerStartsAGroupAtOnce() async throws {
        #expect(try await self.groups(of: 1, rounds: 5) == [1, 1, 1, 1, 1])
    }
}
