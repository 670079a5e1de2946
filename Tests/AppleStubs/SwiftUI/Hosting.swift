#if canImport(UIKit)
public import Foundation
public import UIKit

@available(iOS 13, tvOS 13, *)
@available(watchOS, unavailable)
@MainActor @preconcurrency public protocol UIViewRepresentable: View where Body == Never {
  associatedtype UIViewType: UIView
  associatedtype Coordinator = Void
  typealias Context = UIViewRepresentableContext<Self>
  @MainActor @preconcurrency func makeUIView(context: Context) -> UIViewType
  @MainActor @preconcurrency func updateUIView(_ uiView: UIViewType, context: Context)
  @MainActor @preconcurrency func makeCoordinator() -> Coordinator
}

@available(iOS 13, tvOS 13, *)
@available(watchOS, unavailable)
extension UIViewRepresentable {
  public var body: Never { fatalError() }
}

@available(iOS 13, tvOS 13, *)
@available(watchOS, unavailable)
@MainActor @preconcurrency public struct UIViewRepresentableContext<Representable: UIViewRepresentable> {
  public var coordinator: Representable.Coordinator { fatalError() }
}

@available(iOS 13, tvOS 13, *)
@available(watchOS, unavailable)
extension UIViewRepresentable where Coordinator == Void {
  public func makeCoordinator() {}
}

@available(iOS 13, tvOS 13, *)
@available(watchOS, unavailable)
@MainActor @preconcurrency open class UIHostingController<Content: View>: UIViewController {
  public init(rootView: Content) {
    self.rootView = rootView
    super.init(nibName: nil, bundle: nil)
  }
  public var rootView: Content
}
#endif
