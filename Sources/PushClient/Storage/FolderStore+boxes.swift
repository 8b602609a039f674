internal import Foundation

/// The boxes of a folder. A box begins with the number of its entries, and a list of their ids and
/// lengths. The list and each entry are encrypted on their own, so a reader decrypts one entry.
///
/// The creation of files takes most of the time of a first sync, so its entries share files. A box
/// never changes. Before one of its entries is deleted, the others get files of their own.
extension FolderStore {
    var boxSize: Int { self.limits.box }

    func createBox(_ entries: [(name: EntryName, value: Data)], in folder: AccountFolder) throws -> Bool {
        guard let box = entries.first?.name.box else { preconditionFailure("an entry of a box has an odd nonce") }
        try self.make(self.entries(folder), of: folder)
        let file = self.entry(box, folder)
        var (list, contents) = (ByteWriter(), Data())
        for (name, value) in entries {
            let sealed = try self.seal(value, bound: "\(self.place(of: file, folder))/\(name.id)")
            list.fixed(UInt64(bitPattern: name.id))
            list.fixed(UInt64(sealed.count))
            contents += sealed
        }
        let head = try self.seal(list.bytes, bound: self.place(of: file, folder))
        do {
            try NewFile.create(file, Data([UInt8(entries.count)]) + head + contents, isSynced: false)
            return true
        } catch let error as CocoaError where error.code == .fileWriteFileExists {
            return false
        }
    }

    /// Opens a box; a box that is missing or damaged has no entries.
    func open(_ box: EntryName, in folder: AccountFolder) throws -> OpenBox {
        let file = self.entry(box, folder)
        var opened = OpenBox(name: box, place: self.place(of: file, folder))
        // The whole box need not be in memory.
        guard var rest = try Self.read(file, .alwaysMapped), let count = rest.popFirst() else { return opened }
        let head = rest.prefix(Int(count) * 16 + 28)
        rest = rest.dropFirst(head.count)
        guard let list = try? self.open(head, bound: opened.place) else { return opened }
        for offset in stride(from: 0, to: list.count, by: 16) {
            let (id, length) = list.withUnsafeBytes { bytes in
                (
                    Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self)),
                    Int(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: Int.self))
                )
            }
            opened.entries[id] = rest.prefix(length)
            rest = rest.dropFirst(length)
        }
        return opened
    }

    /// Returns `nil` if the box has no such entry, or the entry is damaged.
    func read(_ id: Int64, from box: OpenBox) -> Data? {
        box.entries[id].flatMap { try? self.open($0, bound: "\(box.place)/\(id)") }
    }

    func removeEntries(_ names: [EntryName], besides others: [EntryName], in folder: AccountFolder) {
        for name in names { self.removeEntry(name, in: folder) }
        for box in Self.boxes(of: names).keys {
            self.unpack(box, keeping: others.filter { $0.box == box }, in: folder)
        }
    }

    /// Gives the named entries of a box files of their own, and removes the box.
    ///
    /// Other processes may do the same at the same time. If a file cannot be written, the box
    /// stays until a later sweep.
    func unpack(_ box: EntryName, keeping names: [EntryName], in folder: AccountFolder) {
        let file = self.entry(box, folder)
        guard Self.isThere(file) else { return }
        do {
            let opened = try self.open(box, in: folder)
            for name in names {
                guard let value = self.read(name.id, from: opened) else { continue }
                let own = self.entry(name, folder)
                _ = try self.createAtOnce(own, value, in: folder, isSynced: false)
                // Another process may have removed the unfinished file as a leftover.
                guard Self.isThere(own) else { return }
            }
            Self.remove(file)
        } catch {
            // A later sweep tries again.
        }
    }

    /// The named entries that were created in boxes, by their boxes.
    static func boxes(of names: [EntryName]) -> [EntryName: [EntryName]] {
        var boxes: [EntryName: [EntryName]] = [:]
        for name in names { if let box = name.box { boxes[box, default: []].append(name) } }
        return boxes
    }
}

/// A box whose list of entries is decrypted.
struct OpenBox {
    let name: EntryName
    /// The text that binds the box's content to its place.
    let place: String
    /// The encrypted entries by their ids.
    var entries: [Int64: Data] = [:]
}
