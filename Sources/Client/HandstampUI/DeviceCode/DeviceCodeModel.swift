public import HandstampCore
public import Observation

/// A code to be entered on another device (RFC 8628).
public struct DeviceCodePrompt: Sendable, Hashable {
  /// The code that the user enters.
  public var code: String
  /// The address of the page where the user enters it.
  public var address: String
  /// The address including the code, for a QR code; `nil` if the server provides none.
  public var completeAddress: String?

  public init(code: String, address: String, completeAddress: String? = nil) {
    self.code = code
    self.address = address
    self.completeAddress = completeAddress
  }
}

/// The model of ``DeviceCodeView``: requesting a code, showing it, and the outcome.
@MainActor @Observable
public final class DeviceCodeModel {
  public enum State: Sendable, Hashable {
    case asking
    case showing(DeviceCodePrompt)
    /// The code was not entered in time.
    case expired
    case failed(Wording)
    /// Signed in; the session has the account.
    case done
  }

  /// Signs in, passing the code to `show` meanwhile.
  public typealias SignIn =
    @MainActor (_ show: @escaping @Sendable (DeviceCodePrompt) async -> Void) async throws(SessionError) -> Void

  public private(set) var state = State.asking
  @ObservationIgnored private let signIn: SignIn
  /// The attempt on display; results of earlier ones are discarded.
  @ObservationIgnored private var number: UInt64 = 0

  public init(_ signIn: @escaping SignIn) { self.signIn = signIn }

  /// Requests a code and waits until it is entered. Ends with its task, usually the view's.
  public func run() async {
    number += 1
    let run = number
    state = .asking
    let end: State
    do throws(SessionError) {
      try await signIn { [weak self] prompt in await self?.show(prompt, run) }
      end = .done
    } catch {
      if case .refused("expired_token", _) = error {
        end = .expired
      } else if let wording = Wording(error) {
        end = .failed(wording)
      } else {
        return
      }
    }
    if run == number { state = end }
  }

  private func show(_ prompt: DeviceCodePrompt, _ run: UInt64) {
    if run == number, state == .asking { state = .showing(prompt) }
  }
}
