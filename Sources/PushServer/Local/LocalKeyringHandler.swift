internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Lists the keys of the keyring's file, adds a key, and removes a key. The server does not
/// encrypt with a new key until a request to `LocalKeyHandler` makes it read the file again.
struct LocalKeyringHandler: Handler {
    let files: LocalFiles

    var routes: [Route] {
        [
            Route(.get, LocalPaths.keyring, .atLeast(.admin, .manage)) { _ in
                Response(line: self.files.listKeys)
            },
            Route(.post, LocalPaths.keyring, .atLeast(.admin, .manage)) { context in
                let actor = try context.actor
                return Response(line: { await self.files.rotateKeys(actor) })
            },
            Route(.delete, "\(LocalPaths.keyring)/{id}", .atLeast(.admin, .manage)) { context in
                guard let number = UInt32(context.parameter) else { throw Problem(.notFound) }
                let actor = try context.actor
                return Response(line: { await self.files.removeKey(number, actor) })
            },
        ]
    }
}

extension Response {
    /// A response of one line of JSON, which is sent as soon as `line` has returned it; there is
    /// no deadline.
    init(line: @escaping @Sendable () async -> JSONValue) {
        self.init(lines: { writer in try await writer.write(line: await line()) })
    }
}
