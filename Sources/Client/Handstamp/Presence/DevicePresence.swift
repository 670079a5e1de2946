#if canImport(LocalAuthentication) && !os(tvOS)
public import HandstampCore
import Foundation
import LocalAuthentication

/// Confirms presence with the device's own means: face, fingerprint, passcode or watch. Not available on tvOS.
public struct DevicePresence: UserPresence {
  /// The accepted means of confirmation.
  public enum Method: Sendable, Hashable {
    /// Biometry, or the device's passcode where that fails.
    case owner
    /// Biometry alone; on watchOS, where there is none, the passcode.
    case biometry
  }

  private let method: Method

  public init(_ method: Method = .owner) { self.method = method }

  @concurrent public func confirm(_ reason: String) async throws(PresenceError) {
    let question = Question()
    do {
      try await withTaskCancellationHandler {
        try await question.ask(reason, policy)
      } onCancel: {
        question.takeBack()
      }
    } catch {
      throw Task.isCancelled ? .cancelled : PresenceError(localAuthentication: (error as NSError).code)
    }
  }

  private var policy: LAPolicy {
    #if os(watchOS)
    .deviceOwnerAuthentication
    #else
    method == .owner ? .deviceOwnerAuthentication : .deviceOwnerAuthenticationWithBiometrics
    #endif
  }
}

/// One question to the user. An `LAContext` asks once, so each question has its own.
// Unchecked: `evaluatePolicy` and `invalidate` of one context may be called from any thread.
private final class Question: @unchecked Sendable {
  private let context = LAContext()

  @concurrent func ask(_ reason: String, _ policy: LAPolicy) async throws {
    _ = try await context.evaluatePolicy(policy, localizedReason: reason)
  }

  func takeBack() { context.invalidate() }
}
#else
package import HandstampCore
#endif

extension PresenceError {
  /// The presence error for a LocalAuthentication error code (`LAError.h`).
  package init(localAuthentication code: Int) {
    switch code {
    // authenticationFailed, userCancel, userFallback
    case -1, -2, -3: self = .declined
    // systemCancel, appCancel, invalidContext
    case -4, -9, -10: self = .cancelled
    case -5: self = .unavailable("the device has no passcode")
    case -6: self = .unavailable("there is no biometry, or the app may not use it")
    case -7: self = .unavailable("no face or fingerprint is enrolled")
    case -8: self = .unavailable("biometry is locked until the device's passcode is entered")
    case -11, -12, -13: self = .unavailable("the watch or the sensor is not paired or not connected")
    case -1004: self = .unavailable("no prompt can be shown now")
    default: self = .unavailable("error \(code) of LocalAuthentication")
    }
  }
}
