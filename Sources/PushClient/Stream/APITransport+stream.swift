internal import Foundation
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

extension APITransport {
    /// Opens the event stream of a device, which continues after the event `last`, and checks the
    /// head.
    ///
    /// A stream is not signed. The echo of `MyToken` in its head shows that it answers this
    /// request, and the notifications that the client fetches for the stream's ids are signed. A
    /// refusal of the server is checked like all answers, and thrown.
    func open(_ device: String, after last: String?) async throws -> EventChannel {
        var request = APIRequest("GET", Paths.stream, isRepeatable: false)
        request.query = [URLQueryItem(name: "device", value: device)]
        request.isStream = true
        request.lastEvent = last
        var opened: EventChannel?
        _ = try await self.signedIn { authorization in
            let channel = EventChannel()
            do {
                let asked = try await self.ask(request, authorization, into: channel)
                if asked.answer.status == 200 { opened = channel }
                return asked
            } catch {
                // The head may have arrived after the deadline.
                channel.cancel()
                throw error
            }
        }
        guard let opened else { throw PushClientError.offline(.badServerResponse) }
        return opened
    }
}

extension HTTPURLResponse {
    /// Whether the answer's body consists of server-sent events.
    var isEventStream: Bool {
        let type = self.value(forHTTPHeaderField: "Content-Type")?.prefix { $0 != ";" && $0 != " " }
        return type?.lowercased() == "text/event-stream"
    }
}
