/// The time in which a certificate is valid, in seconds since 1970.
package struct TLSValidity: Sendable, Hashable {
    package let start: Int64
    package let end: Int64
}
