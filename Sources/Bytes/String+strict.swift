extension String {
    /// Decodes UTF-8; `nil` if the bytes are invalid.
    package init?(strict bytes: [UInt8]) {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            self.init(validating: bytes, as: UTF8.self)
        } else {
            self.init(compared: bytes)
        }
    }

    /// Decodes UTF-8 on systems without `validating`; `nil` if the bytes are invalid.
    package init?(compared bytes: [UInt8]) {
        self.init(decoding: bytes, as: UTF8.self)
        // Decoding replaces each invalid sequence by U+FFFD.
        guard self.utf8.elementsEqual(bytes) else { return nil }
    }
}
