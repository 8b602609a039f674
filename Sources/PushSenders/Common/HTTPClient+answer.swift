internal import CurlHTTP
internal import PushCore

extension HTTPClient {
    /// Sends a request, and turns a call without an answer into a `SendFailure`.
    ///
    /// - Parameters:
    ///   - host: The allowed pattern that the host matches, if a device has named the host; `nil`
    ///     if the operator has named it.
    ///   - named: Makes the call if `host` is a wildcard, within the limits of `HostTrials`.
    func answer(
        to request: OutboundRequest,
        at host: HostPattern? = nil,
        within named: NamedHosts? = nil
    ) async throws(SendFailure) -> OutboundResponse {
        if let host, host.isWildcard, let named { return try await named.answer(to: request, at: host, by: self) }
        do throws(OutboundError) {
            return try await self.send(request)
        } catch {
            throw SendFailure(error, at: host)
        }
    }
}

extension SendFailure {
    /// The delay before a retry if a host that matches only a wildcard has not answered.
    private static let namedHostDelay = Duration.seconds(60)
    /// The delay before a retry if a host that matches only a wildcard has answered with a server
    /// error.
    private static let failingHostDelay = Duration.seconds(1)

    /// The failure of a push if a call to `host` had no answer.
    ///
    /// A device can name any host under a wildcard, even one that never existed or never answers.
    /// A call to such a host must not count as an outage that concerns other devices.
    init(_ error: OutboundError, at host: HostPattern? = nil) {
        let isNamed = host?.isWildcard ?? false
        switch error {
        case .couldNotConnect where isNamed, .tls where isNamed, .timedOut where isNamed, .interrupted where isNamed,
            .responseTooLarge where isNamed:
            self = .deviceBusy(reason: error.description, retryAfter: Self.namedHostDelay)
        case .badRequest, .hostNotAllowed, .refusedAddress:
            self = .rejected(reason: error.description)
        case .couldNotConnect, .tls, .timedOut, .interrupted, .responseTooLarge, .overloaded, .cancelled, .closed:
            self = .unavailable(reason: error.description)
        }
    }

    /// The failure of a push if `host` has answered with this failure.
    ///
    /// If `host` matches only a wildcard, it may be any host of that domain, so its answer counts
    /// only for the device that has named it. The answer can neither pause the provider's lane
    /// (its queue of pushes) nor count as a refusal of the server's credentials. If such hosts
    /// delay the devices of several users in a row, `SenderHealth` pauses the lane anyway.
    /// `credentialExpired` is returned unchanged, because the sender itself must react to it
    /// first.
    func counted(at host: HostPattern?) -> SendFailure {
        guard let host, host.isWildcard else { return self }
        return switch self {
        case .overloaded(let reason, let retryAfter): .deviceBusy(reason: reason, retryAfter: retryAfter)
        case .misconfigured(let reason), .credentialRefused(let reason):
            .deviceBusy(reason: reason, retryAfter: Self.namedHostDelay)
        case .unavailable(let reason, let retryAfter, _):
            .deviceBusy(reason: reason, retryAfter: retryAfter ?? Self.failingHostDelay)
        case .deviceBusy, .offline, .deviceGone, .deviceUnknown, .deviceNotFound, .rejected, .kindRefused,
            .credentialExpired:
            self
        }
    }
}
