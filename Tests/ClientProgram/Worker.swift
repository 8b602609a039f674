import Foundation
import HTTPSignatures
import PushAPI
import PushClient

/// Takes random steps with a client, and records the steps in files.
final class Worker {
    struct Wrong: Error {
        let what: String
    }

    private let client: PushClient
    private let name: String
    private let shownFile: URL
    private let said: FileHandle
    /// The dismissed ids, which must never appear again.
    private var dismissed: Set<Int64> = []
    private var random: Steps

    init(_ arguments: [String]) throws {
        guard let key = VerificationKey(base64URL: arguments[1]), let seed = UInt64(arguments[4]) else {
            throw ClientProgram.Usage()
        }
        let folder = URL(fileURLWithPath: arguments[2])
        self.client = PushClient(
            server: try ClientProgram.url(arguments[0]),
            credentials: .token("t", account: "alice"),
            options: .init(testing: [key]),
            store: .folder(folder.appending(path: "store"), key: ClientProgram.key)
        )
        self.name = arguments[3]
        self.shownFile = folder.appending(path: "shown-\(self.name)")
        let saidFile = folder.appending(path: "said-\(self.name)")
        _ = FileManager.default.createFile(atPath: saidFile.path, contents: nil)
        self.said = try FileHandle(forWritingTo: saidFile)
        self.random = Steps(state: seed)
    }

    func step() async throws {
        do {
            try await self.takeStep()
        } catch PushClientError.offline {
            // This error is expected, because the network is bad on purpose.
        } catch PushClientError.problem {
            // The notification that this step fetches may be gone.
        } catch PushClientError.interference(let interference) where interference.kind == .truncated {
            // The connection was lost in the middle of an answer.
        }
        self.say("step")
    }

    private func takeStep() async throws {
        let items = try await self.client.cachedInbox().notifications
        let ids = Set(items.map(\.id))
        guard ids.count == items.count else { throw Wrong(what: "one is there twice") }
        guard ids.isDisjoint(with: self.dismissed) else { throw Wrong(what: "one has come back that was dismissed") }
        let id = items.randomElement(using: &self.random)?.id ?? 1
        switch Int.random(in: 0..<13, using: &self.random) {
        case 0: try await self.client.markRead(id, Bool.random(using: &self.random))
        case 1: try await self.client.markRead(items.prefix(3).map(\.id))
        case 2 where Int.random(in: 0..<3, using: &self.random) == 0:
            try await self.client.dismiss(id)
            self.dismissed.insert(id)
            self.say("dismissed \(id)")
        case 3, 4: _ = try await self.client.notification(id)
        case 5, 6: try await self.show()
        case 7:
            let text = "from \(self.name) \(UInt64.random(in: 0 ... .max, using: &self.random))"
            self.say("sent \(try await self.client.outbox.send(text))")
        case 8:
            try await self.client.outbox.markRead(id)
            self.say("read \(id)")
        case 9 where Int.random(in: 0..<3, using: &self.random) == 0:
            try await self.client.outbox.dismiss(id)
            self.dismissed.insert(id)
            self.say("dismissed \(id)")
        case 10: try await self.client.outbox.flush()
        default: _ = try await self.client.sync()
        }
    }

    /// Writes the ids of the changes to a file, and only then confirms the changes.
    private func show() async throws {
        let changes = try await self.client.changes(for: self.name)
        var shown = changes.isEverything ? [] : try Self.shown(self.shownFile)
        shown.subtract(changes.deleted)
        shown.formUnion(changes.arrived)
        let text = shown.sorted().map(String.init).joined(separator: "\n")
        try Data(text.utf8).write(to: self.shownFile, options: .atomic)
        try await self.client.confirm(changes)
        self.say("confirmed \(changes.upTo)")
    }

    private static func shown(_ file: URL) throws -> Set<Int64> {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return Set(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { Int64($0) })
    }

    /// Writes the line at once, because a buffer would be lost when the process is killed.
    private func say(_ text: String) {
        self.said.write(Data("\(text)\n".utf8))
    }
}

/// Random numbers that depend only on a seed (SplitMix64).
struct Steps: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
