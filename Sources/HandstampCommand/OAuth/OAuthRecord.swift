#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampOAuth
import HandstampVaults

/// Of an account that was signed in to by OAuth: whose issuer, and as which client. Nothing in it is a secret.
struct OAuthRecord: Sendable, Hashable, Codable {
  /// Exactly as the server's metadata writes it.
  var issuer: String
  var client: String
  var scopes: [String]

  var settings: OAuthClient { OAuthClient(issuer: issuer, id: client, scopes: scopes) }
}

extension Home {
  private var oauthFolder: String { path + "/oauth" }

  /// Its name says nothing about the account.
  func oauthPath(of account: AccountID) -> String {
    let hash = SHA256.hash(data: Array(account.rawValue.utf8))
    return oauthFolder + "/" + hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + ".json"
  }

  /// How the account is signed in to; nothing for Handstamp's own protocol.
  ///
  /// - Throws: a refusal for a file that cannot be read: another protocol would be the wrong one.
  func oauth(of account: AccountID) throws(Refusal) -> OAuthRecord? {
    let path = oauthPath(of: account)
    switch PlainFile.read(path) {
    case .absent:
      var isFolder: ObjCBool = false
      let isThere = FileManager.default.fileExists(atPath: oauthFolder, isDirectory: &isFolder)
      guard isThere ? isFolder.boolValue : FileFacts(oauthFolder) == nil else { throw Refusal.unreadable(oauthFolder) }
      return nil
    case .unreadable: throw Refusal.unreadable(path)
    case .content(let bytes):
      do { return try JSONDecoder().decode(OAuthRecord.self, from: Data(bytes)) } catch {
        throw Refusal.unreadable(path)
      }
    }
  }

  /// Writes it down, or that there is none.
  func save(_ record: OAuthRecord?, of account: AccountID) throws(Refusal) {
    let path = oauthPath(of: account)
    guard let record else {
      guard unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR else { throw unwritable() }
      return
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try FileManager.default.createDirectory(
        atPath: oauthFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try encoder.encode(record).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw unwritable()
    }
  }
}

extension Refusal {
  fileprivate static func unreadable(_ path: String) -> Refusal {
    Refusal(
      .failure, "\(path) cannot be read, which says how an account is signed in to",
      hint: "run: handstamp doctor --set-aside", concernsHome: true)
  }
}
#endif
