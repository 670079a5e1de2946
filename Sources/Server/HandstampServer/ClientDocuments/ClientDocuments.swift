#if Server
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// Fetches the metadata documents of clients, and remembers valid ones as long as HTTP allows, within bounds.
///
/// Only a sign-in needs the document: it says where the code may be sent. Refreshes never ask a host of strangers, so that its
/// failures end no session.
actor ClientDocuments {
  /// Draft 02 section 8.7.
  static let longest = 5 << 10
  static let lives = Duration.seconds(300)...Duration.seconds(86_400)
  /// How many documents are remembered.
  private static let most = 1000
  /// How many documents are fetched at a time.
  private static let width = 8
  /// How many fetches of one host's documents there may be in a minute.
  static let perHost = 10

  private struct Entry {
    var document: ClientDocument
    var goodUntil: UnixTime
  }

  private let settings: ClientDocumentSettings
  private let now: @Sendable () -> UnixTime
  private var entries: [ClientURL: Entry] = [:]
  private var fetching: [ClientURL: Task<Result<Fetched, DescribedError>, Never>] = [:]
  private let attempts: Locked<Attempts>

  /// The fetches of each host's documents in a minute.
  private struct Attempts: Sendable {
    var minute: Int64 = 0
    var count: [String: Int] = [:]
  }

  /// - Parameter previous: The documents of the settings before a reload, of which the limit for each host goes on.
  init(
    _ settings: ClientDocumentSettings, now: @escaping @Sendable () -> UnixTime,
    continuing previous: ClientDocuments? = nil
  ) {
    self.settings = settings
    self.now = now
    attempts = previous?.attempts ?? Locked(Attempts())
  }

  /// Returns the document of a client. Concurrent callers share one fetch, which continues if the first of them is cancelled.
  func document(at url: ClientURL) async throws(DescribedError) -> ClientDocument {
    if let entry = entries[url], now() < entry.goodUntil { return entry.document }
    if let running = fetching[url] { return try await running.value.get().document }
    try admit(url.host)
    let task = Task { [settings] in await ClientDocuments.fetch(url, settings) }
    fetching[url] = task
    let result = await task.value
    fetching[url] = nil
    // Errors and invalid documents are not remembered (section 5.2).
    let fetched = try result.get()
    remember(fetched, of: url)
    return fetched.document
  }

  private func admit(_ host: String) throws(DescribedError) {
    let minute = now().seconds / 60
    let isAdmitted = attempts.withLock { attempts in
      if minute != attempts.minute { attempts = Attempts(minute: minute) }
      guard fetching.count < ClientDocuments.width, attempts.count.count < ClientDocuments.most,
        attempts.count[host, default: 0] < ClientDocuments.perHost
      else { return false }
      attempts.count[host, default: 0] += 1
      return true
    }
    guard isAdmitted else { throw DescribedError("too many documents are being fetched") }
  }

  private func remember(_ fetched: Fetched, of url: ClientURL) {
    if entries[url] == nil, entries.count >= ClientDocuments.most,
      let oldest = entries.min(by: { $0.value.goodUntil < $1.value.goodUntil })
    {
      entries[oldest.key] = nil
    }
    entries[url] = Entry(document: fetched.document, goodUntil: now().advanced(by: fetched.life))
  }

  private struct Fetched: Sendable {
    var document: ClientDocument
    var life: Duration
  }

  @concurrent private static func fetch(
    _ url: ClientURL, _ settings: ClientDocumentSettings
  ) async -> Result<Fetched, DescribedError> {
    let transport: any Transport
    do throws(DescribedError) {
      transport = try await settings.source.open(url.host, allowingPrivate: settings.allowsPrivate)
    } catch { return .failure(error) }
    let result = await fetch(url, over: transport)
    await settings.source.close(transport)
    return result
  }

  @concurrent private static func fetch(
    _ url: ClientURL, over transport: any Transport
  ) async -> Result<Fetched, DescribedError> {
    let request = TransportRequest(
      method: "GET", url: url.text, headers: [HeaderField("Accept", "application/json")], timeout: .seconds(5),
      maximumResponseSize: longest, mayReuseConnection: false)
    do throws(TransportError) {
      let response = try await transport.send(request)
      guard response.status == 200 else {
        return .failure(DescribedError("it cannot be fetched: the status is \(response.status)"))
      }
      guard isJSON(response.header("Content-Type")) else { return .failure(DescribedError("it is not JSON")) }
      let document: ClientDocument
      do throws(DescribedError) { document = try ClientDocument(response.body, of: url) } catch {
        return .failure(error)
      }
      let asked = JWKSet.life(cacheControl: response.header("Cache-Control"))
      return .success(Fetched(document: document, life: min(max(asked, lives.lowerBound), lives.upperBound)))
    } catch {
      return .failure(DescribedError("it cannot be fetched: \(error)"))
    }
  }

  private static func isJSON(_ type: String?) -> Bool {
    guard let type = type?.lowercased().prefix(while: { $0 != ";" && $0 != " " }) else { return false }
    return type == "application/json" || type.hasPrefix("application/") && type.hasSuffix("+json")
  }
}

/// Clients that publish a metadata document of their own.
package struct ClientDocumentSettings: Sendable {
  package var rights: StrangerRights
  package var source: PinnedNetwork
  /// Whether a host may have an address that is not public. Tests allow their own.
  var allowsPrivate = false

  package init(rights: StrangerRights, source: PinnedNetwork) {
    self.rights = rights
    self.source = source
  }
}

/// The parts of a client's metadata document that the server uses (draft 02 section 4), and how it reads the same of a registration (RFC
/// 7591 section 2).
struct ClientDocument: Sendable, Hashable {
  /// The name that the client gives itself; anyone can choose any.
  let name: String?
  let redirectURIs: [String]

  /// - Throws: the reason for which the document is not valid.
  init(_ body: [UInt8], of url: ClientURL) throws(DescribedError) {
    guard case .object(let members)? = JSONValue(body) else { throw DescribedError("it is not a JSON object") }
    guard let id = members["client_id"]?.string, id.utf8.elementsEqual(url.text.utf8) else {
      throw DescribedError("its client_id is not its URL")
    }
    guard members["client_secret"] == nil, members["client_secret_expires_at"] == nil,
      !ClientDocument.hasSecretKey(members["jwks"])
    else { throw DescribedError("it contains a secret") }
    let method = members["token_endpoint_auth_method"]
    guard method == nil || method == .string("none") else {
      throw DescribedError("its token_endpoint_auth_method is not none")
    }
    try ClientDocument.checkFlow(members)
    redirectURIs = try ClientDocument.redirects(in: members, where: ConfiguredClient.isSafe)
    name = ClientDocument.name(in: members, upTo: 64)
  }

  /// Refuses a client that does not use the authorization code flow.
  static func checkFlow(_ members: [String: JSONValue]) throws(DescribedError) {
    for (name, needed) in [("grant_types", "authorization_code"), ("response_types", "code")] {
      guard let value = members[name] else { continue }
      guard case .array(let values) = value, values.contains(.string(needed)) else {
        throw DescribedError("its \(name) lack \(needed)")
      }
    }
  }

  static func redirects(
    in members: [String: JSONValue], where isAllowed: (String) -> Bool
  ) throws(DescribedError) -> [String] {
    guard case .array(let values)? = members["redirect_uris"], !values.isEmpty else {
      throw DescribedError("its redirect_uris are missing")
    }
    let uris = values.compactMap(\.string).filter(isAllowed)
    guard uris.count == values.count else { throw DescribedError("one of its redirect_uris is not allowed") }
    return uris
  }

  /// Returns the name without characters that are not visible, could make it look like another, or hide what follows it; `nil` if
  /// nothing is left.
  ///
  /// - Parameter most: the number of scalars, so that marks cannot be piled up on a character.
  static func name(in members: [String: JSONValue], upTo most: Int) -> String? {
    let visible = (members["client_name"]?.string ?? "").unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
      default: scalar != "(" && scalar != ")" && !scalar.properties.isDefaultIgnorableCodePoint && scalar != "\u{2800}"
      }
    }
    let text = String(String.UnicodeScalarView(visible.drop { $0.properties.isWhitespace }.prefix(most)))
    return text.isEmpty ? nil : text
  }

  /// Whether a key has its private or symmetric part.
  private static func hasSecretKey(_ set: JSONValue?) -> Bool {
    guard case .array(let keys)? = set?["keys"] else { return false }
    return keys.contains { $0["d"] != nil || $0["k"] != nil }
  }
}

/// A client ID that is the URL of the client's metadata document (OAuth Client ID Metadata Document, draft 02 section 3).
///
/// Stricter than the draft: all parsers have to read the same host in it, because the connection is pinned to that host's address.
struct ClientURL: Sendable, Hashable {
  let text: String
  /// The name that users see.
  let host: String

  /// Returns `nil` for any other ID, and for a host that is an IP address or has a single label.
  init?(_ text: String) {
    guard text.utf8.count <= 200, let url = WebURL(text), url.origin.scheme == "https", url.query == nil,
      // Writes the host in lower case and leaves out the usual port.
      text.hasPrefix(url.origin.text + "/"), text.utf8.count == url.origin.text.utf8.count + url.path.utf8.count
    else { return nil }
    let labels = url.origin.host.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 1, labels.allSatisfy(ClientURL.isLabel), labels.last?.first?.isLetter == true,
      url.path.utf8.allSatisfy({ $0.isUnreserved || "/%-._~!$&'()*+,;=:@".utf8.contains($0) }),
      !url.path.split(separator: "/").contains(where: ClientURL.isDots)
    else { return nil }
    self.text = text
    host = url.origin.host
  }

  private static func isLabel(_ label: Substring) -> Bool {
    (1...63).contains(label.utf8.count) && label.utf8.allSatisfy(\.isOfName)
  }

  private static func isDots(_ part: Substring) -> Bool {
    [".", ".."].contains(part.lowercased().replacing("%2e", with: "."))
  }
}

extension UInt8 {
  /// Whether it is a lower-case letter, a digit or `-`.
  var isOfName: Bool { (97...122).contains(self) || (48...57).contains(self) || self == UInt8(ascii: "-") }
}
#endif
