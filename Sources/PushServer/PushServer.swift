internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
package import SocketHTTP

/// The server of the API. It identifies the caller of each request, passes the request to the
/// handler of its route, and adds to every answer the fields that all answers have.
package final class PushServer: Responder {
    let routes: RouteTable
    /// The routes of the local admin socket: the routes of administrators, and the routes that
    /// only this socket has.
    let localRoutes: RouteTable
    let envelope: Envelope
    private let origins: OriginPolicy
    /// One read-only connection for each event loop.
    let readers: [any StoreReader]
    let authenticator: Authenticator
    /// The lease during which cached credentials are trusted; `nil` if no other server can end the
    /// credentials of callers, because no server shares the database.
    let lease: CredentialLease?
    let identityField: IdentityField?
    let forwarding: UntrustedForwarding
    let pages: PageSessions
    let strangersBodies: BodyMemory
    private let meters: RequestMeters
    private let spans: SpanRecorder?
    let bodies: BodyCache
    private let now: @Sendable () -> Date

    package init(_ parts: ServerParts) {
        let (settings, traces) = (parts.settings, parts.links.traces)
        self.routes = RouteTable(parts.handlers.flatMap(\.routes))
        self.localRoutes = RouteTable(
            self.routes.routes.filter(\.isAdministrative) + parts.localHandlers.flatMap(\.routes)
        )
        parts.meters.show(self.routes.routes)
        self.meters = parts.meters
        self.spans = traces.spans
        self.origins = OriginPolicy(allowed: settings.allowedOrigins, names: settings.names)
        self.envelope = Envelope(
            signer: parts.signer,
            origins: self.origins,
            hsts: settings.hsts,
            meters: parts.meters,
            traces: traces,
            logger: parts.logger
        )
        self.readers = parts.access.readers
        self.authenticator = parts.authenticator
        self.lease = parts.access.store.cluster?.lease
        self.lease?.onEnd { [streams = parts.links.streams] in streams.revalidate(about: $0) }
        self.identityField = settings.identityField
        self.forwarding = parts.forwarding
        self.pages = parts.pages
        self.strangersBodies = BodyMemory(
            limit: settings.strangersBodies,
            refusal: Problem(.busy, "too many requests without credentials are being received")
        )
        self.bodies = parts.bodies
        self.now = parts.now
    }

    /// The time between two calls of `evictOldBodies`.
    package static let evictionInterval = BodyCache.interval

    /// Evicts old payloads from the cache of decrypted bodies.
    package func evictOldBodies() { self.bodies.evictOld() }

    package func respond(to request: Request) -> Reply {
        let exchange = Exchange(request, self.meters, self.spans)
        let head = request.head
        do {
            let found = self.routes.match(head)
            if case .route(let route, _) = found { exchange.matched = route }
            try self.envelope.read(exchange)
            try self.origins.checkHost(of: head, for: found)
            if head.namesItsPage {
                // This check comes before the check of credentials, because a browser may add a
                // user's credentials to a request of another site's page.
                try self.origins.check(request, for: found)
                if let preflight = self.origins.preflight(head, for: found) {
                    return .now(self.envelope.finish(preflight, in: exchange))
                }
            }
            let now = self.wholeMilliseconds(self.now())
            // The lease's term, which ends when the lease expires, is read before any lookup in
            // the cache of credentials. So the later check of the term notices if the lease has
            // expired since.
            if let lease, found.needsCaller { exchange.term = lease.term }
            let caller = try self.knownCaller(of: exchange, for: found, now: now)
            if caller == nil, found.needsCaller {
                return .later { await self.signInAndAnswer(exchange, found, now: now) }
            }
            return self.answer(exchange, found, to: caller, now: now)
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    /// Answers a request of the local admin socket. `identify` returns the caller of the request,
    /// or throws the reason for a refusal.
    func respondLocally(to request: Request, identify: () throws -> Caller) -> Reply {
        let exchange = Exchange(request, self.meters)
        do {
            try self.envelope.read(exchange)
            let caller = try identify()
            exchange.isLocal = true
            let found = self.localRoutes.match(request.head)
            if case .route(let route, _) = found { exchange.matched = route }
            return self.answer(exchange, found, to: caller, now: self.wholeMilliseconds(self.now()))
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        self.envelope.refuse(refusal, head: head)
    }
}
