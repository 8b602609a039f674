package import Foundation
package import Logging
package import PushCore
internal import PushStore

/// The objects that several handlers share.
package struct ServerParts {
    let access: StoreAccess
    let authenticator: Authenticator
    let settings: ServerSettings
    let signer: AnswerSigner
    let links: ProcessLinks
    let daemon: Daemon
    let logger: Logger
    let now: @Sendable () -> Date
    let startedAt: Date
    let pages: PageSessions
    let bodies: BodyCache
    let meters = RequestMeters()
    let forwarding: UntrustedForwarding
    let poster: NotificationPoster
    let idempotency: IdempotencyGuard

    package init(
        _ access: StoreAccess,
        authenticator: Authenticator,
        settings: ServerSettings,
        signer: AnswerSigner,
        links: ProcessLinks = ProcessLinks(),
        daemon: Daemon = Daemon(),
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        let secret = access.store.indexSecret
        (self.access, self.authenticator, self.settings, self.signer) = (access, authenticator, settings, signer)
        (self.links, self.daemon, self.logger) = (links, daemon, logger)
        (self.now, self.startedAt) = (now, now())
        self.pages = PageSessions(secret: secret)
        self.bodies = BodyCache(loopCount: access.readers.count)
        self.forwarding = UntrustedForwarding(logger: logger)
        self.poster = NotificationPoster(
            store: access.store,
            collapseIDs: CollapseIDs(key: secret.derive("collapse id")),
            ids: NotificationIDs(bits: settings.idBits),
            bounds: settings.storage,
            links: links,
            history: daemon.history
        )
        self.idempotency = IdempotencyGuard(
            keys: secret.derive("idempotency key"),
            requests: secret.derive("idempotent request")
        )
    }
}
