package import Foundation
internal import HTTPTypes
package import Logging
internal import PushAPI
package import PushCore
package import PushStore
package import SocketHTTP

/// The API: answers every request, and wraps every answer, whatever its status, in the same envelope.
package struct PushServer: Responder {
    let store: Store
    /// One read-only connection for each event loop.
    let readers: [Reader]
    let vault: Vault
    let tags: EntityTagMaker
    let authenticator: Authenticator
    let settings: ServerSettings
    let logger: Logger
    /// Tells the delivery that there is work.
    let workIsWaiting: @Sendable () -> Void
    /// What keeps the server from storing or sending; empty when it is ready.
    let troubles: @Sendable () -> [String]
    let now: @Sendable () -> Date

    private let routes: RouteTable

    package init(
        store: Store,
        readers: [Reader],
        keyring: Keyring,
        authenticator: Authenticator,
        settings: ServerSettings,
        logger: Logger,
        workIsWaiting: @escaping @Sendable () -> Void,
        troubles: @escaping @Sendable () -> [String] = { [] },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.store = store
        self.readers = readers
        self.vault = Vault(keyring)
        self.tags = EntityTagMaker(keyring: keyring)
        self.authenticator = authenticator
        self.settings = settings
        self.logger = logger
        self.workIsWaiting = workIsWaiting
        self.troubles = troubles
        self.now = now
        self.routes = .all
    }

    package func respond(to request: Request) async -> Response {
        let id = RequestID(request.head)
        let token: MyToken?
        do throws(Problem) {
            token = try MyToken(of: request.head)
        } catch {
            return self.envelope(Response(error, request: id), id: id, token: nil)
        }
        let response: Response
        do {
            response = try await self.route(request, id: id)
        } catch let problem as Problem {
            response = Response(problem, request: id)
        } catch {
            response = Response(self.problem(for: error, request: id), request: id)
        }
        self.logger.debug(
            "request answered",
            metadata: [
                "request": "\(id)", "method": "\(request.head.method)", "status": "\(response.status.code)",
                "client": "\(request.client)",
            ]
        )
        return self.envelope(response, id: id, token: token)
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        let id = RequestID(head)
        let response = Response(Problem(refusal), request: id)
        // A token that is not one has no echo; the refusal stands all the same.
        let token = head.flatMap { try? MyToken(of: $0) }
        return self.envelope(response, id: id, token: token)
    }

    // MARK: - Private

    private func route(_ request: Request, id: RequestID) async throws -> Response {
        let found = self.routes.match(method: request.head.method, path: request.head.path)
        // Whoever is not signed in learns nothing about what there is.
        var caller: Caller?
        let now = self.wholeMilliseconds(self.now())
        if found.needsCaller {
            let credentials = try Credentials(of: request)
            let (loop, reader) = (request.loopIndex, self.readers[request.loopIndex])
            caller = try self.authenticator.caller(by: credentials, loop: loop, reader: reader, now: now)
            if caller == nil {
                caller = try await self.authenticator.signIn(by: credentials, loop: loop, reader: reader, now: now)
            }
        }
        switch found {
        case .route(let route, let parameter):
            try caller?.check(for: route.access)
            return try await route.run(
                self,
                Call(request: request, caller: caller, parameter: parameter, now: now)
            )
        case .wrongMethod(let allowed, _):
            var response = Response(Problem(.methodNotAllowed), request: id)
            response.fields.append(.allow, allowed.joined(separator: ", "))
            return response
        case .nothing:
            throw Problem(.notFound)
        }
    }

    /// Rounds down to what the database keeps, so that what is answered before storing is what is answered after it.
    private func wholeMilliseconds(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }

    private static let everywhere: ResponseFields = [.contentTypeOptions: "nosniff"]

    /// What belongs on each answer, whoever made it.
    private func envelope(_ response: Response, id: RequestID, token: MyToken?) -> Response {
        var response = response
        if let token { response.fields.append(.myToken, token.echo) }
        response.fields.append(.requestID, id.description)
        response.fields.append(contentsOf: Self.everywhere)
        return response
    }

    /// Words for the client, who learns the code; the log learns the reason.
    private func problem(for error: any Error, request: RequestID) -> Problem {
        switch error {
        case let error as BodyError:
            return Problem(error.refusal)
        case StoreError.busy:
            self.logger.warning("write refused: too many are waiting", metadata: ["request": "\(request)"])
            return Problem(.busy, "too many writes are waiting")
        default:
            self.logger.error("request failed", metadata: ["request": "\(request)", "error": "\(error)"])
            return Problem(.internalError)
        }
    }
}

extension MyToken {
    /// The token of a request, if it has one; throws an `invalid-mytoken` problem that says what is wrong with it.
    fileprivate init?(of head: RequestHead) throws(Problem) {
        guard let text = head[.myToken] else { return nil }
        guard head.count(of: .myToken) == 1 else { throw Problem(.invalidToken, "MyToken is there more than once") }
        do throws(MyToken.Invalid) {
            self = try MyToken(text: text)
        } catch {
            switch error {
            case .notANumber: throw Problem(.invalidToken, "MyToken is not a decimal number")
            case .outOfRange: throw Problem(.invalidToken, "MyToken is above \(MyToken.range.upperBound)")
            }
        }
    }
}
