/// An object of OpenSSL's, given back with the last reference.
///
/// `@unchecked Sendable`: only for what is not changed once it is shared, which OpenSSL allows any thread to use then.
final class Owned: @unchecked Sendable {
    let pointer: OpaquePointer
    private let free: (OpaquePointer?) -> Void

    init(_ pointer: OpaquePointer, _ free: @escaping (OpaquePointer?) -> Void) {
        self.pointer = pointer
        self.free = free
    }

    deinit {
        self.free(self.pointer)
    }
}
