internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Exports and imports users as lines, and deletes users whose names no path can have.
struct LocalUserHandler: Handler {
    let store: any AccountStore
    let reports: ReportReader
    let authenticator: Authenticator
    let settings: ServerSettings
    let users: UserHandler
    let now: @Sendable () -> Date
    /// The number of lines of an export that are read and sent at a time.
    private static let pageSize = 500
    /// The longest body of an import, in bytes.
    private static let longestBody = 16_777_216

    var routes: [Route] {
        [
            Route(.get, LocalPaths.users, .atLeast(.admin, .manage), query: ["hashes"]) { try self.export($0) },
            Route(.post, LocalPaths.users, .atLeast(.admin, .manage), query: ["dry", "hashes"]) {
                try await self.importUsers($0)
            },
            Route(.delete, LocalPaths.users, .atLeast(.admin, .manage), query: ["name"]) { context in
                let text = try Query(context.request.head.query)["name"]
                guard let name = text.flatMap({ Username($0) }) else { throw Problem(.notFound) }
                return try await self.users.delete(name, context)
            },
        ]
    }

    /// Answers with a line for each user, with the hashes of passwords if the query asks for them.
    private func export(_ context: RequestContext) throws -> Response {
        let hasHashes = try Query(context.request.head.query)["hashes"] == "true"
        return Response(lines: { [reports] writer in
            var last: Username?
            repeat {
                let start = last
                let (bytes, next) = try await reports.run { try await Self.page(after: start, hasHashes, $0) }
                try await writer.write(bytes)
                last = next
            } while last != nil
        })
    }

    private static func page(
        after last: Username?,
        _ hasHashes: Bool,
        _ reader: any StoreReader
    ) async throws -> (bytes: [UInt8], last: Username?) {
        let page = try await reader.users(after: last, limit: Self.pageSize)
        var bytes: [UInt8] = []
        for entry in page {
            let user: User? = if hasHashes { try await reader.user(named: entry.name) } else { nil }
            let hash: PasswordHash? = if let user { try await reader.password(of: user) } else { nil }
            bytes += UserLine.text(of: entry, hash: hash) + [UInt8(ascii: "\n")]
        }
        return (bytes, page.last?.name)
    }

    /// Imports the users in the body. Answers with one line for each line of the body that is not
    /// blank, as soon as that line is imported. A line of the answer has the members `Line` (the
    /// number of the body's line, counted from 1) and `Outcome`, and depending on the outcome
    /// `Name`, `Changes` or `Reason`.
    private func importUsers(_ context: RequestContext) async throws -> Response {
        let query = try Query(context.request.head.query)
        let isDry = try query["dry"] == "true"
        let users = UserImport(
            store: self.store,
            reader: context.reader,
            parameters: self.authenticator.parameters,
            takesHashes: try query["hashes"] == "true",
            isDry: isDry,
            actor: try context.actor,
            now: self.now
        )
        let body = try await context.request.body.collect(upTo: Self.longestBody)
        let (authenticator, apps) = (self.authenticator, self.settings.apps)
        return Response(lines: { writer in
            var users = users
            let lines = body.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() where !line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 })
            {
                let (name, outcome) = try await Self.apply(line, &users, apps: apps)
                if let name, !isDry { authenticator.accountChanged(name) }
                let json = outcome.json(ofLine: number + 1, name)
                try await writer.write(line: json)
            }
        })
    }

    private static func apply(
        _ bytes: ArraySlice<UInt8>,
        _ users: inout UserImport,
        apps: Set<AppName>
    ) async throws -> (Username?, UserImport.Outcome) {
        let line: UserLine
        do throws(UserLineError) {
            line = try UserLine(bytes, apps: apps)
        } catch {
            return (nil, .refused("\(error)"))
        }
        return (line.name, try await users.apply(line))
    }
}

extension UserImport.Outcome {
    fileprivate func json(ofLine number: Int, _ name: Username?) -> JSONValue {
        var members: [JSONValue.Member] = [.init("Line", .number(number))]
        if let name { members.append(.init("Name", .string(name.description))) }
        switch self {
        case .added: members.append(.init("Outcome", .string("added")))
        case .changed(let changes):
            members.append(.init("Outcome", .string("changed")))
            members.append(.init("Changes", .array(changes.map { .string($0) })))
        case .unchanged: members.append(.init("Outcome", .string("unchanged")))
        case .refused(let reason):
            members.append(.init("Outcome", .string("refused")))
            members.append(.init("Reason", .string(reason)))
        }
        return .object(members)
    }
}
