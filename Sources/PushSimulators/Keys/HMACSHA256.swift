internal import COpenSSL

/// HMAC with SHA-256, RFC 2104.
enum HMACSHA256 {
    static func code(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        HMAC(EVP_sha256(), key, Int32(clamping: key.count), message, message.count, &code, &count)
        return code
    }
}
