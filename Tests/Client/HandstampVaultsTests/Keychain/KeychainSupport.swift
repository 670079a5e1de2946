import Handstamp
import HandstampTesting

/// A device, a folder for locks, and the vaults of programs on it.
struct Phone: Sendable {
  let device = EmulatedKeychain.Device()
  let folder: NewFolder
  let session = VaultSamples.session()

  init() throws { folder = try NewFolder() }

  func vault(
    _ account: String = "ada", groups: [String] = ["team.app"], group: String? = nil, inBackground: Bool = false
  ) -> KeychainVault {
    KeychainVault(
      EmulatedKeychain(device, groups: groups), service: "org.example.forum", account: AccountID(account),
      folder: folder.vaults, accessGroup: group, inBackground: inBackground)
  }

  /// The items of the refresh class, without those set aside.
  var refreshItems: [KeychainItem] { items(of: "org.example.forum").filter { !$0.key.account.contains("corrupt") } }
  var accessItems: [KeychainItem] { items(of: "org.example.forum.access") }
  var asideItems: [KeychainItem] { device.items.filter { $0.key.account.contains(".corrupt-") } }

  private func items(of service: String) -> [KeychainItem] { device.items.filter { $0.key.service == service } }

  func isCanary(_ item: KeychainItem) -> Bool { item.key.service.hasSuffix(".canary") }
}

/// The entry of a successful outcome.
func done(_ outcome: VaultOutcome) throws -> VaultEntry {
  guard case .done(let entry) = outcome else { throw Unexpected() }
  return entry
}
