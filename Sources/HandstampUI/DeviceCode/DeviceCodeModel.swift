public import HandstampCore
public import Observation

/// A code to be typed in on another device (RFC 8628).
public struct DeviceCodePrompt: Sendable, Hashable {
  /// What is typed in.
  public var code: String
  /// Where.
  public var address: String
  /// The same with the code in it, for a QR code; nothing where the server has none.
  public var completeAddress: String?

  public init(code: String, address: String, completeAddress: String? = nil) {
    self.code = code
    self.address = address
    self.completeAddress = completeAddress
  }
}

/// What ``DeviceCodeView`` shows: asking for a code, the code, and how it ended.
@MainActor @Observable
public final class DeviceCodeModel {
  public enum State: Sendable, Hashable {
    case asking
    case showing(DeviceCodePrompt)
    /// Nobody typed it in, in time.
    case expired
    case failed(Wording)
    /// Signed in: the session shows it.
    case done
  }

  /// Signs in, and hands the code to `show` meanwhile.
  public typealias SignIn =
    @MainActor (_ show: @escaping @Sendable (DeviceCodePrompt) async -> Void) async throws(SessionError) -> Void

  public private(set) var state = State.asking
  @ObservationIgnored private let signIn: SignIn
  /// Which try is shown: what an earlier one says changes nothing any more.
  @ObservationIgnored private var number: UInt64 = 0

  public init(_ signIn: @escaping SignIn) { self.signIn = signIn }

  /// Asks for a code and waits for it to be typed in; for as long as its task lives, the view's.
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
