#if Exploration
import HandstampCore
import HandstampRegistry

/// Scenarios for OAuth clients of ours at our own server.
extension Scenario {
  package static let oauth: [Scenario] = [
    at(.keyed, "lost, silent, late, doubled, killed", .nobodyOut) { limits, _ in
      limits.kinds = [.lost, .silent, .killed]
      limits.delays = true
      limits.duplicates = 1
    },
    at(.keyed, "races without the lock", .nobodyOut) { limits, _ in
      limits.lockWorks = false
      limits.requests = 3
    },
    at(.keyed, "a copied token, presented with keys", .noThief) { limits, _ in
      limits.thief = .token
      limits.requests = 5
      limits.troubles = 1
    },
    at(.keyed, "a copied token, presented without keys", .noThief) { limits, _ in
      limits.thief = .tokenWithoutSendingKeys
      limits.requests = 5
      limits.troubles = 1
    },
    at(.keyed, "a key for a drawn rotation is a repeat", .findsThief) { limits, rules in
      limits.thief = .tokenWithoutSendingKeys
      limits.requests = 5
      limits.troubles = 0
      rules.repeatsDrawnWithKey = true
    },
    at(.open, "a broken connection, or a killed sender", .nobodyOut) { limits, _ in
      limits.kinds = [.lost, .killed]
      limits.passes = 2
    },
    at(.open, "silence", .nobodyOut) { limits, _ in
      limits.kinds = [.silent]
      limits.troubles = 1
      limits.passes = 2
    },
    at(.open, "a request that is doubled after the overlap", .loses) { limits, _ in
      limits.kinds = []
      limits.duplicates = 1
      limits.passes = 3
    },
    at(.constrained, "lost, silent, late, doubled, killed", .nobodyOut) { limits, _ in
      limits.kinds = [.lost, .silent, .late, .killed, .frozenOut, .suspended]
      limits.delays = true
      limits.duplicates = 1
      limits.passes = 2
    },
  ]

  private static func at(
    _ kind: World.OAuthKind, _ name: String, _ expectation: Expectation,
    _ change: (inout World.Limits, inout ModelServer.Rules) -> Void
  ) -> Scenario {
    Scenario("our own server, \(kind.rawValue) client: \(name)", expectation) { limits, rules in
      limits.oauth = kind
      limits.requests = 3
      limits.isPrompt = true
      limits.overlap = RefreshTerms.overlap
      // They follow the rules for third-party servers.
      if kind != .keyed { limits.server = kind == .open ? .graceSameSuccessor : .keepsAndAdds }
      change(&limits, &rules)
    }
  }
}
#endif
