internal import Cryptography
internal import Foundation
internal import Glibc
internal import PushCore
internal import PushStore

/// The keyed hash at the end of a backup: HMAC-SHA-256 over all bytes before it, with a key from
/// the keyring.
///
/// The hash follows the last page, where SQLite does not read. `vacuum into` does not copy it.
enum BackupHash {
    private static let mark = Array("sealpost backup\n".utf8)
    private static let codeLength = SHA256.byteCount
    private static let pieceLength = 1 << 20

    /// The length in bytes of the mark (a fixed text), the key's number (four bytes) and the keyed
    /// hash together.
    private static var length: Int { mark.count + 4 + codeLength }

    /// Appends the hash to a file that does not have one, and syncs the file. Throws `StoreError`.
    static func add(toFile path: String, _ keyring: Keyring) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0, let key = keyring.backupKey(of: keyring.sealing) else { throw .ofSystem(path) }
        defer { close(descriptor) }
        let end = Int(lseek(descriptor, 0, SEEK_END))
        let number = withUnsafeBytes(of: keyring.sealing.bigEndian) { Array($0) }
        let code = try self.code(of: path, descriptor, upTo: end, key) { _ in }
        let bytes = self.mark + number + Array(code)
        guard pwrite(descriptor, bytes, bytes.count, end) == bytes.count, fsync(descriptor) == 0 else {
            throw .ofSystem(path)
        }
    }

    /// Copies the backup without its hash to the beginning of `target`, an empty file.
    ///
    /// Verifies the bytes that it has copied, since another process may change the backup
    /// meanwhile. Throws `StoreError` if the backup has no hash, or if the hash does not match.
    static func copy(_ path: String, to target: Int32, _ keyring: Keyring) throws(StoreError) {
        // A FIFO has no end that could be found, so it is refused.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .ofSystem(path) }
        defer { close(descriptor) }
        let size = Int(lseek(descriptor, 0, SEEK_END))
        let end = size - self.length
        var trailer = [UInt8](repeating: 0, count: self.length)
        guard end > 0, pread(descriptor, &trailer, trailer.count, end) == trailer.count,
            trailer.starts(with: self.mark)
        else {
            guard self.hasAllPages(descriptor, size: size) else {
                throw .cannotOpen(
                    place: path,
                    reason: "it is not a complete database of sealpost: it was cut off, or is another file"
                )
            }
            let remedy = "if you trust it, as one of an earlier version, restore it with --without-hash"
            throw .cannotOpen(place: path, reason: "the backup has no keyed hash; \(remedy)")
        }
        let number = trailer[self.mark.count...].prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let key = keyring.backupKey(of: number) else {
            throw .wrongKeyring(reason: "the backup's keyed hash needs key \(number), which the keyring lacks")
        }
        let code = try self.code(of: path, descriptor, upTo: end, key) { (piece) throws(StoreError) in
            guard write(target, piece, piece.count) == piece.count else { throw .ofSystem(path) }
        }
        guard code == Data(trailer.suffix(self.codeLength)) else {
            throw .cannotOpen(
                place: path,
                reason: """
                    the backup's keyed hash does not match this keyring: the backup is of another server, whose keyring it needs, \
                    or the file was changed after the backup
                    """
            )
        }
    }

    /// Whether the file consists of a SQLite database, whose header (sqlite.org/fileformat.html)
    /// has the size and the number of its pages.
    private static func hasAllPages(_ descriptor: Int32, size: Int) -> Bool {
        var header = [UInt8](repeating: 0, count: 32)
        guard pread(descriptor, &header, header.count, 0) == header.count,
            header.starts(with: Array("SQLite format 3\0".utf8))
        else { return false }
        func number(_ bytes: Range<Int>) -> Int { header[bytes].reduce(0) { $0 << 8 | Int($1) } }
        // A page of 65,536 bytes has the number 1.
        let pageSize = number(16..<18)
        return size == (pageSize == 1 ? 65_536 : pageSize) * number(28..<32)
    }

    /// The keyed hash over the first `end` bytes. Also passes each piece of these bytes to `each`.
    private static func code(
        of path: String,
        _ descriptor: Int32,
        upTo end: Int,
        _ key: SymmetricKey,
        _ each: ([UInt8]) throws(StoreError) -> Void
    ) throws(StoreError) -> HMAC<SHA256>.MAC {
        var hash = HMAC<SHA256>(key: key)
        var position = 0
        while position < end {
            var piece = [UInt8](repeating: 0, count: min(self.pieceLength, end - position))
            guard pread(descriptor, &piece, piece.count, position) == piece.count else { throw .ofSystem(path) }
            hash.update(data: piece)
            try each(piece)
            position += piece.count
        }
        return hash.finalize()
    }
}
