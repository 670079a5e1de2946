#if PostgreSQL
import CHandstampLibraries
import Foundation
import HandstampSupport

/// The calls of libpq on one connection, as Swift has them. Each that waits has a deadline.
struct PostgresWire {
  let pq: HSPostgres
  let connection: OpaquePointer

  typealias Instant = ContinuousClock.Instant

  /// The message of libpq about the last failure.
  var lost: PostgresError { .lost(message) }
  private var message: String { String(cString: pq.errorMessage(connection)).onOneLine }

  func prepare(_ statement: PostgresStatement, named name: String) throws(PostgresError) {
    let types = statement.values.map(\.type)
    guard pq.sendPrepare(connection, name, statement.sql, Int32(types.count), types) == 1 else { throw lost }
  }

  /// - Parameter name: of the statement if it was prepared.
  func send(_ statement: PostgresStatement, named name: String?) throws(PostgresError) {
    let values = statement.values
    let count = Int32(values.count)
    // All values in one piece of memory, each followed by a null.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(values.count * 32)
    var starts: [Int?] = []
    starts.reserveCapacity(values.count)
    let lengths = values.map { value in
      let start = bytes.count
      let isThere = value.append(to: &bytes)
      starts.append(isThere ? start : nil)
      let length = Int32(bytes.count - start)
      bytes.append(0)
      return length
    }
    let formats = values.map { $0.isBinary ? 1 : 0 as Int32 }
    let sent = bytes.withUnsafeBytes { memory in
      let first = memory.assumingMemoryBound(to: CChar.self).baseAddress
      let pointers = starts.map { start in start.flatMap { offset in first.map { $0 + offset } } }
      guard let name else {
        return pq.sendQueryParams(
          connection, statement.sql, count, values.map(\.type), pointers, lengths, formats, 1)
      }
      return pq.sendQueryPrepared(connection, name, count, pointers, lengths, formats, 1)
    }
    guard sent == 1 else { throw lost }
  }

  func sync() throws(PostgresError) {
    guard pq.pipelineSync(connection) == 1 else { throw lost }
  }

  /// Returns the answer to the next statement.
  func answer(until deadline: Instant) throws(PostgresError) -> Result<PostgresResult, PostgresError> {
    guard let result = try result(until: deadline) else { throw .lost("an answer is missing") }
    // Each answer ends with a null.
    while let more = try self.result(until: deadline) { pq.clear(more) }
    return try parsed(result)
  }

  /// Reads the end of a pipeline. Returns the fault if the commit was refused.
  func end(until deadline: Instant) throws(PostgresError) -> PostgresError? {
    var fault: PostgresError?
    // Only a broken connection answers with nothing but nulls.
    for _ in 0..<4 {
      guard let result = try result(until: deadline) else { continue }
      if pq.resultStatus(result) == HSPipelineSync {
        pq.clear(result)
        return fault
      }
      if case .failure(let refusal) = try parsed(result) { fault = refusal }
    }
    throw .lost("the end of an answer is missing")
  }

  private func parsed(_ result: OpaquePointer) throws(PostgresError) -> Result<PostgresResult, PostgresError> {
    switch pq.resultStatus(result) {
    case HSCommandOK, HSTuplesOK, HSEmptyQuery: return .success(PostgresResult(result, pq))
    case HSPipelineAborted:
      pq.clear(result)
      return .failure(.aborted)
    default:
      let state = field(ErrorField.state, of: result)
      let severity = field(ErrorField.severity, of: result)
      let text = field(ErrorField.message, of: result)?.onOneLine
      pq.clear(result)
      guard let state, severity == "ERROR" else { throw .lost(text ?? message) }
      return .failure(.refused(state: state, message: text ?? ""))
    }
  }

  private func field(_ field: Int32, of result: OpaquePointer) -> String? {
    pq.resultErrorField(result, field).map { String(cString: $0) }
  }

  /// Waits for the next result, which the caller has to clear.
  private func result(until deadline: Instant) throws(PostgresError) -> OpaquePointer? {
    while true {
      let unsent = pq.flush(connection)
      guard unsent >= 0 else { throw lost }
      if pq.isBusy(connection) == 0 { return pq.getResult(connection) }
      guard wait(forWriting: unsent > 0, until: deadline) else { throw .lost("no answer in time") }
      guard pq.consumeInput(connection) == 1 else { throw lost }
    }
  }

  /// Waits until the connection can be read, or also written. Returns `false` at the deadline.
  func wait(forWriting: Bool, forReading: Bool = true, until deadline: Instant) -> Bool {
    let events = (forReading ? POLLIN : 0) | (forWriting ? POLLOUT : 0)
    while true {
      let left = ContinuousClock.now.duration(to: deadline)
      guard left > .zero else { return false }
      var place = pollfd(fd: pq.socket(connection), events: Int16(events), revents: 0)
      // A limit, because a deadline may be years away.
      let milliseconds = min(left / .milliseconds(1), 60_000).rounded(.up)
      let ready = poll(&place, 1, Int32(milliseconds))
      if ready > 0 { return true }
      if ready < 0, errno != EINTR { return true }
    }
  }
}

extension PostgresWire {
  /// How long one server may take to accept a connection, so that one that is silent does not hide the next one.
  private static let patience = Duration.seconds(3)

  /// Connects to the first server that can be written.
  static func connected(
    _ address: PostgresAddress, _ pq: HSPostgres, until deadline: Instant
  ) throws(PostgresError) -> PostgresWire {
    var reasons: [String] = []
    for place in address.places {
      do throws(PostgresError) {
        return try connected(address.parameters(of: place), pq, until: min(deadline, .now + patience))
      } catch {
        guard case .unconnected(let why) = error else { throw error }
        let host = place.first?.1 ?? ""
        reasons.append(why.contains("server at") || host.isEmpty ? why : "\(host): \(why)")
      }
    }
    throw .unconnected(reasons.joined(separator: "\n"))
  }

  private static func connected(
    _ parameters: [(String, String)], _ pq: HSPostgres, until deadline: Instant
  ) throws(PostgresError) -> PostgresWire {
    let keywords: [UnsafeMutablePointer<CChar>?] = parameters.map { strdup($0.0) } + [nil]
    let values: [UnsafeMutablePointer<CChar>?] = parameters.map { strdup($0.1) } + [nil]
    defer { for text in keywords + values { free(text) } }
    let connection = pq.connectStartParams(
      keywords.map { $0.map { UnsafePointer($0) } }, values.map { $0.map { UnsafePointer($0) } }, 1)
    guard let connection else { throw .unconnected("out of memory") }
    let wire = PostgresWire(pq: pq, connection: connection)
    // So that the code of an error is in its text.
    _ = pq.setErrorVerbosity(connection, HSErrorsVerbose)
    var polling = HSPollingWriting
    while pq.status(connection) != HSConnectionBad {
      guard
        wire.wait(
          forWriting: polling == HSPollingWriting, forReading: polling == HSPollingReading, until: deadline)
      else {
        pq.finish(connection)
        throw .unconnected("no answer in time")
      }
      polling = pq.connectPoll(connection)
      if polling == HSPollingOK { return wire }
      if polling == HSPollingFailed { break }
    }
    let why = String(cString: pq.errorMessage(connection))
    pq.finish(connection)
    throw .unconnected(why)
  }
}
#endif
