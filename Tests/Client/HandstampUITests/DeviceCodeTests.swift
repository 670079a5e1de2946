import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampUI

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A code for another device` {
  private let prompt = DeviceCodePrompt(code: "WDJB-MJHT", address: "https://example.org/device")

  @Test func `is shown until it is entered`() async throws {
    let (asked, typed) = (Gate(), Gate())
    let model = DeviceCodeModel { [prompt] show async throws(SessionError) in
      await asked.wait()
      await show(prompt)
      await typed.wait()
    }
    #expect(model.state == .asking)
    let running = Task { await model.run() }
    asked.open()
    await observed { model.state == .showing(prompt) }
    typed.open()
    await running.value
    #expect(model.state == .done)
  }

  @Test(arguments: [
    (SessionError.refused(code: "expired_token", detail: nil), DeviceCodeModel.State.expired),
    (.refused(code: "access_denied", detail: nil), .failed(Wording(.errorRefused, "access denied"))),
    (.requestFailed(.network(.timedOut)), .failed(Wording(.errorUnreachable, recovery: .retry(after: nil)))),
    (.cancelled, .asking),
  ])
  func `explains a failure, and can be requested again`(error: SessionError, state: DeviceCodeModel.State) async throws
  {
    let failure = Locked<SessionError?>(error)
    let model = DeviceCodeModel { _ async throws(SessionError) in
      if let error = failure.withLock({ $0 }) { throw error }
    }
    await model.run()
    #expect(model.state == state)
    failure.withLock { $0 = nil }
    await model.run()
    #expect(model.state == .done)
  }

  @Test func `of an earlier attempt is not shown`() async throws {
    let gates = [Gate(), Gate()]
    let tries = Locked(0)
    let model = DeviceCodeModel { [prompt] show async throws(SessionError) in
      let number = tries.withLock { tries in
        tries += 1
        return tries
      }
      await gates[number - 1].wait()
      await show(DeviceCodePrompt(code: "\(number)", address: prompt.address))
      if number == 1 { throw .requestFailed(.network(.timedOut)) }
    }
    let first = Task { await model.run() }
    await gates[0].arrivals(1)
    let second = Task { await model.run() }
    await gates[1].arrivals(1)
    gates[0].open()
    await first.value
    #expect(model.state == .asking)
    gates[1].open()
    await second.value
    #expect(model.state == .done)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An error of Apple's sign-in` {
  @Test func `caused by the user is a cancellation`() {
    #expect(SessionError(appleAuthorization: 1001) == .cancelled)
    #expect(RedirectError(webAuthentication: 1) == .cancelled)
  }

  @Test func `says so if the app went to the background, until it is active again`() {
    let (leaving, returning) = (Notification.Name("test.leaving"), Notification.Name("test.returning"))
    let watch = SheetWatch(leaving: leaving, returning: returning)
    #expect(!watch.isAway)
    NotificationCenter.default.post(name: leaving, object: nil)
    #expect(watch.isAway)
    let error = RedirectError.unavailable(SheetWatch.words)
    #expect(RedirectError(webAuthentication: 1, isAway: watch.isAway) == error)
    #expect(SessionError(appleAuthorization: 1001, isAway: watch.isAway) == .redirect(error))
    #expect(error.recovery == .retry(after: nil) && "\(error)".contains("background"))
    NotificationCenter.default.post(name: returning, object: nil)
    #expect(!watch.isAway)
  }

  @Test(arguments: [1000, 1002, 1003, 1004, 1005, 0, -1, 1_000_000])
  func `of any other kind is reported`(code: Int) {
    #expect(Wording(SessionError(appleAuthorization: code)) != nil)
    guard case .unavailable = RedirectError(webAuthentication: code) else {
      Issue.record("\(code)")
      return
    }
  }
}
