internal import Foundation
internal import HTTPTypes
package import Logging
internal import PushAPI
internal import PushCore
package import SocketHTTP

/// Answers in place of the server while it has no database: liveness, and 503 with the reason for
/// everything else.
package struct ClosedServer: Responder {
    private let reason: String
    private let meters = RequestMeters()
    private let envelope: Envelope

    /// Strangers can read `reason`.
    package init(
        because reason: String,
        signingKeys: SigningKeys,
        settings: ServerSettings,
        logger: Logger
    ) {
        self.reason = reason
        self.envelope = Envelope(
            signer: AnswerSigner(keys: signingKeys, logger: logger, now: { Date() }),
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
