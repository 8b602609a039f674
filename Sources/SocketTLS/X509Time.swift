internal import COpenSSL
internal import Glibc

/// Reads the times of certificates.
enum X509Time {
    /// The end of a certificate's validity, in seconds since 1970.
    static func end(of certificate: Owned) -> Int64? {
        X509_get0_notAfter(certificate.pointer).flatMap(self.seconds)
    }

    /// The end of a revocation list, in seconds since 1970; `nil` if the list does not state it.
    static func nextUpdate(of list: Owned) -> Int64? {
        X509_CRL_get0_nextUpdate(list.pointer).flatMap(self.seconds)
    }

    private static func seconds(_ text: UnsafePointer<ASN1_TIME>) -> Int64? {
        var time = tm()
        guard ASN1_TIME_to_tm(text, &time) == 1 else { return nil }
        return Int64(timegm(&time))
    }
}
