internal import Crypto
internal import Foundation

/// The registration of this device, as the server last accepted it.
struct KeptRegistration: Codable, Sendable, Hashable {
    let id: String
    /// A digest of platform, environment, handle, sharing and tags, which tells whether they have changed and reveals nothing of them.
    let fingerprint: Data
    let date: Date

    static func fingerprint(platform: String, handle: String, tags: [String], isSandbox: Bool, isShared: Bool) -> Data {
        var hash = SHA256()
        // No platform's name has a slash.
        let place = platform + (isSandbox ? "/sandbox" : "") + (isShared ? "/shared" : "")
        for text in [place, handle] + tags.sorted() {
            // The length in front separates the texts: any separator may occur in one.
            hash.update(data: Data("\(text.utf8.count):\(text)".utf8))
        }
        return Data(hash.finalize())
    }
}
