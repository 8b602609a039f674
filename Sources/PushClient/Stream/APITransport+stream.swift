internal import Foundation
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

extension APITransport {
    /// Opens the event stream of a device, after the last event that it has; the head is checked.
    ///
    /// A stream is not signed: its echo tells whose it is, and what is fetched for its ids is
    /// signed. Refusals are checked as all answers are, and thrown.
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
                // Its head may have come too late.
                channel.cancel()
                throw error
            }
        }
        guard let opened else { throw URLError(.badServerResponse) }
        return opened
    }
}

extension HTTPURLResponse {
    /// Whether its body is server-sent events.
    var isEventStream: Bool {
        let type = self.value(forHTTPHeaderField: "Content-Type")?.prefix { $0 != ";" && $0 != " " }
        return type?.lowercased() == "text/event-stream"
    }
}
