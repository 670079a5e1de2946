import Handstamp
import HandstampKeys
import HandstampTesting

/// Performs its arguments' commands on the secret store of its session bus in order, and prints a line for each:
/// `SecretProbe <name> <folder> <milliseconds> load | store:<text> | remove | locked | lock | unlock | begin | read …`
@main struct SecretProbe {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count > 4, let milliseconds = Int(arguments[3]) else { return print("usage") }
    let key = SecretServiceKey(name: arguments[1], deadline: .milliseconds(milliseconds))
    let vault = SealedFileVault(
      folder: arguments[2], account: AccountID("ada"), key: .managed(by: ManagedVaultKey(in: key)))
    for word in arguments[4...] { print(await line(word, key, vault)) }
  }
  private static func line(_ word: String, _ key: SecretServiceKey, _ vault: SealedFileVault) async -> String {
    do throws(VaultError) {
      switch word {
      case "load": return try await key.load().map { "key \($0.withExposedBytes { $0.count })" } ?? "absent"
      case "remove":
        let place = VaultKeyPlace(folder: vault.folder + "-other") { _ in key }
        for name in ["store", "file"] { if let trouble = try await place.move(to: name) { throw trouble } }
      case "locked": return try await key.isLocked().map { $0 ? "is locked" : "is open" } ?? "no collection"
      case "lock": try await key.lock()
      case "unlock": try await key.unlock(within: key.deadline)
      case "begin":
        switch await vault.edit(.begin(session)) {
        case .done: break
        case .conflict: return "conflict"
        case .failed(let trouble): throw trouble
        }
      case "read":
        switch await vault.read() {
        case .value(let entry): return "session \(entry.session?.id.rawValue ?? "none")"
        case .absent: return "absent"
        case .accessOnly: return "access only"
        case .trouble(let trouble): throw trouble
        }
      default:
        guard word.hasPrefix("store:") else { return "unknown" }
        try await key.store(Secret(String(word.dropFirst(6))))
      }
      return "done"
    } catch {
      let name = String(error.code.dropFirst("storage_".count))
      return error.detail.map { "\(name): \($0)" } ?? name
    }
  }

  private static var session: StoredSession { VaultSamples.session() }
}
