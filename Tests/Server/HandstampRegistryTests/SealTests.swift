import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A text that a mint has sealed` {
  private let secret = Array("a secret of a browser".utf8)

  private func keys(current: String, retired: Set<KeyID> = []) throws -> TokenMint {
    TokenMint(
      try MasterKeys(
        current: KeyID(current), keys: [KeyID("k1"): Secret(bytes: 0..<32), KeyID("k2"): Secret(bytes: 32..<64)],
        retired: retired))
  }

  @Test func `opens with the same key, purpose and context, and no others`() throws {
    let mint = try keys(current: "k1")
    let sealed = try #require(mint.seal(secret, for: .upstreamAttempt, boundTo: "a browser"))
    #expect(sealed.hasPrefix("k1.") && sealed != mint.seal(secret, for: .upstreamAttempt, boundTo: "a browser"))
    #expect(mint.open(sealed, for: .upstreamAttempt, boundTo: "a browser") == secret)
    #expect(mint.open(sealed, for: .upstreamTokens, boundTo: "a browser") == nil)
    #expect(mint.open(sealed, for: .upstreamAttempt, boundTo: "another") == nil)
    let later = try keys(current: "k2")
    #expect(later.open(sealed, for: .upstreamAttempt, boundTo: "a browser") == secret)
    #expect(later.open("k2" + sealed.dropFirst(2), for: .upstreamAttempt, boundTo: "a browser") == nil)
    let retired = try keys(current: "k2", retired: [KeyID("k1")])
    #expect(retired.open(sealed, for: .upstreamAttempt, boundTo: "a browser") == nil)
  }

  @Test func `does not open with any changed byte`() throws {
    let mint = try keys(current: "k1")
    let sealed = try #require(mint.seal(secret, for: .upstreamTokens, boundTo: ""))
    for index in 0..<sealed.utf8.count {
      var bytes = Array(sealed.utf8)
      bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(mint.open(String(decoding: bytes, as: UTF8.self), for: .upstreamTokens, boundTo: "") == nil)
    }
    for text in ["", ".", "k1.", "k1", sealed + "A", sealed + ".", String(sealed.dropLast())] {
      #expect(mint.open(text, for: .upstreamTokens, boundTo: "") == nil)
    }
  }
}
