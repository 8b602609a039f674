import Glibc
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ChildProcessTests {
    @Test func aCommandWithMuchOutputOnBothStreamsEnds() async throws {
        let folder = try TemporaryFolder()
        let script = "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; exit 7"
        let ended = try await ChildProcess("/bin/sh", ["-c", script], in: folder.path).end()
        #expect(ended.code == 7)
        #expect(ended.output.utf8.count == 1_000_000)
        #expect(ended.errors.utf8.count == 1_000_000)
    }

    /// A script that runs the tests in the background makes them ignore some signals.
    @Test func aCommandDoesNotIgnoreTheSignalsThatTheTestsIgnore() async throws {
        let handler = signal(SIGHUP, SIG_IGN)
        defer { signal(SIGHUP, handler) }
        let ended = try await ChildProcess("/bin/sh", ["-c", "kill -HUP $$; echo ignored"], in: "/").end()
        #expect(ended.code == 128 + SIGHUP, "\(ended.output)")
    }

    /// When a test exceeds its time limit, its task is cancelled. The command that the test waits
    /// for must end, too.
    @Test(.timeLimit(.minutes(5))) func aCommandIsKilledWhenTheTaskThatWaitsForItIsCancelled() async throws {
        let folder = try TemporaryFolder()
        let process = try ChildProcess("/bin/sleep", ["600"], in: folder.path)
        let waiting = Task { await process.end() }
        waiting.cancel()
        #expect(await waiting.value.code == 128 + SIGKILL)
    }

    @Test(.timeLimit(.minutes(5))) func aReleasedCommandIsKilled() async throws {
        let folder = try TemporaryFolder()
        let watched = try ChildProcess("/bin/sleep", ["600"], in: folder.path).id
        var status: Int32 = 0
        #expect(waitpid(watched, &status, 0) == watched)
        #expect(status & 0x7F == SIGKILL)
    }
}
