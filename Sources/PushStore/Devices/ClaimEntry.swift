/// The push that carries the code of a handle that a device has claimed, as operators see it.
package struct ClaimEntry: Sendable, Hashable {
    /// The number of the device that has claimed the handle.
    package let device: Int64
    package let push: DeliveryEntry

    package init(device: Int64, push: DeliveryEntry) {
        self.device = device
        self.push = push
    }
}
