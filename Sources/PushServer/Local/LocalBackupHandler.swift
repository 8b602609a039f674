internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP
internal import Synchronization

/// Makes the daemon write a copy of its database to a file.
struct LocalBackupHandler: Handler {
    let files: LocalFiles
    /// The interval between two progress lines for the command.
    private static let pace = Duration.milliseconds(250)

    var routes: [Route] {
        [Route(.post, LocalPaths.backup, .atLeast(.admin, .manage), query: ["file"]) { try self.backUp($0) }]
    }

    /// Answers with lines of JSON. While the copy runs, each line has the members `Step`, `Done`
    /// and `Total`; the last line has the result of `LocalFiles.backUp`.
    private func backUp(_ context: RequestContext) throws -> Response {
        guard let file = try Query(context.request.head.query)["file"], file.hasPrefix("/") else {
            throw Problem(.invalidParameter, "file must be an absolute path")
        }
        guard file.utf8.count < 4096, file.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw Problem(.invalidParameter, "file must be a path of at most 4095 bytes without control characters")
        }
        let backup = self.files.backUp(file, try context.actor)
        return Response(lines: { writer in try await Self.run(backup, writer) })
    }

    /// Makes the copy and reports its progress. Cancels the copy if the command has ended or the
    /// server stops.
    private static func run(_ backup: LocalBackup, _ writer: BodyWriter) async throws {
        let outcome = Outcome()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let result = await backup.run()
                outcome.answer.withLock { $0 = result }
                writer.ring()
            }
            while outcome.answer.withLock({ $0 == nil }) {
                if try await writer.wait(until: .now + self.pace) == .serverStops {
                    group.cancelAll()
                    try await group.waitForAll()
                } else if let progress = backup.progress() {
                    try await writer.write(line: [
                        .init("Step", .string(progress.step)), .init("Done", .number(progress.done)),
                        .init("Total", .number(progress.total)),
                    ])
                }
            }
        }
        guard let answer = outcome.answer.withLock(\.self) else { return }
        try await writer.write(line: answer)
    }

    /// Holds the result of the copy as soon as the copy has ended. A lock protects the result,
    /// since the copy runs in another task.
    private final class Outcome: Sendable {
        let answer = Mutex<JSONValue?>(nil)
    }
}
