// Stands in for Apple's LocalAuthentication; see Security.swift. iOS 8, macOS 10.10, watchOS 3.
public import Foundation

public enum LAPolicy: Int, Sendable {
  @available(watchOS, unavailable)
  case deviceOwnerAuthenticationWithBiometrics = 1
  @available(iOS 9, macOS 10.11, *)
  case deviceOwnerAuthentication = 2
}

open class LAContext: NSObject {
  public override init() { super.init() }
  /// As Swift sees `evaluatePolicy:localizedReason:reply:`
  open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool { false }
  @available(iOS 9, macOS 10.11, *)
  open func invalidate() {}
  @available(iOS 11, macOS 10.13, *)
  @available(watchOS, unavailable)
  open var localizedReason: String {
    get { "" }
    set {}
  }
  @available(iOS 11, macOS 10.13, watchOS 9, *)
  open var interactionNotAllowed = false
}
