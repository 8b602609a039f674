package import PushCore

/// Sends to the event streams that devices hold open at this server, without a provider.
///
/// A push counts as accepted when the kernel has accepted the event for the socket of the device's
/// newest stream. If the connection is lost after that, the device reconnects with
/// `Last-Event-ID`. No wait is longer than the stream's `writeTimeout`.
package struct StreamSender: PushSender {
    private let hub: StreamHub
    private let sendsLooks: Bool

    /// If `sendsLooks` is `true`, the pushes are looks, which show nothing and make a device fetch
    /// changes.
    package init(_ hub: StreamHub, sendsLooks: Bool = false) {
        self.hub = hub
        self.sendsLooks = sendsLooks
    }

    package func send(_ push: Push) async throws(SendFailure) -> Acceptance {
        let device: DeviceHandle
        do throws(HandleFlaw) {
            device = try StreamHandleRule().address(push.handle)
        } catch {
            throw .rejected(reason: "not a device handle")
        }
        switch await self.hub.deliver(push.notification, isLook: self.sendsLooks, to: device) {
        case .handedOver: return Acceptance(providerID: Acceptance.byStream)
        case .nobodyThere: throw .offline(reason: "no event stream is open")
        case .full: throw .deviceBusy(reason: "the event stream is full", retryAfter: self.hub.retryDelay(of: device))
        }
    }
}
