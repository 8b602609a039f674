internal import COpenSSL
internal import Glibc

/// Reads the times of certificates.
enum X509Time {
    /// The validity of the certificate that expires first; `nil` if none can be read.
    static func first(of certificates: [Owned]) -> TLSValidity? {
        certificates.compactMap(self.validity).min { $0.end < $1.end }
    }

    /// The end of a revocation list's validity, in seconds since 1970; `nil` if the list does not
    /// state it.
    static func nextUpdate(of list: Owned) -> Int64? {
        X509_CRL_get0_nextUpdate(list.pointer).flatMap(self.seconds)
    }

    private static func validity(of certificate: Owned) -> TLSValidity? {
        guard
            let start = X509_get0_notBefore(certificate.pointer).flatMap(self.seconds),
            let end = X509_get0_notAfter(certificate.pointer).flatMap(self.seconds)
        else { return nil }
        return TLSValidity(start: start, end: end)
    }

    private static func seconds(_ text: UnsafePointer<ASN1_TIME>) -> Int64? {
        var time = tm()
        guard ASN1_TIME_to_tm(text, &time) == 1 else { return nil }
        return Int64(timegm(&time))
    }
}
