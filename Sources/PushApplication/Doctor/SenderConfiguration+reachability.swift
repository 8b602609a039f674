import CurlHTTP
import Foundation
import Glibc
import PushCore
import PushDelivery
import PushSenders
import Reactor

extension SenderConfiguration {
    /// Sends a request to each endpoint of the sender. Any answer shows that the host's name
    /// resolves, that the network reaches the host, and that its certificate is trusted. The
    /// answer's field `Date` shows whether the clocks agree.
    func reachability(
        name: Platform,
        on loop: EventLoop,
        through proxy: OutboundProxy?,
        now: @escaping @Sendable () -> Date
    ) async -> [Finding] {
        let settings = HTTPClientSettings { ($0.caFile, $0.addresses, $0.proxy) = (self.caFile, .any, proxy) }
        // Google's metadata server speaks plain HTTP, and calls to it bypass the proxy.
        let direct = HTTPClientSettings { ($0.caFile, $0.allowsPlainHTTP, $0.addresses) = (self.caFile, true, .any) }
        return await self.endpoints.mapAtOnce { endpoint in
            let isPlain = endpoint.hasPrefix("http:")
            return await Self.reach(
                endpoint,
                isPlain ? direct : settings,
                subject: name.configurationKey,
                on: loop,
                now: now
            )
        }.flatMap { $0 }
    }

    /// The endpoints that the operator has configured. Endpoints in devices' handles are unknown
    /// before a device registers.
    private var endpoints: [String] {
        switch self {
        case .apns(let apns): [apns.endpoint] + (apns.sandbox.map { [$0.endpoint] } ?? [])
        case .fcm(let fcm): [fcm.endpoint, fcm.usedTokenEndpoint]
        case .wns(let wns): [wns.tokenEndpoint ?? wns.usualTokenEndpoint]
        case .webhook(let webhook): [webhook.url]
        case .webPush, .stream: []
        }
    }

    /// Sends a push to a handle that no device has, through each lane (queue of pushes to one
    /// provider). The provider's refusal shows whether it accepts the credentials. Empty for a
    /// provider where such a push shows nothing.
    func trial(of setup: SenderSetup, name: Platform, now: Date) async -> [Finding] {
        guard let handle = self.unknownHandle, let id = NotificationID(rawValue: 1) else { return [] }
        let push = Push(notification: id, handle: handle, attemptID: UUID(), expiresAt: now + 60)
        return await setup.lanes.filter { !$0.lane.isOfLooks }.mapAtOnce { lane in
            let subject = name.configurationKey
            guard case .failure(let failure) = await lane.sender.outcome(of: push) else {
                return Finding(.ok, subject, "the provider accepts the credentials of the lane \(lane.lane)")
            }
            switch failure {
            case .deviceGone, .deviceUnknown, .deviceBusy, .rejected:
                return Finding(.ok, subject, "the provider accepts the credentials of the lane \(lane.lane)")
            case .misconfigured, .credentialExpired, .credentialRefused, .deviceNotFound, .kindRefused:
                let text = "the provider refuses the credentials of the lane \(lane.lane): \(failure.reason)"
                return Finding(.fail, subject, text)
            case .unavailable, .overloaded, .offline:
                let text = "the provider has not checked the credentials of the lane \(lane.lane): \(failure.reason)"
                return Finding(.warn, subject, text)
            }
        }
    }

    /// A handle that no device has. `nil` if a push to it would reach a receiver, or if only a
    /// device's handle names the host.
    private var unknownHandle: String? {
        switch self {
        case .apns: String(repeating: "0", count: 64)
        case .fcm: "sealpost-doctor"
        case .wns, .webhook, .webPush, .stream: nil
        }
    }

    /// Says which kind of credentials can be used. Adds a warning if the file with a federation's
    /// subject token cannot be read on this machine.
    func credentialFindings(name: Platform) throws -> [Finding] {
        let key = name.configurationKey
        if self.isStream { return [Finding(.ok, key, "needs no credentials")] }
        guard case .fcm(let fcm) = self else { return [Finding(.ok, key, "the credentials can be used")] }
        let credentials = try fcm.readCredentials(key: "\(key).serviceAccount")
        let usable = Finding(.ok, key, "\(credentials.kind) can be used")
        guard let file = credentials.subjectTokenFile, access(file, R_OK) != 0 else { return [usable] }
        let reason = String(cString: strerror(errno))
        return [usable, Finding(.warn, key, "the subject token in \(file) cannot be read: \(reason)")]
    }

    /// A warning if the pushes cannot have the badge that the configuration asks for.
    func badgeFinding(name: Platform) -> Finding? {
        guard case .apns(let apns) = self, apns.sendsUnread else { return nil }
        if case .alert = apns.envelope { return nil }
        let text = "unread has no effect: only pushes with envelope: alert have a badge; set envelope, or remove badge"
        return Finding(.warn, "\(name.configurationKey).badge", text)
    }

    /// The file of the authorities that sign the provider's certificate; `nil`: the system's.
    var caFile: String? {
        switch self {
        case .apns(let apns): apns.caFile
        case .fcm(let fcm): fcm.caFile
        case .wns(let wns): wns.caFile
        case .webhook(let webhook): webhook.caFile
        case .webPush(let webPush): webPush.caFile
        case .stream: nil
        }
    }

    static func reach(
        _ endpoint: String,
        _ settings: HTTPClientSettings,
        subject: String,
        on loop: EventLoop,
        now: @Sendable () -> Date
    ) async -> [Finding] {
        guard let url = OutboundURL(endpoint) else { return [Finding(.fail, subject, "\(endpoint) is not a URL")] }
        do throws(OutboundError) {
            let client = try HTTPClient(settings, on: loop)
            let response: OutboundResponse
            do throws(OutboundError) {
                response = try await client.send(OutboundRequest(.get, url, timeout: .seconds(10)))
            } catch {
                await client.close()
                throw error
            }
            await client.close()
            let clock = ClockDifference(response, now: now()).map { difference in
                let text = "is \(difference.text) that of \(url.host), which may refuse tokens; set the clock"
                return Finding(difference.isRefused ? .fail : .warn, "clock", text)
            }
            return [Finding(.ok, subject, "\(endpoint) answers with \(response.status)")] + (clock.map { [$0] } ?? [])
        } catch {
            return [Finding(.fail, subject, "\(endpoint) cannot be reached: \(error)")]
        }
    }
}

extension SenderConfiguration.FCM {
    /// The endpoint that issues access tokens. If the credentials' file cannot be read, this is
    /// Google's default endpoint; another check reports the file.
    fileprivate var usedTokenEndpoint: String {
        let credentials = (try? self.readCredentials(key: "serviceAccount")) ?? .file(Secret(""))
        return credentials.tokenEndpoint(self.tokenEndpoint)
    }
}
