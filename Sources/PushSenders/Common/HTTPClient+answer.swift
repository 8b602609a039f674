internal import CurlHTTP
internal import PushCore

extension HTTPClient {
    /// Sends a request, and turns a call without an answer into a `SendFailure`.
    ///
    /// `host`: the pattern by which a device may name the host; `nil` if the operator has named it.
    func answer(to request: OutboundRequest, at host: HostPattern? = nil) async throws(SendFailure) -> OutboundResponse
    {
        do throws(OutboundError) {
            return try await self.send(request)
        } catch {
            throw SendFailure(error, at: host)
        }
    }
}

extension SendFailure {
    /// The wait before a host that only its device has named, and that cannot be connected to, is tried again.
    private static let restOfNamedHost = Duration.seconds(60)

    /// The failure of a call without an answer.
    ///
    /// A device can invent a name under a wildcard, and the host may never have existed: a failure to connect to it
    /// must not count as an outage for the other devices.
    init(_ error: OutboundError, at host: HostPattern? = nil) {
        switch error {
        case .couldNotConnect where host?.isWildcard == true, .tls where host?.isWildcard == true:
            self = .deviceBusy(reason: error.description, retryAfter: Self.restOfNamedHost)
        case .badRequest, .hostNotAllowed, .refusedAddress:
            self = .rejected(reason: error.description)
        case .couldNotConnect, .tls, .timedOut, .interrupted, .responseTooLarge, .overloaded, .cancelled, .closed:
            self = .unavailable(reason: error.description)
        }
    }
}
