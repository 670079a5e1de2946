#if Programs
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Tokens that were verified` {
  @Test func `are not verified again`() {
    let tokens = VerifiedTokens<Int>(size: 4)
    var verified = 0
    for _ in 0..<3 {
      let claims = tokens.claims(of: [7]) {
        verified += 1
        return 7
      }
      #expect(claims == 7)
    }
    #expect(verified == 1)
  }

  @Test func `are not remembered if they are not genuine`() {
    let tokens = VerifiedTokens<Int>(size: 4)
    #expect(tokens.claims(of: [9]) { nil } == nil)
    #expect(tokens.count == 0)
    #expect(tokens.claims(of: [9]) { 1 } == 1)
  }

  @Test func `take bounded room, and those in use stay`() {
    let tokens = VerifiedTokens<Int>(size: 4)
    for number in 0..<100 {
      #expect(tokens.claims(of: [UInt8(number)]) { number } == number)
      #expect(tokens.claims(of: [255]) { number == 0 ? -1 : nil } == -1)
      #expect(tokens.count <= 8)
    }
    #expect(tokens.claims(of: [0]) { nil } == nil)
  }
}
#endif
