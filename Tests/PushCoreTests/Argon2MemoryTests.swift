import Testing

@testable import PushCore

@Suite(.timeLimit(.minutes(5))) struct Argon2MemoryTests {
    @Test func manyHashesShareFewBlocks() async throws {
        let parameters = PasswordParameters(memory: 64, passes: 1, lanes: 1)
        let hash = try PasswordHash(of: "correct horse", parameters: #require(parameters))
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<400 { group.addTask { hash.matches("guess \(number)") } }
            for await isRight in group { #expect(!isRight) }
        }
        #expect(hash.matches("correct horse"))
        // There are at most as many idle blocks of memory as this test and parallel tests have
        // used at the same time.
        #expect(Argon2Memory.idleCount < 50)
    }

    @Test func nothingStaysInABlock() throws {
        let parameters = PasswordParameters(memory: 72, passes: 1, lanes: 1)
        _ = try PasswordHash(of: "correct horse", parameters: #require(parameters))
        let size = 72 << 10
        let block = try #require(Argon2Memory.take(size))
        defer { Argon2Memory.giveBack(block, size) }
        #expect(UnsafeBufferPointer(start: block, count: size).allSatisfy { $0 == 0 })
    }
}
