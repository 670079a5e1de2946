#if Server
public import HandstampCore
import HandstampSupport

/// The parameters of the password hashes of a Firebase project, which its console shows, and no export has.
public struct FirebaseHashing: Sendable, Hashable {
  /// The project's secret: with it and the hashes, passwords can be guessed.
  public var signerKey: Secret
  public var saltSeparator: [UInt8]
  public var rounds: Int64
  public var memoryCost: Int64

  public init(signerKey: Secret, saltSeparator: [UInt8], rounds: Int64, memoryCost: Int64) {
    self.signerKey = signerKey
    self.saltSeparator = saltSeparator
    self.rounds = rounds
    self.memoryCost = memoryCost
  }

  /// Reads the `hash_config` that the console shows, or JSON with the same names; `nil` if a parameter is missing.
  public init?(configuration text: String) {
    let letters = text.split { " \t\r\n,:{}\"'".contains($0) }.map(String.init)
    func value(_ name: String) -> String? {
      letters.firstIndex(of: name).flatMap { letters.indices.contains($0 + 1) ? letters[$0 + 1] : nil }
    }
    guard let key = value("base64_signer_key").flatMap(ImportFields.bytes), !key.isEmpty,
      let separator = value("base64_salt_separator").flatMap(ImportFields.bytes),
      let rounds = value("rounds").flatMap({ Int64($0) }), let cost = value("mem_cost").flatMap({ Int64($0) })
    else { return nil }
    self.init(signerKey: Secret(bytes: key), saltSeparator: separator, rounds: rounds, memoryCost: cost)
  }
}
#endif
