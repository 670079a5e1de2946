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
#endif
