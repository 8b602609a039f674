// Declarations only: see README.md in this folder.
// swift-format-ignore-file
public import Foundation

open class BGTaskRequest: NSObject {
    public var earliestBeginDate: Date?
}

public final class BGAppRefreshTaskRequest: BGTaskRequest {
    public init(identifier: String) {}
}

public final class BGTaskScheduler: NSObject, Sendable {
    public static let shared = BGTaskScheduler()

    public func submit(_ taskRequest: BGTaskRequest) throws {}
}
