import PushTesting
import Testing

@Suite struct ChildProcessTests {
    @Test func aCommandThatSaysMuchOnBothSidesEnds() async throws {
        let folder = try TemporaryFolder()
        let script = "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; exit 7"
        let ended = try await ChildProcess("/bin/sh", ["-c", script], in: folder.path).end()
        #expect(ended.code == 7)
        #expect(ended.output.utf8.count == 1_000_000)
        #expect(ended.errors.utf8.count == 1_000_000)
    }
}
