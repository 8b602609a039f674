internal import CurlHTTP
internal import PushCore

extension HTTPClient {
    /// Sends a request; a call without an answer is sorted for the push.
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
    /// A host that only its device has named, and that does not answer, is asked again after this.
    private static let restOfNamedHost = Duration.seconds(60)

    /// What a call without an answer means for the push.
    ///
    /// A name under a star is the device's invention, perhaps of a host that never was: that it does not answer must
    /// not count as an outage of the others'.
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
