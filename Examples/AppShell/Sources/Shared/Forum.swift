import Foundation
import Handstamp

/// The common parts of the app and its extensions, with the names that their entitlements grant.
nonisolated enum Forum {
  static let name = "org.example.forum"
  static let url = URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/")

  /// Where the app keeps what its user downloaded and read.
  static let downloads = URL.documentsDirectory.appending(path: "downloads")
  static let messages = URL.applicationSupportDirectory.appending(path: "messages")

  /// The place of the session. Its lock files are in the container of the group, where every one of these programs finds them.
  ///
  /// A program that is not signed for the group keeps a session of its own.
  static func vault() -> KeychainVault {
    guard let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group." + name) else {
      return .keychain(name, inBackground: true)
    }
    // Info.plist has the prefix of the team that signs the program.
    let prefix = Bundle.main.object(forInfoDictionaryKey: "AppIdentifierPrefix") as? String ?? ""
    // Refreshed while the device is locked, hence `inBackground`.
    return .keychain(
      name, folder: group.appending(path: "handstamp").path, accessGroup: prefix + name, inBackground: true)
  }

  /// The server, with the device that a sign-in names. An extension has an id of its own, which it never sends: it does not sign in.
  static func server() -> ServerBackend {
    let device = ServerBackend.Device(id: .installation(of: name), name: ServerBackend.Device.thisPlatform)
    return ServerBackend(baseURL: url, device: device, transport: URLSessionTransport())
  }
}

nonisolated struct Me: Decodable {
  let name: String
}

nonisolated struct Unread: Decodable {
  let count: Int
}

nonisolated struct NewPost: Encodable {
  let text: String
}
