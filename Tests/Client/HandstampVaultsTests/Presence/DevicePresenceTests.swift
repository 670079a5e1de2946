import Handstamp
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An error of LocalAuthentication` {
  @Test(arguments: [-1, -2, -3])
  func `from the user is a denial`(code: Int) {
    #expect(PresenceError(localAuthentication: code) == .declined)
  }

  @Test(arguments: [-4, -9, -10])
  func `from the system or the app is no answer`(code: Int) {
    #expect(PresenceError(localAuthentication: code) == .cancelled)
  }

  @Test(arguments: [-5, -6, -7, -8, -11, -12, -13, -1004, 0, 17, Int.min])
  func `of any other kind means unavailable, and never confirmed`(code: Int) {
    guard case .unavailable(let text) = PresenceError(localAuthentication: code) else {
      Issue.record("\(code)")
      return
    }
    #expect(!text.isEmpty)
  }
}
