internal import COpenSSL
internal import Glibc

/// Reads the times of certificates.
enum X509Time {
    /// When a certificate's validity ends, in seconds since 1970.
    static func end(of certificate: Owned) -> Int64? {
        guard let end = X509_get0_notAfter(certificate.pointer) else { return nil }
        var time = tm()
        guard ASN1_TIME_to_tm(end, &time) == 1 else { return nil }
        return Int64(timegm(&time))
    }
}
