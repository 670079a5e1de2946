// iOS 14, macOS 11, tvOS 14, watchOS 7, unless said otherwise

@MainActor @preconcurrency public protocol App {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
  @MainActor @preconcurrency init()
}

extension App {
  @MainActor public static func main() {}
}

@MainActor @preconcurrency public protocol Scene {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: Scene {}

@resultBuilder public struct SceneBuilder {
  public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct OpaqueScene: Scene {
  public init() {}
  public var body: Never { fatalError() }
}

public struct WindowGroup<Content: View>: Scene {
  public init(@ViewBuilder content: () -> Content) {}
  public var body: Never { fatalError() }
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public struct BackgroundTask<Request, Response>: Sendable {
  public static func appRefresh(_ identifier: String) -> BackgroundTask<String?, Void>
  where Request == String?, Response == Void { BackgroundTask<String?, Void>() }
}

extension Scene {
  @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
  public func backgroundTask<D, R>(
    _ task: BackgroundTask<D, R>, action: @escaping @Sendable (D) async -> R
  ) -> some Scene { OpaqueScene() }

  @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
  public func backgroundTask<R>(
    _ task: BackgroundTask<String?, R>, action: @escaping @Sendable () async -> R
  ) -> some Scene { OpaqueScene() }
}
