/// The ASCII classes of a byte; a byte of 128 or above is in none.
///
/// Inlinable, because parsers check each byte.
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

    /// A printing character other than the blank: `VCHAR` of RFC 5234.
    @inlinable package var isVisible: Bool { self &- 0x21 < 94 }

    /// A printing character or a blank.
    @inlinable package var isPrintable: Bool { self &- 0x20 < 95 }

    /// An ASCII control character, including tab and line end.
    @inlinable package var isControl: Bool { self < 0x20 || self == 0x7F }

    /// Blank or tab.
    @inlinable package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// The lower-case letter of `A` to `Z`; any other byte unchanged.
    @inlinable package var lowercased: UInt8 { self.isUppercaseLetter ? self | 0x20 : self }
}
