internal import HTTPTypes
package import Logging
internal import PushAPI
internal import PushCore
package import SocketHTTP

/// Answers requests in place of the server while the server has no database. A request that asks
/// whether the process is alive gets 200; all other requests get 503 with the reason.
package struct ClosedServer: Responder {
    private let reason: String
    private let meters = RequestMeters()
    private let envelope: Envelope

    /// `reason` is part of the answers, so strangers can read it.
    package init(
        because reason: String,
        signingKeys: SigningKeys,
        settings: ServerSettings,
        logger: Logger
    ) {
        self.reason = reason
        self.envelope = Envelope(
            signer: AnswerSigner(keys: signingKeys, logger: logger),
            origins: OriginPolicy(allowed: settings.allowedOrigins, names: settings.names),
            hsts: settings.hsts,
            meters: self.meters,
            traces: RequestTraces(),
            logger: logger
        )
    }

    package func respond(to request: Request) -> Reply {
        let exchange = Exchange(request, self.meters)
        do {
            try self.envelope.read(exchange)
            let asksForLife = request.head.method == .get && request.head.path == "/healthz"
            guard asksForLife else { throw Problem(.busy, self.reason) }
            return .now(self.envelope.finish(HealthHandler.alive, in: exchange))
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        self.envelope.refuse(refusal, head: head)
    }
}
