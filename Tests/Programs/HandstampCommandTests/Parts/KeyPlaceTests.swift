#if Programs
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `A desktop session` {
  @Test(
    arguments: [
      (["DISPLAY": ":0"], true), (["WAYLAND_DISPLAY": "wayland-0"], true), ([:], false), (["DISPLAY": ""], false),
      (["DISPLAY": ":0", "SSH_CONNECTION": "192.0.2.1 5 192.0.2.2 22"], false),
      (["DISPLAY": "localhost:10.0", "SSH_TTY": "/dev/pts/1"], false),
    ] as [([String: String], Bool)])
  func `is told by the environment`(environment: [String: String], isOne: Bool) {
    #expect(KeyStore.isAtDesktop(environment) == isOne)
  }

  @Test func `keeps keys in places that a note names`() {
    for store in [.file, KeyStore.secretService("a"), .keychain("b"), .passphrase(folder: "/f"), .unknown("the moon")] {
      #expect(KeyStore(note: store.note, folder: "/f") == store)
    }
  }
}
#endif
