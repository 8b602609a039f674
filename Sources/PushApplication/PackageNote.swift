import Foundation

/// The note about an executable's origin that the linker has written into the executable: a JSON
/// object of texts.
///
/// `make release` writes the note with `--package-metadata`, and `readelf --notes` and
/// `coredumpctl` show it, too. https://systemd.io/PACKAGE_METADATA_FOR_EXECUTABLE_FILES describes
/// its form. Only little-endian ELF files of 64 bits are read.
struct PackageNote: Hashable {
    /// The members of the JSON object.
    let values: [String: String]

    /// The note of the running program; `nil` if the program has none, or if it cannot be read.
    static var ofThisProgram: PackageNote? {
        // The file is mapped rather than read, since only a few pages of a large file are needed.
        let program = try? Data(contentsOf: URL(fileURLWithPath: "/proc/self/exe"), options: .alwaysMapped)
        return program.flatMap { PackageNote(in: $0) }
    }

    /// Reads the note in a file; `nil` if the file has no such note, or is not a little-endian ELF
    /// file of 64 bits.
    init?(in file: Data) {
        guard file.prefix(6).elementsEqual([0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { return nil }
        guard let table = file.number(at: 32, bytes: 8), let size = file.number(at: 54, bytes: 2),
            let count = file.number(at: 56, bytes: 2)
        else { return nil }
        for index in 0..<count {
            guard let segment = Self.notes(file, segment: table.addingReportingOverflow(index * size).partialValue),
                let json = Self.description(in: segment)
            else { continue }
            // All values must be texts. A note with other values is not of the expected form.
            guard let values = try? JSONDecoder().decode([String: String].self, from: json) else { return nil }
            self.values = values
            return
        }
        return nil
    }

    // MARK: - Private

    /// The type `PT_NOTE` of a segment (elf(5)).
    private static let noteSegment = 4
    /// The owner "FDO" with its NUL byte, and the type of the note.
    private static let owner = Array("FDO\0".utf8)
    private static let type = 0xCAFE_1A7E

    /// The bytes of a segment of notes; `nil` if the program header at `segment` describes another
    /// kind of segment.
    private static func notes(_ file: Data, segment: Int) -> Data? {
        guard segment >= 0, file.number(at: segment, bytes: 4) == Self.noteSegment,
            let start = file.number(at: segment, 8, bytes: 8), let size = file.number(at: segment, 32, bytes: 8),
            start <= file.count, size <= file.count - start
        else { return nil }
        return file.dropFirst(start).prefix(size)
    }

    /// The content of the note with the owner `owner` and the type `type`.
    private static func description(in segment: Data) -> Data? {
        var rest = segment
        while let nameSize = rest.number(at: 0, bytes: 4), let size = rest.number(at: 4, bytes: 4),
            let type = rest.number(at: 8, bytes: 4)
        {
            let name = rest.dropFirst(12).prefix(nameSize)
            rest = rest.dropFirst(12 + self.padded(nameSize))
            if type == self.type, name.elementsEqual(self.owner) { return rest.prefix { $0 != 0 }.prefix(size) }
            rest = rest.dropFirst(self.padded(size))
        }
        return nil
    }

    private static func padded(_ size: Int) -> Int { (size + 3) & ~3 }
}

extension Data {
    /// A little-endian number; `nil` if its bytes are beyond the end, or if it is too large for
    /// `Int`.
    fileprivate func number(at place: Int, _ offset: Int = 0, bytes: Int) -> Int? {
        let (start, isTooFar) = place.addingReportingOverflow(offset)
        guard !isTooFar, start >= 0, start <= self.count else { return nil }
        let found = self.dropFirst(start).prefix(bytes)
        guard found.count == bytes else { return nil }
        return Int(exactly: found.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
