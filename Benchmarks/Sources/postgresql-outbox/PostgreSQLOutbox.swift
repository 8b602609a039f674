import Foundation
import PushCore
import PushPostgreSQL
import PushStore

/// The outbox of a PostgreSQL database, without senders: what is leased counts as accepted at once.
///
/// The arguments are the database's address, the keyring's file, a lane and the number of workers.
/// After the line `drain` the workers lease and settle all due pushes, 500 at a time. As in the
/// server, they lease the next pushes while they settle the last. `retain` deletes what expires
/// within a day. The program answers each line with the number of pushes or steps, and the seconds.
@main
struct PostgreSQLOutbox {
    private static let batch = 500

    let store: any Store
    let lane: Lane
    let workers: Int

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard
            arguments.count == 5,
            let place = PostgreSQLPlace(arguments[1], secret: { try String(contentsOfFile: $0, encoding: .utf8) }),
            let workers = Int(arguments[4])
        else { throw Failure("usage: postgresql-outbox ADDRESS KEYRING LANE WORKERS") }
        let keyring = try Keyring(text: String(contentsOfFile: arguments[2], encoding: .utf8))
        let store = try place.open(keyring, StoreOptions())
        let outbox = PostgreSQLOutbox(store: store, lane: Lane(Platform(arguments[3])), workers: workers)
        while let command = readLine() {
            let start = ContinuousClock.now
            let count =
                switch command {
                case "drain": await outbox.drain()
                case "retain": await outbox.retain()
                default: throw Failure("there is no command \(command)")
                }
            let time = (ContinuousClock.now - start) / .seconds(1)
            FileHandle.standardOutput.write(Data("\(count) \(time)\n".utf8))
        }
        await store.close()
    }

    /// How many pushes were leased and settled, until none was due.
    private func drain() async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<self.workers {
                group.addTask {
                    var count = 0
                    var leased = await self.lease()
                    while !leased.isEmpty {
                        async let next = self.lease()
                        let ended = leased.map { ($0, Settlement.accepted(providerID: nil)) }
                        await Self.untilDone { try await self.store.settle(ended, now: Date()) }
                        count += leased.count
                        leased = await next
                    }
                    return count
                }
            }
            return await group.reduce(0, +)
        }
    }

    private func lease() async -> [LeasedDelivery] {
        let request = LeaseRequest(Self.batch, from: self.lane, .bulk)
        return await Self.untilDone { try await self.store.lease(request, now: Date()) }
    }

    /// Tries again what fails, as the server does, and tells of it.
    private static func untilDone<Value>(_ body: () async throws -> Value) async -> Value {
        while true {
            do {
                return try await body()
            } catch {
                FileHandle.standardError.write(Data("\(error); tried again\n".utf8))
            }
        }
    }

    /// In how many steps all that expires within a day was deleted.
    private func retain() async -> Int {
        var steps = 1
        func step() async throws -> Bool { try await self.store.deleteExpired(now: Date() + 86400, page: 5000) }
        while await Self.untilDone(step) { steps += 1 }
        return steps
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
}
