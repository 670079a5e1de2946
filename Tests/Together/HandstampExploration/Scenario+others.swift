#if Exploration
import HandstampCore

/// Scenarios for servers without rotation keys. Letters and numbers refer to docs/refresh.md.
extension Scenario {
  package static let others = kept + targets + signIns + harmless + containers + containersFaults + lost + othersFaults

  /// Troubles that must never cost a session.
  static let harmlessKinds: Set<World.Trouble> = [.suspended, .refused, .leaves, .cancelled]

  private static func at(
    _ kind: KeylessServer.Kind, _ name: String, _ expectation: Expectation, _ change: (inout World.Limits) -> Void
  ) -> Scenario {
    Scenario("\(kind.rawValue): \(name)", expectation) { limits, _ in
      limits.server = kind
      limits.requests = 3
      limits.kinds = harmlessKinds
      // Without a refresh token there is no guarantee of a new access token.
      limits.checksLiveness = kind != .none
      change(&limits)
    }
  }

  /// At every kind of server, with faults that a client can make good.
  private static let kept: [Scenario] = KeylessServer.Kind.allCases.flatMap { kind in
    [
      at(kind, "suspended, refused, left, cancelled", .nobodyOut) { $0.passes = 1 },
      at(kind, "a vault that is full, missing or failing", .nobodyOut) { limits in
        limits.vaultTroubles = 1
        limits.troubles = 1
        limits.passes = 1
        limits.requests = 2
        limits.kinds = [.leaves]
        limits.signals = true
      },
      at(kind, "no refresh lock", .nobodyOut) { limits in
        limits.lockWorks = false
        limits.checksLiveness = false
        limits.troubles = 1
      },
      at(kind, "a refresh lock released by suspension", .nobodyOut) { $0.suspensionGivesUpLock = true },
      at(kind, "an older vault restored under running programs", .nobodyOut) { limits in
        limits.goesBack = 1
        limits.signals = true
        limits.troubles = 0
      },
      at(kind, "a sign-out while a refresh is in flight", .nobodyOut) { limits in
        limits.signOuts = 1
        limits.requests = 1
        limits.signals = true
        limits.troubles = 0
      },
    ]
  }

  /// Where the refresh token stays, only the token for the target shows that another process has asked.
  private static let targets = [KeylessServer.Kind.strict, .keepsAndAdds].map { kind in
    at(kind, "two processes that ask for one target's token", .nobodyOut) { limits in
      limits.target = TokenTarget(scopes: ["mail"])
      limits.troubles = 1
      limits.passes = 1
    }
  }

  /// The kind of server makes no difference.
  private static let signIns = [
    at(.strict, "two sign-ins at once, and a sign-out", .nobodyOut) { limits in
      limits.startsSignedOut = true
      limits.signOuts = 1
      limits.signals = true
      limits.oneSessionEach = true
      limits.requests = 0
      limits.troubles = 0
    },
    at(.strict, "a sign-out while the vault hangs, and the next sign-in", .nobodyOut) { limits in
      limits.processes = 1
      limits.signOuts = 1
      limits.requests = 2
      limits.troubles = 1
      limits.vaultHangs = true
    },
  ]

  /// No session is lost if tokens do not rotate, nor within a grace time, whatever happens.
  private static let harmless: [Scenario] =
    [KeylessServer.Kind.keepsAndReplaces, .keepsAndAdds, .none].map { kind in
      at(kind, "anything lost, late, doubled, killed or copied", .nobodyOut) { limits in
        limits.kinds = [.lost, .late, .killed, .frozenOut, .suspended]
        limits.delays = true
        limits.duplicates = 1
        limits.passes = 1
        limits.copiesVault = true
        limits.checksLiveness = false
      }
    }
    + [KeylessServer.Kind.graceSameSuccessor, .graceNewSuccessor].flatMap { kind in
      [
        at(
          kind, "a broken connection or a killed sender, with a short overlap that the client does not know", .nobodyOut
        ) {
          limits in
          limits.overlap = .seconds(5)
          limits.isPrompt = true
          limits.kinds = [.lost, .killed]
          limits.troubles = 1
          limits.passes = 2
          limits.checksLiveness = false
        },
        at(kind, "silence within a known overlap, twice", .nobodyOut) { limits in
          limits.overlap = .seconds(30)
          limits.reuse = .overlap(.seconds(30))
          limits.isPrompt = true
          limits.attempts = 4
          limits.kinds = [.lost, .silent, .killed]
          limits.troubles = 2
          limits.passes = 4
          limits.checksLiveness = false
        },
        at(kind, "silence longer than an overlap that the client does not know", .loses) { limits in
          limits.overlap = .seconds(30)
          limits.kinds = [.silent]
          limits.passes = 2
          limits.checksLiveness = false
        },
      ]
    }

  /// Containers that share a home: a process sees another one end by the lock of its attempt alone.
  private static let containers: [Scenario] =
    [KeylessServer.Kind.graceSameSuccessor, .graceNewSuccessor].map { kind in
      apart(kind, "a broken connection or a killed sender, with a short overlap", .nobodyOut) { limits in
        limits.overlap = .seconds(5)
        limits.kinds = [.lost, .killed]
        limits.passes = 2
      }
    } + [
      apart(.graceSameSuccessor, "a killed sender whose child has the lock", .nobodyOut) { limits in
        limits.kinds = [.killed]
        limits.passes = 2
        limits.childrenLive = true
      },
      apart(.strict, "a sender that is stopped, or waits without the refresh lock", .nobodyOut) { limits in
        limits.kinds = [.suspended, .leftOpen, .refused]
        limits.suspensionGivesUpLock = true
        limits.passes = 2
        limits.troubles = 2
      },
      apart(.strict, "locks that exclude no process", .nobodyOut) { limits in
        limits.kinds = [.suspended, .leftOpen]
        limits.suspensionGivesUpLock = true
        limits.passes = 1
        limits.locksExcludeNobody = true
      },
    ]

  private static let containersFaults: [Scenario] =
    [
      apart(.graceSameSuccessor, "no locks of attempts", .findsOut) { limits in
        limits.overlap = .seconds(5)
        limits.kinds = [.killed]
        limits.passes = 2
        limits.faults = [.attemptsAreNotLocked]
      }
    ]
    + ([
      (.refreshLockProvesTheEnd, "the refresh lock taken for that of the attempt"),
      (.attemptIsUnlockedWithTheRefreshLock, "an attempt unlocked while it is open"),
      (.anyLockIsBelieved, "locks that exclude no process, believed in"),
    ] as [(World.Fault, String)]).map { fault, name in
      apart(.strict, name, .findsBroken) { limits in
        limits.kinds = [.suspended, .leftOpen]
        limits.suspensionGivesUpLock = true
        limits.passes = 1
        limits.locksExcludeNobody = fault == .anyLockIsBelieved
        limits.faults = [fault]
      }
    }

  private static func apart(
    _ kind: KeylessServer.Kind, _ name: String, _ expectation: Expectation, _ change: (inout World.Limits) -> Void
  ) -> Scenario {
    at(kind, "in containers: " + name, expectation) { limits in
      limits.hasNamespaces = true
      limits.isPrompt = true
      limits.troubles = 1
      limits.checksLiveness = false
      change(&limits)
    }
  }

  /// Each of the faults that no client can make good, alone, at a strict server.
  private static let lost: [Scenario] = [
    alone("(a) a lost response") { $0.kinds = [.lost] },
    alone("(a) a lost response, unnoticed") { $0.kinds = [.silent] },
    alone("(a) a late response") { limits in
      limits.kinds = [.late]
      limits.delays = true
    },
    alone("(a) a doubled request") { limits in
      limits.kinds = []
      limits.duplicates = 1
    },
    alone("(b) the sender killed") { $0.kinds = [.killed] },
    alone("(b) the sender suspended until its connection breaks") { $0.kinds = [.suspended, .frozenOut] },
    alone("(c) response not stored in any vault") { limits in
      limits.kinds = [.endsUnsaved]
      limits.vaultTroubles = 1
    },
    alone("(d) two copies of a vault") { limits in
      limits.kinds = []
      limits.copiesVault = true
    },
    alone("(e) an older vault restored unnoticed") { limits in
      limits.kinds = [.goesBackUnseen, .leaves]
      limits.goesBack = 1
    },
  ]

  private static func alone(_ name: String, _ change: (inout World.Limits) -> Void) -> Scenario {
    at(.strict, name, .loses) { limits in
      limits.checksLiveness = false
      limits.passes = 1
      change(&limits)
    }
  }

  private static let othersFaults: [Scenario] = [
    fault(.comparesRefreshTokenAlone, "only refresh tokens are compared", at: .keepsAndReplaces) { _ in },
    fault(.lockIsGivenBackUnsaved, "the lock released with unsaved tokens") { limits in
      limits.vaultTroubles = 1
      limits.passes = 1
    },
    fault(.leavingLosesTheAnswer, "the response lost with its caller") { $0.passes = 1 },
    fault(.deadlineRunsWhileSuspended, "a deadline that runs during suspension") { $0.passes = 1 },
    fault(.repeatsAtOnce, "an immediate repeat") { limits in
      limits.suspensionGivesUpLock = true
      limits.kinds = [.suspended]
    },
    fault(.waitsAfterTheEnd, "a wait that is longer than the overlap", at: .graceSameSuccessor) { limits in
      limits.overlap = .seconds(30)
      limits.kinds = [.lost]
      limits.passes = 2
    },
    fault(.vanishedReadsAsAbsence, "a missing folder read as an empty one") { limits in
      limits.vaultTroubles = 1
      limits.signals = true
    },
    fault(.olderVaultIsAdopted, "an older vault adopted") { limits in
      limits.goesBack = 1
      // The older vault contains the note of the attempt that replaced it.
      limits.passes = 1
      limits.signals = true
    },
    fault(.signInsAreNotExclusive, "two sign-ins at once") { limits in
      limits.startsSignedOut = true
      limits.signOuts = 1
      limits.signals = true
      limits.oneSessionEach = true
    },
    fault(.anyAnswerRevokes, "any response taken for a revocation") { limits in
      limits.signOuts = 1
      limits.checksLiveness = true
    },
    fault(.fullDiskForgetsEnds, "an end forgotten on a full disk") { limits in
      limits.signOuts = 1
      limits.signals = true
      limits.vaultTroubles = 1
      limits.checksLiveness = true
    },
  ]

  private static func fault(
    _ fault: World.Fault, _ name: String, at kind: KeylessServer.Kind = .strict,
    _ change: (inout World.Limits) -> Void
  ) -> Scenario {
    at(kind, name, .findsBroken) { limits in
      limits.faults = [fault]
      limits.checksLiveness = false
      limits.troubles = 1
      limits.requests = 2
      change(&limits)
    }
  }
}
#endif
