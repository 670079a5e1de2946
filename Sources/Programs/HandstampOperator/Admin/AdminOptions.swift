#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import HandstampServer
import HandstampSupport

/// `--data`, for every command that administers a server.
struct AdminOptions: ParsableArguments {
  @Option(help: "data folder of the server (default: HANDSTAMP_SERVE_DATA)") var data: String?
  @Option(help: "PostgreSQL database of the server, if it has one (default: HANDSTAMP_SERVE_DATABASE)")
  var database: String?

  /// The folder, which need not exist.
  func folder() throws(CommandError) -> AdminFolder {
    let environment = ProcessInfo.processInfo.environment
    guard let path = data ?? environment[ServeSettings.prefix + "DATA"], !path.isEmpty else {
      throw CommandError(.usage, "missing data folder", hint: "add --data DIR, the data folder of the server")
    }
    try AdminFolder.requireChosen(path)
    let values = SettingValues<ServeSettings>(environment: environment)
    let keys = try values.keys()
    let address = database ?? values["database"]?.text
    do throws(RegistryOpenError) {
      return AdminFolder(
        path: path, database: try ServerDatabase(data: path, address: address), keys: keys,
        keysPlace: values.keysPlace ?? path + "/keys.json")
    } catch { throw CommandError(error) }
  }

  /// Whether a folder is named; one in the environment only if a server has served it.
  var hasFolder: Bool {
    if data != nil { return true }
    let path = ProcessInfo.processInfo.environment[ServeSettings.prefix + "DATA"]
    return path.map { FileManager.default.fileExists(atPath: $0 + "/issuer") } ?? false
  }

  /// Runs `body` with the operations of an administrator on the folder's database.
  ///
  /// - Parameters:
  ///   - link: the template for links with codes. `nil` uses the server's, as far as the environment has its settings.
  ///   - needed: names the file with the server's clients, for a command that must know them.
  func administering<Value: Sendable>(
    link: String? = nil, needing needed: AdminClients.FileOptions? = nil, _ body: (Administration) async throws -> Value
  ) async throws(CommandError) -> Value {
    let folder = try folder()
    // The server's, as far as the environment has its settings.
    let environment = ProcessInfo.processInfo.environment
    let policy = try ServeSettings.passwordPolicy(in: environment)
    let values = SettingValues<ServeSettings>(environment: environment)
    let link =
      link ?? values["mail-link"]?.text ?? values["issuer"].map { MailSettings.ownLink(at: $0.text) }
    // `admin clients add` creates the server's file, and needs none.
    let file = (try? ListFile(.clients, named: needed?.clients)).flatMap {
      needed?.clients != nil || FileManager.default.fileExists(atPath: $0.path) ? $0 : nil
    }
    var clients: [ConfiguredClient] = []
    do throws(CommandError) { if let file { clients = try ClientFile.clients(in: file) } } catch {
      // A damaged file is no reason to leave an account to a stranger.
      guard needed == nil else { throw error }
      Terminal.say("warning: \(error.message); this command goes on without the clients")
    }
    return try await folder.open { store throws(CommandError) in
      let administration = store.administration(link: link, passwords: policy, clients: clients)
      do { return try await body(administration) } catch let refusal as CommandError { throw refusal } catch {
        throw CommandError(error as? AdministrationError ?? .registry(.unavailable("\(error)")))
      }
    }
  }

  /// The same with the account that `named` names.
  func administering<Value: Sendable>(
    _ named: NamedAccount, link: String? = nil, _ body: (Administration, AccountRecord) async throws -> Value
  ) async throws(CommandError) -> Value {
    try await administering(link: link) { try await body($0, try await $0.account(named: named.account)) }
  }
}

/// The data folder of a server, which may be running.
struct AdminFolder {
  let path: String
  let database: ServerDatabase
  /// The keys, if they are not kept in the folder.
  let keys: ServerKeys?
  /// The variable or file that they are in, for people.
  let keysPlace: String

  var files: ServerFolder { ServerFolder(path: path) }

  /// Runs `body` with the folder's store, and closes it.
  func open<Value: Sendable>(
    _ body: (AdminStore) async throws(CommandError) -> Value
  ) async throws(CommandError) -> Value {
    let (store, keys): (any ServerStore, ServerKeys)
    do throws(RegistryOpenError) { (store, keys) = try await database.openExisting(keys: self.keys) } catch {
      throw CommandError(error)
    }
    giveFilesToOwner()
    defer {
      store.release()
      giveFilesToOwner()
    }
    return try await body(AdminStore(store: store, keys: keys))
  }

  /// As root, refuses another user's folder where everyone can make one, such as below /tmp: its owner would be given what root writes there.
  static func requireChosen(_ path: String) throws(CommandError) {
    let place = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    guard geteuid() == 0, let folder = FileFacts(place.path), folder.owner != 0,
      let above = FileFacts(place.deletingLastPathComponent().path), above.mode & 0o002 != 0
    else { return }
    throw CommandError(
      .failure, "\(path.onOneLine) belongs to \(folder.ownerName), and everyone can make folders beside it",
      hint: "name a new folder in a place of root's, such as $(mktemp -d)")
  }

  /// Gives what root has created in another user's folder to that user. Otherwise the server could not open it.
  func giveFilesToOwner() {
    // systemd makes the folder of a dynamic user a link.
    guard geteuid() == 0, let folder = FileFacts(URL(fileURLWithPath: path).resolvingSymlinksInPath().path),
      folder.owner != 0
    else { return }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      let file = "\(path)/\(name)"
      if FileFacts(file)?.owner == 0 { lchown(file, folder.owner, folder.group) }
    }
  }
}

/// The open database of a server's folder.
struct AdminStore {
  let store: any ServerStore
  let keys: ServerKeys

  var registry: Registry { Registry(store: store, mint: TokenMint(keys.master)) }

  func administration(
    link: String? = nil, passwords: PasswordPolicy = PasswordPolicy(), clients: [ConfiguredClient] = []
  ) -> Administration {
    Administration(
      registry, by: .machineUser(AdminStore.user),
      configuration: ServerConfiguration {
        $0.mail.link = link
        $0.passwords.policy = passwords
        $0.clients = clients
        $0.webhookNetwork = .internet(certificateAuthorities: nil)
      })
  }

  /// Logs an action on the folder, or on some of its keys.
  func audit(_ kind: AuditedAction.Kind, key ids: [String]? = nil) async throws(CommandError) {
    var details = JSONText()
    if let ids { details.add("keys", ids) }
    do throws(AdministrationError) { try await administration().audit(kind, details: details.text) } catch {
      throw CommandError(error)
    }
  }

  /// The user of this machine who runs the command, also by `sudo`.
  private static var user: String {
    let environment = ProcessInfo.processInfo.environment
    if geteuid() == 0, let name = environment["SUDO_USER"], !name.isEmpty { return name.onOneLine }
    return NSUserName()
  }
}
#endif
