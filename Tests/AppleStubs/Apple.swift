// Declarations alone: see README.md here.
// swift-format-ignore-file
import Foundation

// What Foundation has on Apple's systems only.
extension URL {
    static var applicationSupportDirectory: URL { fatalError() }
}

extension FileManager {
    func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}
