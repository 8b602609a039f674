import ClientPeers
import Cryptography
import Foundation
import HTTPSignatures
import PushTesting
import Testing

@testable import PushClient

/// An app and its extension, which share one folder of stored data. `Tests/ClientProgram` acts as
/// both of them.
struct TwoProcesses {
    static let names = ["app", "extension"]

    let server: ModelServer
    let url: URL
    let folder: TemporaryFolder
    private(set) var steps = 0
    private(set) var kills = 0
    /// The steps that the processes have recorded.
    private(set) var said = Said()
    /// Whether an earlier check has found the cursor of a sync in the store.
    private(set) var hasBegun = false

    init(server: ModelServer, url: URL, folder: TemporaryFolder) {
        (self.server, self.url, self.folder) = (server, url, folder)
    }

    var client: PushClient {
        PushClient(
            server: self.url,
            credentials: .token("t", account: "alice"),
            options: .init(testing: [self.server.key.publicKey]),
            store: .folder(URL(fileURLWithPath: self.folder.file("store")), key: SymmetricKey(data: Data(count: 32)))
        )
    }

    /// The ids that a process showed when it last read the changes; `nil` if it has not read any
    /// yet.
    func shown(by name: String) throws -> Set<Int64>? {
        let file = self.folder.file("shown-\(name)")
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let text = try String(contentsOfFile: file, encoding: .utf8)
        return Set(text.split(separator: "\n").compactMap { Int64($0) })
    }

    mutating func begin() { self.hasBegun = true }

    // MARK: - A round

    /// Runs both processes while the server's data changes. From time to time, one of them is
    /// suspended, or killed and started again. In the end, both are killed.
    mutating func round() async throws {
        var processes = try Self.names.map { try self.start($0) }
        let end = ContinuousClock.now + .milliseconds(.random(in: 200...1200))
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(.random(in: 0...40)))
            let place = Int.random(in: 0..<processes.count)
            switch Int.random(in: 0..<24) {
            case 0:
                try await self.kill(processes[place], Self.names[place])
                processes[place] = try self.start(Self.names[place])
            case 1, 2:
                // A system suspends an app in the background. Meanwhile, the other process may
                // make few or many commits.
                processes[place].signal(SIGSTOP)
                try await Task.sleep(for: .milliseconds(.random(in: 10...500)))
                processes[place].signal(SIGCONT)
            default: break
            }
        }
        for process in processes { process.signal(SIGKILL) }
        for (process, name) in zip(processes, Self.names) { try await self.kill(process, name) }
    }

    private func start(_ name: String) throws -> ChildProcess {
        let key = self.server.key.publicKey.base64URL
        let seed = UInt64.random(in: 0 ... .max)
        return try .clientProgram(["work", self.url.absoluteString, key, self.folder.path, name, "\(seed)"])
    }

    private mutating func kill(_ process: ChildProcess, _ name: String) async throws {
        process.signal(SIGKILL)
        let ended = await process.end()
        try #require(ended.code == 128 + SIGKILL, "\(name): \(ended.errors)")
        self.kills += 1
        let file = self.folder.file("said-\(name)")
        // A process that was killed at its start has recorded nothing.
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return }
        try FileManager.default.removeItem(atPath: file)
        self.steps += self.said.add(text, of: name)
    }
}

/// The steps that the processes have recorded as done. No later step may undo them.
struct Said {
    /// The last commit whose changes each process has confirmed.
    private(set) var confirmed: [String: Int64] = [:]
    private(set) var dismissed: Set<Int64> = []
    private(set) var read: Set<Int64> = []
    /// The idempotency keys of the notifications that the processes have sent.
    private(set) var sent: Set<String> = []

    /// Adds the steps that a process has recorded. Returns their number.
    mutating func add(_ text: String, of name: String) -> Int {
        var steps = 0
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let number = words.last.flatMap { Int64($0) }
            switch (words.first, number) {
            case ("step", _): steps += 1
            case ("confirmed", let commit?): self.confirmed[name] = max(self.confirmed[name] ?? 0, commit)
            case ("sent", _): self.sent.formUnion(words.dropFirst().map(String.init))
            case ("read", let id?): self.read.insert(id)
            case ("dismissed", let id?): self.dismissed.insert(id)
            default: break
            }
        }
        return steps
    }
}

extension ChildProcess {
    /// Starts the program `Tests/ClientProgram`, which is built next to the tests.
    static func clientProgram(
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(self.clientProgramPath, arguments, in: Repository.root.path, environment: environment)
    }

    static var clientProgramPath: String {
        let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return build.appending(path: "ClientProgram").path
    }
}
