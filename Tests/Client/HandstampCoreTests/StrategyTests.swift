import HandstampCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A refresh strategy` {
  @Test func `matches its table`() {
    #expect(SessionPolicy.aheadOfExpiry == SessionPolicy())
    let all: [SessionPolicy] = [.onRejection, .aheadOfExpiry, .background, .offlineFirst, .highSecurity]
    #expect(all.map(\.refresh.usesTimer) == [false, true, true, true, false])
    #expect(
      all.map { $0.refresh.margin(forLifetime: .seconds(36_000)) } == [0, 300, 600, 1800, 0].map { .seconds($0) })
    #expect(all.map { $0.refresh.margin(forLifetime: .seconds(60)) } == [0, 12, 12, 12, 0].map { .seconds($0) })
    #expect(all.map(\.retry.attempts) == [4, 4, 6, 1, 2])
    #expect(all.map(\.idleLimit) == [nil, nil, nil, nil, .seconds(900)])
    #expect(all.map(\.absoluteLimit) == [nil, nil, nil, nil, .seconds(43_200)])
  }
}
