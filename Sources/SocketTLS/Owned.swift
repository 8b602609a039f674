/// An OpenSSL object, freed with the last reference.
///
/// `@unchecked Sendable`: this type is only for objects that do not change while they are shared,
/// and OpenSSL allows any thread to use such objects.
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
