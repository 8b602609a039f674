import Foundation
import PushTesting

/// A program of `scripts/` that stands in for Apple's compilers. It gets this process's build
/// folder.
enum AppleScript {
    static func run(_ name: String, _ arguments: [String]) async throws -> ChildProcess.Ended {
        let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return try await ChildProcess(
            Repository.file("scripts/\(name)").path,
            [build.path] + arguments,
            in: Repository.root.path,
            environment: ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "TMPDIR"].contains($0.key) }
        ).end()
    }
}
