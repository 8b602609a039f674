import CurlHTTP
import PushCore
import PushSenders
import Reactor

extension Doctor {
    /// Checks the configuration of the receiver of events and, with `online`, whether the receiver
    /// can be reached.
    func eventWebhook(on loop: EventLoop, online: Bool) async -> [Finding] {
        guard let webhook = self.configuration.events.webhook else { return [] }
        let subject = "events.webhook"
        do {
            let egress = try webhook.isDirect ? Egress() : self.configuration.egress
            try await EventWebhookSetup(webhook, on: loop, egress: egress).webhook.close()
            let finding = Finding(.ok, subject, "the secret can be used")
            guard online else { return [finding] }
            let settings = HTTPClientSettings(caFile: webhook.caFile, addresses: .any, proxy: egress.proxy)
            return [finding]
                + (await SenderConfiguration.reach(webhook.url, settings, subject: subject, on: loop, now: self.present))
        } catch {
            return [Finding(.fail, subject, "\(error)")]
        }
    }

    /// Checks whether the file with the certificate authorities for the token issuer can be used.
    func issuer(on loop: EventLoop) async -> [Finding] {
        guard let oidc = self.configuration.oidc, oidc.caFile != nil else { return [] }
        do {
            await (try IssuerSetup(oidc, apps: self.configuration.apps, on: loop, egress: Egress())).close()
            return [Finding(.ok, "signIn.oidc.caFile", "can be used")]
        } catch {
            return [Finding(.fail, "signIn.oidc.caFile", "\(error)")]
        }
    }

    /// Checks whether the files for the collector of spans can be used.
    func tracing(on loop: EventLoop) async -> [Finding] {
        guard let tracing = self.configuration.tracing else { return [] }
        do {
            await (try SpanExport(tracing, SpanRecorder(sampling: 0), on: loop)).close()
            return [Finding(.ok, "tracing", "the files for the collector can be used")]
        } catch {
            return [Finding(.fail, "tracing", "\(error)")]
        }
    }
}
