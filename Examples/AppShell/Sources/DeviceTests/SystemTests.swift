import Foundation
import Handstamp
import HandstampTesting
import Testing

/// Parts that the package's own tests emulate, or run on other systems only.
@Suite(.timeLimit(.minutes(10))) nonisolated struct `On a device` {
  private let name = "org.example.forum.tests.\(UUID().uuidString)"

  @Test func `the keychain keeps the promises of a vault`() async throws {
    try await checkVault { KeychainVault.keychain("org.example.forum.tests.\(UUID().uuidString)") }
  }

  @Test func `a sealed file keeps the promises of a vault`() async throws {
    try await checkVault { SealedFileVault.sealedFile("org.example.forum.tests.\(UUID().uuidString)") }
  }

  @Test func `an installation keeps its id`() {
    #expect(DeviceID.installation(of: name) == .installation(of: name))
  }

  @Test func `a request to a closed port is lost`() async {
    await #expect(throws: TransportError.self) {
      try await URLSessionTransport().send(TransportRequest(method: "GET", url: "http://127.0.0.1:9"))
    }
  }
}
