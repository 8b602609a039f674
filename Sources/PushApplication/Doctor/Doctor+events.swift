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
            let settings = HTTPClientSettings {
                ($0.caFile, $0.addresses, $0.proxy) = (webhook.caFile, .any, egress.proxy)
            }
            return [finding]
                + (await SenderConfiguration.reach(webhook.url, settings, subject: subject, on: loop, now: self.present))
        } catch {
            return [Finding(.fail, subject, "\(error)")]
        }
    }

    /// Checks whether the file with the certificate authorities for the token issuer can be used;
    /// with `online`, reads the issuer's keys as the server does.
    func issuer(on loop: EventLoop, online: Bool) async -> [Finding] {
        guard let oidc = self.configuration.oidc else { return [] }
        let (subject, keys) = ("signIn.oidc", "the keys of \(oidc.url.text)")
        do {
            let egress = try oidc.isDirect ? Egress() : self.configuration.egress
            let setup = try IssuerSetup(oidc, apps: self.configuration.apps, on: loop, egress: egress)
            let finding: Finding
            do {
                if online { _ = try await setup.makeService(logger: .silent).read() }
                finding = Finding(.ok, subject, online ? "\(keys) can be read" : "the settings can be used")
            } catch {
                finding = Finding(.fail, subject, "\(keys) cannot be read: \(error)")
            }
            await setup.close()
            return [finding]
        } catch {
            return [Finding(.fail, subject, "\(error)")]
        }
    }

    /// Checks whether the files for the collector of spans can be used; with `online`, whether the
    /// collector can be reached.
    func tracing(on loop: EventLoop, online: Bool) async -> [Finding] {
        guard let tracing = self.configuration.tracing else { return [] }
        do {
            await (try SpanExport(tracing, SpanRecorder(sampling: 0), on: loop)).close()
            let finding = Finding(.ok, "tracing", "the files for the collector can be used")
            guard online else { return [finding] }
            let (url, caFile) = (tracing.url, tracing.caFile)
            let settings = HTTPClientSettings {
                ($0.caFile, $0.allowsPlainHTTP, $0.addresses) = (caFile, !url.isSecure, .any)
            }
            return [finding]
                + (await SenderConfiguration.reach(url.text, settings, subject: "tracing", on: loop, now: self.present))
        } catch {
            return [Finding(.fail, "tracing", "\(error)")]
        }
    }
}
