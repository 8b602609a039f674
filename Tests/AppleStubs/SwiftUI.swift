// Declarations only: see README.md in this folder.
// swift-format-ignore-file
public import Foundation
@_exported public import UIKit

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

public struct EmptyView: View {
    public init() {}
    public var body: Never { fatalError() }
}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError() }
}

@resultBuilder public enum ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> some View { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither(first: some View) -> EmptyView { EmptyView() }
    public static func buildEither(second: some View) -> EmptyView { EmptyView() }
}

@MainActor @preconcurrency public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
}

extension Never: Scene {}

@resultBuilder public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}

extension App {
    public static func main() {}
}

public struct WindowGroup: Scene {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { fatalError() }
}

public struct BackgroundTask<Request, Response> {
    public static func appRefresh(_ identifier: String) -> BackgroundTask<Void, Void> { .init() }
}

extension Scene {
    public func backgroundTask<Request, Response>(
        _ task: BackgroundTask<Request, Response>,
        action: @escaping @Sendable (Request) async -> Response
    ) -> some Scene { self }
}

@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { Binding() }
}

extension State where Value: ExpressibleByNilLiteral {
    public init() { self.init(wrappedValue: nil) }
}

@propertyWrapper public struct Binding<Value> {
    public init() {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { self }
}

@propertyWrapper @MainActor public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    public init(_ type: Delegate.Type = Delegate.self) {}
    public var wrappedValue: Delegate { fatalError() }
}

public struct Text: View {
    public init(_ text: some StringProtocol) {}
    public var body: Never { fatalError() }
}

public struct Label: View {
    public init(_ title: String, systemImage: String) {}
    public var body: Never { fatalError() }
}

public struct TextField: View {
    public init(_ title: String, text: Binding<String>) {}
    public var body: Never { fatalError() }
}

public struct SecureField: View {
    public init(_ title: String, text: Binding<String>) {}
    public var body: Never { fatalError() }
}

public struct ButtonRole: Sendable {
    public static let destructive = ButtonRole()
}

public struct Button: View {
    public init(_ title: String, role: ButtonRole? = nil, action: @escaping @MainActor () -> Void) {}
    public var body: Never { fatalError() }
}

public struct List: View {
    public init(@ViewBuilder content: () -> some View) {}
    public init<Data: RandomAccessCollection>(_ data: Data, @ViewBuilder row: @escaping (Data.Element) -> some View)
    where Data.Element: Identifiable {}
    public var body: Never { fatalError() }
}

public struct ForEach: View {
    public init<Data: RandomAccessCollection>(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> some View)
    where Data.Element: Identifiable {}
    public var body: Never { fatalError() }
}

public struct Form: View {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { fatalError() }
}

public struct Section: View {
    public init(@ViewBuilder content: () -> some View, @ViewBuilder footer: () -> some View) {}
    public var body: Never { fatalError() }
}

public struct NavigationStack: View {
    public init(@ViewBuilder root: () -> some View) {}
    public var body: Never { fatalError() }
}

public struct NavigationLink: View {
    public init(_ title: String, @ViewBuilder destination: () -> some View) {}
    public var body: Never { fatalError() }
}

public struct HorizontalAlignment: Sendable {
    public static let leading = HorizontalAlignment()
}

public struct VStack: View {
    public init(alignment: HorizontalAlignment, @ViewBuilder content: () -> some View) {}
    public var body: Never { fatalError() }
}

public struct Font: Sendable {
    public static let caption = Font()
    public static let headline = Font()
}

public struct UITextContentType: Sendable {
    public static let username = UITextContentType()
    public static let password = UITextContentType()
}

public enum ScenePhase: Sendable {
    case background, inactive, active
}

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { .active }
}

@propertyWrapper public struct Environment<Value> {
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}

extension View {
    public func task(_ action: @escaping @MainActor () async -> Void) -> some View { self }
    public func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor () async -> Void) -> some View { self }
    public func refreshable(action: @escaping @MainActor () async -> Void) -> some View { self }
    public func navigationTitle(_ title: String) -> some View { self }
    public func toolbar(@ViewBuilder content: () -> some View) -> some View { self }
    public func swipeActions(@ViewBuilder content: () -> some View) -> some View { self }
    public func overlay(@ViewBuilder content: () -> some View) -> some View { self }
    public func font(_ font: Font?) -> some View { self }
    public func textContentType(_ type: UITextContentType?) -> some View { self }
    public func disabled(_ disabled: Bool) -> some View { self }
}
