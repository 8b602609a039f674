package import CResources

extension [UInt8] {
    /// The bytes of a file that is embedded in the executable.
    package init(_ file: CResource) {
        self.init(UnsafeBufferPointer(start: file.start, count: file.count))
    }
}
