// Declarations only: see README.md in this folder.
// swift-format-ignore-file
import Foundation

// Declarations that Foundation has on Apple's systems only.
extension URL {
    static var applicationSupportDirectory: URL { fatalError() }
}

extension FileManager {
    func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}
