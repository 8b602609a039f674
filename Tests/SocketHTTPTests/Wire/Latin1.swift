extension String {
    /// One byte for each character up to U+00FF, so that a literal can contain any bytes:
    /// `"\r\n\u{0}\u{ff}"`.
    var latin1: [UInt8] {
        self.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    init(latin1 bytes: some Sequence<UInt8>) {
        self = String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
    }
}
