/// What a byte is in ASCII; one of 128 or above is nothing of it.
///
/// Inlinable, because parsers ask it of each byte.
extension UInt8 {
    /// `0` to `9`.
    @inlinable package var isDigit: Bool { self &- 0x30 < 10 }

    /// `a` to `z`.
    @inlinable package var isLowercaseLetter: Bool { self &- 0x61 < 26 }

    /// `A` to `Z`.
    @inlinable package var isUppercaseLetter: Bool { self &- 0x41 < 26 }

    /// `a` to `z` and `A` to `Z`.
    @inlinable package var isLetter: Bool { (self | 0x20).isLowercaseLetter }

    /// A letter or a digit.
    @inlinable package var isLetterOrDigit: Bool { self.isLetter || self.isDigit }

    /// All that prints, but no blank: `VCHAR` of RFC 5234.
    @inlinable package var isVisible: Bool { self &- 0x21 < 94 }

    /// All that prints, blanks too.
    @inlinable package var isPrintable: Bool { self &- 0x20 < 95 }

    /// A control character of ASCII, so also a tab or a line's end.
    @inlinable package var isControl: Bool { self < 0x20 || self == 0x7F }

    /// Blank or tab.
    @inlinable package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// A letter from `A` to `Z` as the small one, any other byte as it is.
    @inlinable package var lowercased: UInt8 { self.isUppercaseLetter ? self | 0x20 : self }
}
