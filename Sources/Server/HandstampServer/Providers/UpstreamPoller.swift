#if Server
public import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// Where a provider keeps events for this server (RFC 8936).
public struct UpstreamPolling: Sendable, Hashable {
  /// The URL: `https`, or `http` on loopback.
  public var endpoint: String
  /// The bearer token of requests.
  public var token: Secret

  public init(endpoint: String, token: Secret) {
    self.endpoint = endpoint
    self.token = token
  }
}

/// Fetches the events that a provider keeps, and acknowledges each in the request after it was applied. What is not acknowledged comes
/// again, and is applied once.
struct UpstreamPoller: NamedService {
  /// The least time between two requests, unless the provider says that there is more.
  private static let interval = Duration.seconds(1)
  /// How soon a provider that a reload has added is asked.
  private static let reload = Duration.seconds(10)
  private static let pause = JobPause(first: .seconds(1), longest: .seconds(300))
  /// How long the provider may hold a request until there are events.
  private static let timeout = Duration.seconds(60)
  private static let most = 100
  private static let longest = 1 << 20

  /// The server's sources; read again for each request, for a reload may change them.
  let ends: @Sendable () -> UpstreamEnds
  let transport: (any Transport)?
  let logger: Logger

  func run() async throws {
    guard let transport else { return (try? await gracefulShutdown()) ?? () }
    await cancelWhenGracefulShutdown {
      await withDiscardingTaskGroup { group in
        var known: Set<String> = []
        repeat {
          for source in ends().sources.values where source.polling != nil && known.insert(source.id).inserted {
            group.addTask { await poll(source.id, with: transport) }
          }
        } while (try? await Task.sleep(for: UpstreamPoller.reload)) != nil
      }
    }
  }

  private func poll(_ id: String, with transport: any Transport) async {
    var (outcome, failures) = (Outcome(), 0)
    while !Task.isCancelled {
      let ends = ends()
      var pause = UpstreamPoller.interval
      do {
        if let source = ends.sources[id], let polling = source.polling {
          let response = try await ask(polling, after: outcome, with: transport)
          failures = 0
          outcome = await apply(response, from: source, by: ends)
          if response.hasMore, !outcome.isStuck, !outcome.isEmpty { pause = .zero }
        }
      } catch {
        failures += 1
        pause = UpstreamPoller.pause.after(attempts: failures)
        logger.warning(
          "Events of a provider cannot be fetched; will retry",
          metadata: ["handstamp.provider": "\(id)", "handstamp.cause": "\(error)"])
      }
      guard (try? await Task.sleep(for: pause)) != nil else { return }
    }
  }

  /// The result of a batch, for the next request.
  struct Outcome: Sendable {
    var applied: [String] = []
    var refused: [String: UpstreamEventSource.Refusal] = [:]
    /// Whether some could not be applied, and come again.
    var isStuck = false
    var isEmpty: Bool { applied.isEmpty && refused.isEmpty }

    /// The next request (section 2.2).
    var body: JSONText {
      var json = JSONText()
      json.add("maxEvents", Int64(UpstreamPoller.most))
      // The provider may wait for events, unless it has to be told of some first.
      json.add("returnImmediately", !isEmpty)
      json.add("ack", applied)
      if !refused.isEmpty { json.add("setErrs", JSONValue.object(refused.mapValues(\.json))) }
      return json
    }
  }

  struct PollResponse: Sendable {
    var tokens: [String: String]
    var hasMore: Bool
  }

  private func ask(
    _ polling: UpstreamPolling, after outcome: Outcome, with transport: any Transport
  ) async throws -> PollResponse {
    let request = TransportRequest(
      method: "POST", url: polling.endpoint,
      headers: [
        HeaderField("Content-Type", "application/json"), HeaderField("Accept", "application/json"),
        .bearer(polling.token),
      ],
      body: outcome.body.finished, timeout: UpstreamPoller.timeout, maximumResponseSize: UpstreamPoller.longest)
    let response: TransportResponse
    do throws(TransportError) { response = try await transport.send(request) } catch {
      throw DescribedError("\(error)")
    }
    guard response.status == 200 else { throw DescribedError("it answered \(response.status)") }
    guard let json = JSONValue(response.body), case .object(let sets)? = json["sets"] else {
      throw DescribedError("its response is not valid")
    }
    return PollResponse(tokens: sets.compactMapValues(\.string), hasMore: json["moreAvailable"] == .bool(true))
  }

  func apply(_ response: PollResponse, from source: UpstreamEventSource, by ends: UpstreamEnds) async -> Outcome {
    var outcome = Outcome()
    for (id, token) in response.tokens.sorted(by: { $0.key < $1.key }) {
      do {
        try await ends.apply(token, .event, named: id, from: source, logger: logger)
        outcome.applied.append(id)
      } catch let refusal as UpstreamEventSource.Refusal {
        ends.record(refusal, from: source, logger: logger)
        outcome.refused[id] = refusal
      } catch {
        // The keys, or the store: not acknowledged.
        outcome.isStuck = true
        logger.warning(
          "Event of a provider not applied; will retry",
          metadata: ["handstamp.provider": "\(source.id)", "handstamp.cause": "\(error)"])
      }
    }
    return outcome
  }
}

extension UpstreamEventSource.Refusal {
  /// As RFC 8936 section 2.2 has it.
  fileprivate var json: JSONValue { .object(["err": .string(code.rawValue), "description": .string(words)]) }
}
#endif
