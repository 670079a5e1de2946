/// Why a vault has no answer. Nothing is ever erased because of it.
public enum VaultTrouble: Error, Sendable, Hashable {
  /// The device or its secret store is locked.
  case locked
  /// It cannot be reached, read or written now, or a newer version wrote it; the text says what, without secrets.
  case unavailable(String)
  /// What is stored is no vault. The vault sets it aside before it writes anew.
  case corrupt
}

extension VaultTrouble {
  /// The same with one fact more, where it has words.
  package func adding(_ fact: String) -> VaultTrouble {
    if case .unavailable(let text) = self { .unavailable("\(text); \(fact)") } else { self }
  }
}
