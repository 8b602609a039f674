import Cryptography
import Foundation
import PushAPI
import PushClient

/// A process with a client, for tests that need several processes or measure one. Its commands
/// print or do the following:
///
///     nothing                           the memory of the empty process
///     fetch SERVER FOLDER ID LIMIT      the outcome of a fetch, as in an extension, and the memory
///     show SERVER FOLDER ID LIMIT       the length and the badge of a notification that an extension
///                                       shows, and the memory
///     open SERVER FOLDER ID LIMIT KEYS SENDER NOW
///                                       the length of an end-to-end payload, the milliseconds of
///                                       processor time, those of 100 key agreements, and the memory
///     sync SERVER FOLDER                the number of notifications after a sync
///     advise SERVER FOLDER              the advice for a fetch that fails
///     sign-out SERVER FOLDER            whether the server has ended the session
///     work SERVER KEY FOLDER NAME SEED  random steps until it is killed
///     phone SERVER NAME PASSWORD HANDLE an app that reads its pushes from standard input
@main struct ClientProgram {
    struct Usage: Error {}

    static func main() async throws {
        let arguments = CommandLine.arguments
        switch arguments.count > 1 ? arguments[1] : "" {
        case "nothing": print(try Memory.now("RssAnon:"))
        case "fetch" where arguments.count == 6:
            // The code for the network is in shared libraries. This call loads them before the
            // measurement begins.
            _ = await Self.fetch(["http://127.0.0.1:1", arguments[3] + "/none", "1", "1"])
            let memory = try Memory()
            print(await Self.fetch(Array(arguments[2...])))
            print(try memory.peak())
        case "show" where arguments.count == 6:
            _ = await Self.show(["http://127.0.0.1:1", arguments[3] + "/none", "1", "1"])
            let memory = try Memory()
            print(await Self.show(Array(arguments[2...])))
            print(try memory.peak())
        case "open" where arguments.count == 9:
            _ = await Self.open(["http://127.0.0.1:1", arguments[3] + "/none", "1", "1"] + arguments[6...])
            let memory = try Memory()
            let start = clock()
            let opened = await Self.open(Array(arguments[2...]))
            let (time, peak) = (Self.milliseconds(since: start), try memory.peak())
            print(opened, time, try Self.millisecondsOfAgreements(), peak, separator: "\n")
        case "advise" where arguments.count == 4: print(await Self.advise(arguments[2], folder: arguments[3]))
        case "sync" where arguments.count == 4:
            let client = try Self.client(arguments[2], folder: arguments[3], limit: 1 << 20)
            print(try await client.sync().value.notifications.count)
        case "sign-out" where arguments.count == 4:
            let client = try Self.client(arguments[2], folder: arguments[3], limit: 1 << 20)
            print(try await client.signOut())
        case "work" where arguments.count == 7:
            let worker = try Worker(Array(arguments[2...]))
            while true { try await worker.step() }
        case "phone" where arguments.count == 6:
            let (server, handle) = (try Self.url(arguments[2]), arguments[5])
            try await Phone(server, name: arguments[3], password: arguments[4], handle: handle).run()
        default: throw Usage()
        }
    }

    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw Usage() }
        return url
    }

    /// A key for tests only.
    static let key = SymmetricKey(data: Data(count: 32))

    /// Fetches a notification. Returns the outcome in one word.
    private static func fetch(_ arguments: [String]) async -> String {
        do {
            guard let id = Int64(arguments[2]), let limit = Int(arguments[3]) else { throw Usage() }
            let client = try Self.client(arguments[0], folder: arguments[1], limit: limit)
            return try await client.notification(id).date == nil ? "fresh" : "cached"
        } catch PushClientError.interference(let interference) {
            return interference.kind.rawValue
        } catch PushClientError.problem(let problem) {
            return "\(problem.status)"
        } catch {
            return "\(error)"
        }
    }
}

extension ClientProgram {
    /// Lets `NotificationServiceHelper` show a notification for a push. Returns the length of the
    /// shown text, and the badge.
    fileprivate static func show(_ arguments: [String]) async -> String {
        guard let id = Int64(arguments[2]), let limit = Int(arguments[3]),
            let client = try? Self.client(arguments[0], folder: arguments[1], limit: limit)
        else { return "wrong arguments" }
        let helper = NotificationServiceHelper(clients: { [client] }) { item, content in
            content.body = item.text ?? ""
        }
        let shown = Locked(NotificationContent())
        await helper.deliver(PushMessage(id: id), placeholder: NotificationContent(body: "placeholder")) { content in
            shown.withLock { $0 = content }
        }
        return shown.withLock { "\($0.body.utf8.count) \($0.badge.map(String.init) ?? "none")" }
    }

    /// Decrypts an end-to-end payload. Returns the length of its text.
    fileprivate static func open(_ arguments: [String]) async -> String {
        do {
            guard let id = Int64(arguments[2]), let limit = Int(arguments[3]), let now = TimeInterval(arguments[6]),
                let stored = Data(base64Encoded: arguments[4])
            else { throw Usage() }
            let keys = try DeviceKeys(stored: stored)
            let client = try Self.client(arguments[0], folder: arguments[1], limit: limit) { options in
                options.deviceKey = keys.key
                options.now = { Date(timeIntervalSince1970: now) }
            }
            let item = try await client.notification(id).value
            return try await "\(client.openPayload(of: item, with: keys, from: [arguments[5]]).payload.bytes.count)"
        } catch {
            return "\(error)"
        }
    }

    /// POSIX's function `clock` counts microseconds of the process.
    fileprivate static func milliseconds(since start: clock_t) -> Double { Double(clock() - start) / 1000 }

    /// The processor time of 100 key agreements, a measure for the speed of the machine.
    fileprivate static func millisecondsOfAgreements() throws -> Double {
        let key = P256.KeyAgreement.PrivateKey()
        let start = clock()
        for _ in 0..<100 { _ = try key.sharedSecretFromKeyAgreement(with: key.publicKey) }
        return Self.milliseconds(since: start)
    }

    fileprivate static func advise(_ server: String, folder: String) async -> String {
        do {
            _ = try await Self.client(server, folder: folder, limit: 1 << 20).notification(1)
            return "nothing"
        } catch {
            return PushClient.Advice(for: error)?.rawValue ?? "nothing"
        }
    }

    private static func client(
        _ server: String,
        folder: String,
        limit: Int,
        _ change: (inout PushClient.Options) -> Void = { _ in }
    ) throws -> PushClient {
        var options = PushClient.Options(testing: [], timeout: .seconds(12), answerLimit: limit)
        change(&options)
        return PushClient(
            server: try Self.url(server),
            credentials: .token("t", account: "alice"),
            options: options,
            store: .folder(URL(fileURLWithPath: folder), key: Self.key)
        )
    }
}

/// The memory of this process in KiB, without the pages of files. An iPhone limits this memory,
/// and does not count code.
struct Memory {
    private let anonymous: Int
    private let all: Int

    /// Begins a measurement by resetting the kernel's peak value (proc(5)).
    init() throws {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        (self.anonymous, self.all) = (try Self.now("RssAnon:"), try Self.now("VmRSS:"))
    }

    /// Returns the peak since the beginning, or slightly more: pages of files that were loaded
    /// meanwhile also count.
    func peak() throws -> Int { self.anonymous + (try Self.now("VmHWM:")) - self.all }

    static func now(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        guard let value = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw ClientProgram.Usage()
        }
        return value
    }
}
