// Stands in for Apple's CoreImage; see Security.swift. iOS 5, macOS 10.4, tvOS 9; there is none on watchOS.
public import CoreGraphics
public import Foundation

open class CIImage: NSObject {
  public var extent: CGRect { .zero }
}

open class CIFilter: NSObject {
  public init?(name: String) { return nil }
  public var outputImage: CIImage? { nil }
  /// of `NSObject` there
  public func setValue(_ value: Any?, forKey key: String) {}
}

open class CIContext: NSObject {
  public override init() { super.init() }
  public func createCGImage(_ image: CIImage, from: CGRect) -> CGImage? { nil }
}
