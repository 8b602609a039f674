import Foundation

/// A published test vector: lines of `name = value` under a line in brackets, in NIST's format.
struct Vector {
    let section: String
    fileprivate(set) var fields: [String: String] = [:]

    struct Missing: Error {
        let name: String
    }

    func text(_ name: String) throws -> String {
        guard let text = self.fields[name] else { throw Missing(name: "\(self.section) \(name)") }
        return text
    }

    func bytes(_ name: String) throws -> Data {
        guard let bytes = Data(hexadecimal: try self.text(name)) else { throw Missing(name: "\(self.section) \(name)") }
        return bytes
    }

    func number(_ name: String) throws -> Int {
        guard let number = Int(try self.text(name)) else { throw Missing(name: "\(self.section) \(name)") }
        return number
    }
}

extension Vector {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")

    /// Returns a file of the Python package `cryptography-vectors`, which
    /// scripts/make-test-environment installs.
    static func file(_ path: String) throws -> Data {
        let libraries = self.root.appending(path: ".venv-test/lib")
        let pythons = try FileManager.default.contentsOfDirectory(atPath: libraries.path)
        guard let python = pythons.first(where: { $0.hasPrefix("python3") }) else { throw Missing(name: "python3") }
        return try Data(
            contentsOf: libraries.appending(path: "\(python)/site-packages/cryptography_vectors/\(path)")
        )
    }

    /// Reads the vectors of a file of `cryptography-vectors`. A vector ends at an empty line. With
    /// `last`, it ends at the first empty line after the name `last`.
    static func read(_ path: String, upTo last: String? = nil) throws -> [Vector] {
        self.all(in: try self.file(path), upTo: last)
    }

    /// Reads the vectors that were selected from one of Wycheproof's files.
    static func wycheproof(_ section: String) throws -> [Vector] {
        let file = self.root.appending(path: "Tests/Differential/wycheproof.txt")
        let vectors = self.all(in: try Data(contentsOf: file)).filter { $0.section == section }
        guard !vectors.isEmpty else { throw Missing(name: section) }
        return vectors
    }

    private static func all(in file: Data, upTo last: String? = nil) -> [Vector] {
        var vectors: [Vector] = []
        var next = Vector(section: "")
        func end(_ section: String) {
            if !next.fields.isEmpty { vectors.append(next) }
            next = Vector(section: section)
        }
        for line in file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let line = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
            if line.hasPrefix("#") { continue }
            if line.isEmpty {
                if last.map({ next.fields[$0] != nil }) ?? true { end(next.section) }
            } else if line.hasPrefix("[") {
                end(line.dropFirst().prefix { $0 != "]" }.description)
            } else {
                let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                if let name = parts.first { next.fields[name] = parts.count == 2 ? parts[1] : "" }
            }
        }
        end("")
        return vectors
    }
}

extension Data {
    /// Fails unless the text consists of pairs of hexadecimal digits.
    init?(hexadecimal text: String) {
        let digits = text.utf8.map { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            default: nil
            }
        }
        guard digits.count.isMultiple(of: 2) else { return nil }
        self.init(capacity: digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            self.append(high << 4 | low)
        }
    }
}
