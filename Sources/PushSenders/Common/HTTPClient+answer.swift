internal import CurlHTTP
internal import PushCore

extension HTTPClient {
    /// Sends a request; a call without an answer is sorted for the push.
    func answer(to request: OutboundRequest) async throws(SendFailure) -> OutboundResponse {
        do throws(OutboundError) {
            return try await self.send(request)
        } catch {
            throw SendFailure(error)
        }
    }
}

extension SendFailure {
    /// What a call without an answer means for the push.
    init(_ error: OutboundError) {
        switch error {
        case .badRequest, .hostNotAllowed, .refusedAddress:
            self = .rejected(reason: error.description)
        case .couldNotConnect, .tls, .timedOut, .interrupted, .responseTooLarge, .overloaded, .cancelled, .closed:
            self = .unavailable(reason: error.description)
        }
    }
}
