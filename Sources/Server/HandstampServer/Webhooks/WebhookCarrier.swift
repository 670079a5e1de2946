#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// The webhooks that this server delivers at the moment.
final class WebhookQueue: Sendable {
  let bell = JobBell()
  private let running = Locked<Set<String>>([])

  func begin(_ name: String) -> Bool { running.withLock { $0.insert(name).inserted } }
  func end(_ name: String) { running.withLock { _ = $0.remove(name) } }
  var isEmpty: Bool { running.withLock { $0.isEmpty } }
}

/// Tells the receivers of webhooks of the store's events, each receiver independently of the others.
struct WebhookCarrier: NamedService {
  /// How often the store is looked at.
  private static let interval = Duration.seconds(1)
  /// How long requests of one wave are begun. Those that have begun may take as long again.
  private static let turn = Duration.seconds(30)
  /// How long a server has a webhook for itself: longer than a lookup and a wave, see ``WebhookSigner/timeout``. If it dies, another
  /// one goes on then.
  private static let lease = Duration.seconds(120)

  let server: SessionServer
  private var queue: WebhookQueue { server.lasting.webhookQueue }

  func run() async throws {
    guard let network = server.configuration.webhookNetwork else {
      await warnOfWebhooks()
      try? await gracefulShutdown()
      return
    }
    await queue.bell.watch { _, group in
      for webhook in await server.attempt("webhook", due) ?? [] where queue.begin(webhook.name) {
        group.addTask {
          let server = self.server.current
          await server.attempt("webhook") {
            try await WebhookCarrier(server: server).deliver(webhook.name, over: network)
          }
          queue.end(webhook.name)
          queue.bell.signal(.finished)
        }
      }
      return (WebhookCarrier.interval, !queue.isEmpty)
    }
  }

  /// Another program may have added them.
  private func warnOfWebhooks() async {
    let names = await server.attempt("webhook") { try await server.registry.webhooks().map(\.name) } ?? []
    guard !names.isEmpty else { return }
    server.configuration.logger.warning(
      "Webhooks are not sent",
      metadata: [
        "handstamp.webhooks": "\(names.joined(separator: " "))",
        "handstamp.cause": "\(ProblemError.noWebhooks.detail ?? "")",
      ])
  }

  /// The webhooks with something to send, which no other server sends.
  private func due() async throws(RegistryError) -> [Webhook] {
    let all = try await server.registry.webhooks()
    guard !all.isEmpty else {
      server.metrics.update { $0.webhookBacklog = 0 }
      return []
    }
    let (newest, now) = (try await server.registry.lastEventID(), server.clock.now)
    let backlog = all.reduce(0) { $0 + $1.backlog(newest: newest) }
    server.metrics.update { $0.webhookBacklog = Int(clamping: backlog) }
    return all.filter { $0.isDue(at: now, newest: newest) }
  }

  /// Sends what there is to send, wave after wave.
  private func deliver(_ name: String, over network: PinnedNetwork) async throws(RegistryError) {
    let now = server.clock.now
    guard
      let webhook = try await server.registry.claimWebhook(
        name, until: now.advanced(by: WebhookCarrier.lease), now: now)
    else { return }
    let line = await line(to: webhook, over: network)
    var failure: RegistryError?
    do throws(RegistryError) { try await deliver(webhook, over: line) } catch { failure = error }
    if case .success(let line) = line { await network.close(line.transport) }
    if let failure { throw failure }
  }

  private func deliver(_ claimed: Webhook, over line: Result<Line, DescribedError>) async throws(RegistryError) {
    var webhook = claimed
    repeat {
      let wave = try await webhook.wave(in: server.registry, at: server.clock.now)
      let test = await test(webhook, over: line)
      let outcomes = await outcomes(of: wave, of: webhook, over: line)
      let (end, isStopping) = (server.clock.now, queue.bell.isStopping)
      let next = try await server.registry.finish(
        wave, outcomes, test: test, of: webhook,
        until: { webhook in
          let goesOn = !isStopping && webhook.hasWork(at: end, newest: wave.newest)
          return goesOn ? end.advanced(by: WebhookCarrier.lease) : nil
        }, now: end)
      guard let next else { return }
      note(outcomes, test, next.letters, of: next.webhook)
      webhook = next.webhook
    } while webhook.leasedUntil != nil
  }

  // MARK: One wave

  private struct Line: Sendable {
    var transport: any Transport
    var url: WebURL
  }

  private func line(to webhook: Webhook, over network: PinnedNetwork) async -> Result<Line, DescribedError> {
    guard let url = webhook.settings.address else { return .failure(DescribedError("its URL is not allowed")) }
    let turn = webhook.lanes.reduce(0) { $0 &+ $1.failures }
    do throws(DescribedError) {
      let transport = try await network.open(
        url.origin.host, allowingPrivate: webhook.settings.allowsPrivate, turn: turn)
      return .success(Line(transport: transport, url: url))
    } catch { return .failure(error) }
  }

  private func test(
    _ webhook: Webhook, over line: Result<Line, DescribedError>
  ) async -> (id: String, failure: WebhookFailure?)? {
    guard let id = webhook.test else { return nil }
    do throws(DescribedError) {
      return (id, try await send(WebhookMessage(test: id, at: server.clock.now), to: webhook, over: try line.get()))
    } catch { return (id, WebhookFailure(error.description)) }
  }

  private func outcomes(
    of wave: WebhookWave, of webhook: Webhook, over line: Result<Line, DescribedError>
  ) async -> [WebhookWave.Outcome] {
    let deadline = ContinuousClock.now + WebhookCarrier.turn
    return await withTaskGroup(of: WebhookWave.Outcome.self) { group in
      for course in wave.courses {
        group.addTask { await outcome(of: course, of: webhook, over: line, until: deadline) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  private func outcome(
    of course: WebhookWave.Course, of webhook: Webhook, over line: Result<Line, DescribedError>,
    until deadline: ContinuousClock.Instant
  ) async -> WebhookWave.Outcome {
    var outcome = WebhookWave.Outcome(course)
    for event in course.events {
      guard ContinuousClock.now < deadline, !Task.isCancelled else { break }
      let failure: WebhookFailure?
      do throws(DescribedError) {
        failure = try await send(try await message(event), to: webhook, over: try line.get())
      } catch { failure = WebhookFailure(error.description) }
      guard failure == nil else {
        // A server that stops has not failed to reach the receiver.
        if !Task.isCancelled { outcome.failure = failure }
        break
      }
      outcome.delivered += 1
    }
    return outcome
  }

  private func message(_ event: StoredEvent) async throws(DescribedError) -> WebhookMessage {
    guard event.event.kind == .credentialChange else { return WebhookMessage(event, change: nil) }
    do throws(RegistryError) {
      return WebhookMessage(event, change: try await server.registry.credentialChange(event.event))
    } catch { throw DescribedError("the store cannot be read") }
  }

  /// Returns why the receiver has not accepted the message; `nil` if it has.
  private func send(
    _ message: WebhookMessage, to webhook: Webhook, over line: Line
  ) async throws(DescribedError) -> WebhookFailure? {
    let reading = server.clock.read()
    let request = try server.webhookSigner.request(
      message, to: webhook, at: line.url, by: server.registry.mint, reading)
    do throws(TransportError) {
      return WebhookSigner.failure(try await line.transport.send(request), at: reading.wall)
    } catch { throw DescribedError("\(error)") }
  }

  private func note(
    _ outcomes: [WebhookWave.Outcome], _ test: (id: String, failure: WebhookFailure?)?, _ letters: [DeadLetter],
    of webhook: Webhook
  ) {
    let failures = (outcomes.map(\.failure) + [test?.failure]).compactMap { $0 }
    server.metrics.update {
      $0.webhooksSent += outcomes.reduce(0) { $0 + $1.delivered } + (test != nil && test?.failure == nil ? 1 : 0)
      $0.webhooksFailed += failures.count
      $0.webhooksAbandoned += letters.count
    }
    if let failure = failures.first {
      server.configuration.logger.warning(
        "Webhook failed; will retry",
        metadata: [
          "handstamp.webhook": "\(webhook.name)", "handstamp.failures": "\(failures.count)",
          "handstamp.cause": "\(failure.words)",
        ])
    }
    for letter in letters {
      server.configuration.logger.error(
        "Webhook failed permanently",
        metadata: [
          "handstamp.webhook": "\(webhook.name)", "handstamp.event": "\(letter.event)",
          "handstamp.cause": "\(letter.failure)",
        ])
    }
  }
}

extension Webhook {
  /// How many events the cursor has to pass, and how many accounts wait for another attempt.
  func backlog(newest: EventID) -> Int64 { max(0, newest.rawValue - cursor.rawValue) + Int64(held) }
}
#endif
