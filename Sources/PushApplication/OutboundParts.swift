import PushCore
import PushSenders
import PushServer
import Reactor

/// The parts that call other servers. They need files from the operator, such as credentials.
struct OutboundParts {
    /// The export of spans; `nil` if no collector of spans is configured.
    let spans: SpanExport?
    /// The configured OIDC issuer of tokens. If it is `nil`, the server accepts only its own
    /// tokens.
    let issuer: IssuerSetup?
    let senders: [ApplicationParts.Sender]
    /// The configured receiver of events. If it is `nil`, the server sends no events, but may
    /// store and list them.
    let eventWebhook: EventWebhookSetup?

    /// Throws a `ConfigurationError` that names the configuration key whose value is unusable.
    init(_ configuration: Configuration, _ recorder: SpanRecorder?, _ streams: StreamHub, on loop: EventLoop) throws {
        self.spans = try configuration.tracing.flatMap { tracing in
            try recorder.map { try SpanExport(tracing, $0, on: loop) }
        }
        self.issuer = try configuration.oidc.map { oidc in
            let egress = try oidc.isDirect ? Egress() : configuration.egress
            return try IssuerSetup(oidc, apps: configuration.apps, on: loop, egress: egress)
        }
        let tokens = APNsProviderTokens()
        self.senders = try configuration.senders.map { name, sender in
            let setup = try SenderSetup(
                sender,
                name: name,
                on: loop,
                streams: streams,
                egress: configuration.egress(of: name),
                tokens: tokens,
                alerts: configuration.server.alerts
            )
            return (name, setup)
        }
        self.eventWebhook = try configuration.events.webhook.map { webhook in
            let egress = try webhook.isDirect ? Egress() : configuration.egress
            return try EventWebhookSetup(webhook, on: loop, egress: egress)
        }
    }
}
