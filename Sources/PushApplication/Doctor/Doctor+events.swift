import CurlHTTP
import PushCore
import PushSenders
import Reactor

extension Doctor {
    /// Whether the receiver of events is configured well, and can be reached.
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

    /// Whether the files that the collector of spans needs can be used.
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
